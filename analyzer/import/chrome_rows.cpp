// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/chrome_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "analyzer/import/chrome_reused_ids.h"

namespace plumb::import {
namespace {

// Categories of the events that get a table of their own, under every name that torch.profiler gave them since 2020.
enum class Kind : uint8_t {
  Kernel,
  Copy,
  Set,
  Runtime,
  Driver,
  Synchronization,
  Operator,
  Python,
  OnDevice,
  HostRange
};

// Of work on MTIA devices, where other devices have "kernel".
constexpr std::string_view kMtiaWork = "mtia_ccp_events";

Kind kindOf(std::string_view category) {
  struct Known {
    std::string_view category;
    Kind kind;
  };
  static constexpr std::array<Known, 25> kKnown = {{{"kernel", Kind::Kernel},
                                                    {"cpu_op", Kind::Operator},
                                                    {"python_function", Kind::Python},
                                                    {"Operator", Kind::Operator},
                                                    {"Kernel", Kind::Kernel},
                                                    {"gpu_memcpy", Kind::Copy},
                                                    {"Memcpy", Kind::Copy},
                                                    {"gpu_memset", Kind::Set},
                                                    {"Memset", Kind::Set},
                                                    {"cuda_runtime", Kind::Runtime},
                                                    {"Runtime", Kind::Runtime},
                                                    {"hip_runtime", Kind::Runtime},
                                                    {"cuda_driver", Kind::Driver},
                                                    {"Driver", Kind::Driver},
                                                    {"hip_driver", Kind::Driver},
                                                    {"cuda_sync", Kind::Synchronization},
                                                    {"gpu_user_annotation", Kind::OnDevice},
                                                    {"cuda_profiler_range", Kind::OnDevice},
                                                    {"cuda_event", Kind::OnDevice},
                                                    {kMtiaWork, Kind::OnDevice},
                                                    {"mtia_insight", Kind::OnDevice},
                                                    // The names that stand for those of every device.
                                                    {"runtime", Kind::Runtime},
                                                    {"driver", Kind::Driver},
                                                    {"hpu_op", Kind::Runtime},  // calls of the host, by Kineto
                                                    {"Trace", Kind::OnDevice}}};
  for (const Known& known : kKnown) {
    if (known.category == category) return known.kind;
  }
  const auto endsWith = [&](std::string_view end) {
    return category.size() > end.size() && category.substr(category.size() - end.size()) == end;
  };
  if (endsWith("_runtime")) return Kind::Runtime;  // xpu_runtime, mtia_runtime, glow_runtime, privateuse1_runtime …
  if (endsWith("_driver")) return Kind::Driver;
  if (endsWith("_sync")) return Kind::Synchronization;
  return Kind::HostRange;
}

// torch.autograd.profiler's own export (2020), in which the pid tells operators from kernels.
Kind kindOf(const ChromeEvent& event) {
  // A call or operator that started it makes it a kernel; without one it may be anything that the device noted.
  if (event.category == kMtiaWork && event.phase == 'X') {
    const bool isStarted = event.argument("correlation").toInteger().value_or(0) != 0 ||
                           event.argument("External id").toInteger().value_or(0) != 0;
    return isStarted ? Kind::Kernel : Kind::OnDevice;
  }
  if (!event.category.empty()) return kindOf(event.category);
  if (event.pid == "CPU functions") return Kind::Operator;
  return event.pid == kLegacyGpuPid ? Kind::Kernel : Kind::HostRange;
}

// An export calls a step "step" ProfilerStep#N, and says in its arguments what the program called it.
std::optional<std::string> ownNameOfStep(const ChromeEvent& event) {
  if (!event.name.text.starts_with("ProfilerStep#")) return std::nullopt;
  std::string name = event.argument("range").toText();
  const bool isStep =
      name == "step" || (name.size() > 5 && name.starts_with("step ") && name[5] >= '0' && name[5] <= '9');
  return isStep ? std::optional(std::move(name)) : std::nullopt;
}

}  // namespace

ChromeRows::Side ChromeRows::sideOf(const ChromeEvent& event) {
  if (event.phase != 'X') return Side::Any;
  switch (kindOf(event)) {
    case Kind::Kernel:
    case Kind::Copy:
    case Kind::Set:
    case Kind::Synchronization:
    case Kind::OnDevice:
      return Side::Device;
    case Kind::Runtime:
    case Kind::Driver:
    case Kind::Operator:
      return Side::Call;
    case Kind::Python:
      return Side::Range;
    case Kind::HostRange:
      break;
  }
  return event.category == "user_annotation" ? Side::Range : Side::Any;
}

int64_t ChromeRows::relative(int64_t absoluteNs) {
  if (!m_originNs) {
    m_originNs = absoluteNs;
    noteSpan(0, 0);
  }
  return absoluteNs - *m_originNs;
}

void ChromeRows::noteSpan(int64_t first, int64_t last) {
  m_firstNs = std::min(m_firstNs.value_or(first), first);
  m_lastNs = std::max(m_lastNs.value_or(last), last);
}

void ChromeRows::take(const ChromeEvent& event, uint64_t offset) {
  ++m_events;
  m_offset = offset;
  if (event.hasTooDeep) m_tally.count(Reason::TooDeep, offset);
  if (event.hasZeroCharacter) m_tally.count(Reason::ZeroCharacter, offset);
  if (event.hasLoneSurrogate) m_tally.count(Reason::LoneSurrogate, offset);
  store(event, offset);
}

void ChromeRows::store(const ChromeEvent& event, uint64_t offset) {
  constexpr int64_t kLatest = int64_t{1} << 61;  // 2043; anything beyond is damage, and would overflow sums
  if (event.phase == 'M') return metadata(event);
  if (event.phase == 's' || event.phase == 't' || event.phase == 'f') return flow(event, offset);
  if (std::string_view("XBEiIRCbenSTFpn").find(event.phase) == std::string_view::npos) {
    return m_tally.count(Reason::OtherPhase, offset);
  }
  if (!event.startNs || *event.startNs > kLatest || *event.startNs < -kLatest) {
    return m_tally.count(Reason::NoTime, offset);
  }
  const int64_t start = relative(*event.startNs);
  // What is told about a recording may be told of a time before it.
  if (event.phase != 'i' || !ChromeExportRows::isDiagnostic(event)) noteSpan(start, start);
  if (event.phase != 'X' && kindOf(event) != Kind::OnDevice) m_registry.noteHostPid(event.pid, HostSign::Other);
  switch (event.phase) {
    case 'X':
      return complete(event, offset);
    case 'B':
    case 'E':
      return beginOrEnd(event, offset);
    case 'C':
      return counters(event, offset);
    case 'i':
    case 'I':
    case 'R':
    case 'n':
    case 'T':
    case 'p':
      return instant(event);
    default:
      return asynchronous(event, offset);
  }
}

void ChromeRows::complete(const ChromeEvent& event, uint64_t offset) {
  constexpr int64_t kLongest = int64_t{1} << 60;
  const Kind kind = kindOf(event);
  Times times{relative(*event.startNs), event.durationNs.value_or(0), true};
  const bool isUsable = (event.durationNs || !event.hasDuration) && times.duration >= 0 && times.duration < kLongest;
  const bool isWork = kind == Kind::Kernel || kind == Kind::Copy || kind == Kind::Set;
  if (!isUsable) {
    m_tally.count(isWork ? Reason::BadGpuTime : Reason::BadDuration, offset);
    if (!isWork) return;
    times = {times.start, 0, false};
  } else if (!event.hasDuration) {
    m_tally.count(isWork ? Reason::NoGpuDuration : Reason::NoDuration, offset);
    times.usable = !isWork;
  }
  if (!isWork && (event.name.kind == JsonKind::Null || event.name.text.empty())) {
    m_tally.count(Reason::NoName, offset);
  }
  noteSpan(times.start, times.start + times.duration);
  switch (kind) {
    case Kind::Kernel:
      return kernel(event, times);
    case Kind::Copy:
      return copy(event, times);
    case Kind::Set:
      return set(event, times);
    case Kind::Runtime:
      return apiCall(event, times, "runtime");
    case Kind::Driver:
      return apiCall(event, times, "driver");
    case Kind::Synchronization:
      return synchronization(event, times);
    case Kind::Operator:
      // What is now a user_annotation: "ProfilerStep#3", "Optimizer.step#SGD.step".
      if (event.name.text.find('#') != std::string_view::npos) break;
      return hostEvent(event, times);
    case Kind::Python:
      return hostEvent(event, times);
    case Kind::HostRange:
      if (exportedEvent(event, times)) return;
      break;
    case Kind::OnDevice:
      break;
  }
  if (kind == Kind::Operator) m_registry.noteHostPid(event.pid, HostSign::Call);
  if (kind == Kind::HostRange) {
    m_registry.noteHostPid(event.pid, event.category == "user_annotation" ? HostSign::Range : HostSign::Other);
  }
  const int64_t process = m_registry.process(event.pid);
  const std::optional<std::string> ownName = ownNameOfStep(event);
  const std::string name = ownName ? *ownName : event.name.toText();
  range({.process = process,
         .thread = m_registry.thread(process, event.pid, event.tid),
         .start = times.start,
         .duration = times.duration,
         .kind = kind == Kind::OnDevice ? "start_end" : "push_pop",
         .domain = event.category,
         .name = name,
         .payload = &event.arguments,
         .isRenamed = ownName.has_value()});
}

void ChromeRows::flow(const ChromeEvent& event, uint64_t offset) {
  constexpr int64_t kLatest = int64_t{1} << 61;
  if (!event.startNs || *event.startNs > kLatest || *event.startNs < -kLatest) {
    return m_tally.count(Reason::NoTime, offset);
  }
  const int64_t start = relative(*event.startNs);
  if (ChromeFlows::isLaunch(event)) return m_flows.addLaunch(event, start, offset);
  const int64_t process = m_registry.process(event.pid);
  m_flows.add(event, process, m_registry.thread(process, event.pid, event.tid), start, offset);
}

void ChromeRows::hostEvent(const ChromeEvent& event, const Times& times) {
  const int64_t process = m_registry.process(event.pid);
  const HostSpan span{process, m_registry.thread(process, event.pid, event.tid), times.start, times.duration};
  const bool isPython = event.category == "python_function";
  m_registry.noteHostPid(event.pid, isPython ? HostSign::Range : HostSign::Call);
  if (isPython) return m_operators.addPython(event, span);
  const bool isCollective = ChromeCollectives::isCollective(event);
  const int64_t id = m_operators.add(event, span, isCollective, m_offset);
  if (isCollective) m_collectives.add(event, span, id, m_offset);
}

// Calls of an export of ours. False: it is none.
bool ChromeRows::exportedEvent(const ChromeEvent& event, const Times& times) {
  const bool isOsCall = ChromeExportRows::isOsCall(event), isLibraryCall = ChromeExportRows::isLibraryCall(event);
  const bool isCollective = event.category == "collective" && ChromeCollectives::isCollective(event);
  if (!isOsCall && !isLibraryCall && !isCollective) return false;
  m_registry.noteHostPid(event.pid, HostSign::Call);
  const int64_t process = m_registry.process(event.pid);
  const HostSpan span{process, m_registry.thread(process, event.pid, event.tid), times.start, times.duration};
  if (isOsCall) m_exported.osCall(event, span);
  if (isLibraryCall) m_exported.libraryCall(event, span);
  if (isCollective) m_collectives.addAlone(event, span, m_offset);
  return true;
}

void ChromeRows::apiCall(const ChromeEvent& event, const Times& times, const char* layer) {
  m_registry.noteHostPid(event.pid, HostSign::Call);
  const int64_t process = m_registry.process(event.pid);
  int64_t correlation = 0, result = 0;
  std::optional<int64_t> stack;
  event.forEachArgument([&](std::string_view key, const JsonValue& value) {
    if (key == "correlation") correlation = value.toInteger().value_or(0);
    if (key == "Call stack") stack = m_stacks.idOf(value);
    if (key == "return value" || key == "result") result = value.toInteger().value_or(0);
  });
  const int64_t id = m_file.rows().nextId<schema::ApiCallRow>();
  if (correlation != 0) {
    m_flows.noteCall(correlation);
    m_isCalledAgain |= !m_called.insert(correlation);
  } else {
    m_flows.noteUncorrelated("api_call", id, event, times.start);
  }
  m_file.rows().insert(schema::ApiCallRow{.id = id,
                                          .process_id = process,
                                          .thread_id = m_registry.thread(process, event.pid, event.tid),
                                          .start_ns = times.start,
                                          .duration_ns = times.duration,
                                          .name_id = m_file.textId(event.name),
                                          .layer = layer,
                                          .correlation = correlation,
                                          .result = result});
  if (stack) m_file.rows().insert(schema::ApiCallStackRow{.api_call_id = id, .stack_id = *stack});
}

void ChromeRows::range(const Range& range) {
  const int64_t id = m_file.rows().nextId<schema::RangeRow>();
  const bool isDefault = m_isDefaultDomain && range.domain == "user_annotation";
  m_file.rows().insert(schema::RangeRow{.id = id,
                                        .process_id = range.process,
                                        .thread_id = range.thread,
                                        .end_thread_id = std::nullopt,
                                        .start_ns = range.start,
                                        .duration_ns = range.duration,
                                        .kind = range.kind,
                                        .depth = 0,  // TraceCompletion knows
                                        .parent_id = std::nullopt,
                                        .domain_id = isDefault ? 0 : m_file.textId(range.domain),
                                        .name_id = m_file.textId(range.name),
                                        .category_id = std::nullopt,
                                        .color_argb = std::nullopt});
  if (range.payload == nullptr) return;
  bool hasNotFinite = false;
  for (const auto& [key, value] : *range.payload) {
    // Numbers of the profiler's own bookkeeping, on every event.
    if (key == "Ev Idx" || key == "Record function id" || key == "finished" || key == "Trace name" ||
        key == "Trace iteration" || key == "Profiler Event Index" || value.kind == JsonKind::Null ||
        (range.isRenamed && key == "range")) {
      continue;
    }
    if (value.kind == JsonKind::NotFinite) {
      hasNotFinite = true;
      continue;
    }
    std::string text;
    schema::Value stored;
    if (const auto integer = value.toInteger(); integer && value.kind == JsonKind::Number) {
      stored = *integer;
    } else if (const auto real = value.toReal(); real && value.kind == JsonKind::Number) {
      stored = *real;
    } else {
      text = value.toText();
      if (text.empty()) continue;
      stored = std::string_view(text);
    }
    m_file.rows().insert(schema::RangePayloadRow{.range_id = id, .name_id = m_file.textId(key), .value = stored});
  }
  if (hasNotFinite) m_tally.count(Reason::NotFinite, m_offset);
}

void ChromeRows::sample(int64_t process, int64_t start, std::string_view name, double value) {
  m_file.rows().insert(schema::CounterSampleRow{
      .process_id = process, .start_ns = start, .name_id = m_file.textId(name), .value = value});
}

void ChromeRows::instant(const ChromeEvent& event) {
  const int64_t process = m_registry.process(event.pid);
  const int64_t start = relative(*event.startNs);
  if (event.name.text == "[memory]" || event.name.text == "[allocation]") {
    return m_memory.add(event, process, start, m_offset);
  }
  if (m_exported.instant(event, process, start, m_offset)) return;
  const std::string name = event.name.toText();
  range({.process = process,
         .thread = m_registry.thread(process, event.pid, event.tid),
         .start = start,
         .duration = 0,
         .kind = "mark",
         .domain = event.category,
         .name = name,
         .payload = &event.arguments});
}

void ChromeRows::counters(const ChromeEvent& event, uint64_t offset) {
  const int64_t process = m_registry.process(event.pid);
  const std::string name = event.name.toText();
  bool any = false;
  event.forEachArgument([&](std::string_view key, const JsonValue& value) {
    const auto number = value.toReal();
    if (!number) return;
    sample(process, relative(*event.startNs), key == name ? name : fmt::format("{}: {}", name, key), *number);
    any = true;
  });
  if (!any) m_tally.count(Reason::NoValue, offset);
}

int64_t ChromeRows::endRange(OpenRange& open, std::optional<int64_t> end, const char* kind) {
  std::vector<ChromeArgument> payload;
  if (!open.payload.empty()) {
    (void)readObject(open.payload, [&](std::string_view key, const JsonValue& value) {
      payload.push_back({key, value});
    });
  }
  range({.process = open.process,
         .thread = open.thread,
         .start = open.start,
         .duration = end ? std::optional<int64_t>(*end - open.start) : std::nullopt,
         .kind = kind,
         .domain = open.category,
         .name = open.name,
         .payload = &payload});
  return static_cast<int64_t>(m_file.rows().idCount<schema::RangeRow>());
}

void ChromeRows::beginOrEnd(const ChromeEvent& event, uint64_t offset) {
  const int64_t process = m_registry.process(event.pid);
  const int64_t thread = m_registry.thread(process, event.pid, event.tid);
  RangeLane& lane = m_nested[thread];
  const int64_t time = relative(*event.startNs);
  if (event.phase == 'E') return lane.end(time, offset, m_writeNested);
  lane.begin({event.name.toText(), std::string(event.category), std::string(event.args.text), time, process, thread});
}

void ChromeRows::asynchronous(const ChromeEvent& event, uint64_t offset) {
  const int64_t process = m_registry.process(event.pid);
  const int64_t time = relative(*event.startNs);
  const std::string key =
      fmt::format("{}\n{}\n{}", event.isIdGlobal ? std::string_view() : event.pid, event.category, event.id);
  RangeLane& lane = m_asynchronous[key];
  if (event.phase == 'b' || event.phase == 'S') {
    return lane.begin({event.name.toText(), std::string(event.category), std::string(event.args.text), time, process,
                       m_registry.thread(process, event.pid, event.tid)});
  }
  lane.end(time, offset, m_writeAsynchronous);
  if (lane.isSettled()) m_asynchronous.erase(key);
}

void ChromeRows::metadata(const ChromeEvent& event) {
  m_tally.count(Reason::MetadataEvent, m_offset);
  if (event.name.text == "process_labels" && event.argument("labels").text.starts_with("CPU")) {
    m_registry.noteHostPid(event.pid, HostSign::Label);
  }
  if (event.name.text == "process_name") m_registry.nameProcess(event.pid, event.argument("name").toText());
  if (event.name.text == "thread_name") {
    m_registry.nameThread(event.pid, event.tid, event.argument("name").toText());
  }
}

Status ChromeRows::finishRanges() {
  for (auto& [thread, lane] : m_nested) lane.writeOpen(m_writeNested);
  for (auto& [key, lane] : m_asynchronous) lane.writeOpen(m_writeAsynchronous);
  for (auto& [thread, lane] : m_nested) {
    if (Status done = lane.finish(m_file, m_tally, m_offset); !done.ok()) return done;
  }
  for (auto& [key, lane] : m_asynchronous) {
    if (Status done = lane.finish(m_file, m_tally, m_offset); !done.ok()) return done;
  }
  return Unit{};
}

Status ChromeRows::separateReused() {
  if (!m_isCalledAgain) return Unit{};
  const auto reused = separateReusedIds(m_file, m_registry.processes(), m_firstCall);
  if (!reused.ok()) return reused.error();
  m_tally.count(Reason::ReusedCorrelation, 0, reused.value().calls);
  return m_operators.forgetLaunches(reused.value().ids);
}

Status ChromeRows::finish(const RunFacts& facts) {
  if (Status done = finishRanges(); !done.ok()) return done;
  auto lent = m_flows.finish();
  if (!lent.ok()) return lent.error();
  // Of a torch.profiler trace the only one. Nothing but such a trace has operators, memory events and collectives.
  const std::vector<int64_t> processes = m_registry.processes();
  const int64_t process = processes.empty() ? 0 : processes.front();
  for (const ChromeFlows::Lent& work : lent.value()) m_operators.addWork(process, work.correlation, work.external);
  for (const ChromeFlows::Source& source : m_flows.sources()) {
    const auto& [pid, tid] = m_flows.placeOf(source);
    if (const auto thread = m_registry.knownThread(pid, tid)) {
      m_operators.addSource(process, *thread, source.start, source.correlation);
    }
  }
  if (Status done = separateReused(); !done.ok()) return done;
  if (Status done = m_operators.finish(); !done.ok()) return done;
  if (Status done = m_memory.finish(process, m_firstNs.value_or(0)); !done.ok()) return done;
  if (process != 0) {
    if (Status done = m_collectives.finish(process, facts.rank, facts.groups); !done.ok()) return done;
  }
  m_registry.write(facts, m_firstNs.value_or(0), m_lastNs.value_or(0));
  return Unit{};
}

}  // namespace plumb::import
