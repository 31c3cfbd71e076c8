// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/hta/hta_trace.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "analyzer/analyses/event_rows.h"
#include "analyzer/analyses/launched_work.h"
#include "analyzer/analyses/time_clause.h"
#include "analyzer/intervals/gallop.h"
#include "analyzer/intervals/sort_runs.h"
#include "analyzer/trace/row_scan.h"
#include "collector/schema/event_flags.h"

namespace plumb::hta {
namespace {

bool startsWith(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }
bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

int64_t floorToUs(int64_t ns) { return ns >= 0 ? ns / 1000 : -((999 - ns) / 1000); }
int64_t ceilToUs(int64_t ns) { return -floorToUs(-ns); }

class Loader {
 public:
  Loader(Trace& trace, const EventFilter& kept) : m_trace(trace), m_kept(kept) {}

  Result<Run> run(std::optional<int64_t> rank) {
    for (const Process& process : m_trace.processes()) {
      m_rankOf[process.id] = m_run.ranks.size();
      Rank& one = m_run.ranks.emplace_back();
      one.process = process.id;
      one.rank = process.rank;
    }
    for (const Status& read : {readWork(), readWaits(), readOperators(), readCalls(), readSteps(), readFirstEvents()}) {
      if (!read.ok()) return read.error();
    }
    for (Rank& one : m_run.ranks) {
      toFileOrder(one.work);
      link(one);
      if (m_stepNames.size() >= 2) dropLastStep(one);
      for (const auto& [start, number] : m_steps[one.process]) {
        if (m_stepNames.size() < 2 || start < m_lastStep[one.process]) one.steps.push_back(number);
      }
      std::sort(one.steps.begin(), one.steps.end());
      one.steps.erase(std::unique(one.steps.begin(), one.steps.end()), one.steps.end());
    }
    std::erase_if(m_run.ranks, [&](const Rank& one) {
      const bool isEmpty = one.work.empty() && one.operators.empty() && one.calls.empty() && one.steps.empty();
      return (rank && one.rank != rank) || isEmpty;
    });
    return std::move(m_run);
  }

 private:
  [[nodiscard]] Microseconds rounded(int64_t startNs, int64_t durationNs) const {
    return hta::rounded(m_trace, startNs, durationNs);
  }
  Rank* rankOf(ProcessId process) {  // neighbours in the file are mostly of one process
    if (m_last == nullptr || m_last->process != process) {
      const auto found = m_rankOf.find(process);
      m_last = found == m_rankOf.end() ? nullptr : &m_run.ranks[found->second];
    }
    return m_last;
  }
  struct Name {
    uint32_t index = 0;  // into Run::names
    KernelType type = KernelType::Other;
  };
  Name nameOf(const std::string& name) {
    const auto [known, isNew] = m_names.emplace(name, Name{static_cast<uint32_t>(m_run.names.size())});
    if (isNew) {
      known->second.type = kernelTypeOf(name);
      m_run.names.push_back(name);
    }
    return known->second;
  }
  Name nameOf(StringId id) {  // each text is looked at once
    const auto [known, isNew] = m_namesById.emplace(id, Name());
    if (isNew) known->second = nameOf(std::string(m_trace.text(id)));
    return known->second;
  }

  struct Event {
    ProcessId process;
    int64_t correlation, startNs, durationNs;
  };
  // Null, when it does not count. Without a stream only a wait does.
  Work* add(const Event& event, std::optional<int64_t> stream, WorkKind kind, Name name) {
    Rank* rank = rankOf(event.process);
    if (!rank || !isUsableTime(event.startNs, event.durationNs)) return nullptr;
    if (!m_kept.keepsOnGpu(rank->process, TimePoint(event.startNs))) return nullptr;
    const bool bearsStream = stream && *stream >= 0;
    if (!bearsStream && kind != WorkKind::Wait) return nullptr;
    const Microseconds time = rounded(event.startNs, event.durationNs);
    Work& work = (bearsStream ? rank->work : rank->deviceWaits).emplace_back();
    work.ts = time.ts;
    work.dur = time.dur;
    work.stream = bearsStream ? *stream : -1;
    work.correlation = event.correlation;
    work.name = name.index;
    work.type = name.type;
    work.kind = kind;
    return &work;
  }
  // From columns process, stream, correlation, start and duration.
  Work* add(const Statement& row, WorkKind kind, Name name) {
    return add({row.id<ProcessId>(0), row.integer(2), row.integer(3), row.integer(4)}, row.optionalInteger(1), kind,
               name);
  }
  // A copy or set; from columns bytes and bandwidth.
  void addMove(const Statement& row, WorkKind kind, const std::string& name, int bytes) {
    Work* work = add(row, kind, nameOf(name));
    if (!work) return;
    if (!row.isNull(bytes + 1)) {
      work->bandwidth = row.real(bytes + 1);
    } else if (row.integer(4) > 0) {
      work->bandwidth = row.real(bytes) / static_cast<double>(row.integer(4));
    }
  }

  Result<std::unordered_map<StreamId, int64_t>> readStreams() {
    std::unordered_map<StreamId, int64_t> numbers;
    auto rows = m_trace.query("SELECT id, number FROM main.stream WHERE number IS NOT NULL");
    if (!rows.ok()) return rows.error();
    while (rows.value().next()) numbers.emplace(rows.value().id<StreamId>(0), rows.value().integer(1));
    if (const Status status = rows.value().status(); !status.ok()) return status.error();
    return numbers;
  }

  Status readKernels() {
    const auto streams = readStreams();
    if (!streams.ok()) return streams.error();
    if (m_kept.keepsAll()) {
      const size_t count = rowsPerPart(m_trace, "main.kernel", m_run.ranks.size());
      for (Rank& rank : m_run.ranks) rank.work.reserve(count);
    }
    return scanRows(m_trace.database(), "process_id, stream_id, correlation, start_ns, duration_ns, name_id, flags",
                    "main.kernel", [&](const RowValues& row) {
                      if (row.integer(6) & schema::kNoUsableTime) return;
                      const auto stream = streams.value().find(row.id<StreamId>(1));
                      if (stream == streams.value().end()) return;
                      add({row.id<ProcessId>(0), row.integer(2), row.integer(3), row.integer(4)}, stream->second,
                          WorkKind::Kernel, nameOf(row.id<StringId>(5)));
                    });
  }

  Status readWork() {
    if (Status read = readKernels(); !read.ok()) return read;
    auto copies = m_trace.query(
        "SELECT k.process_id, s.number, k.correlation, k.start_ns, k.duration_ns, k.copy_kind, k.source_kind,"
        " k.target_kind, k.bytes, b.gb_per_s FROM main.memory_copy k JOIN main.stream s ON s.id = k.stream_id"
        " LEFT JOIN memory_copy_bandwidth b ON b.memory_copy_id = k.id WHERE k.flags & 1 = 0 ORDER BY k.id");
    if (!copies.ok()) return copies.error();
    Statement& copy = copies.value();
    while (copy.next()) {
      addMove(copy, WorkKind::Copy, copyName(copy.integer(5), copy.integer(6), copy.integer(7)), 8);
    }
    if (Status status = copy.status(); !status.ok()) return status;
    auto sets = m_trace.query(
        "SELECT k.process_id, s.number, k.correlation, k.start_ns, k.duration_ns, k.memory_kind, k.bytes, b.gb_per_s"
        " FROM main.memory_set k JOIN main.stream s ON s.id = k.stream_id"
        " LEFT JOIN memory_set_bandwidth b ON b.memory_set_id = k.id WHERE k.flags & 1 = 0 ORDER BY k.id");
    if (!sets.ok()) return sets.error();
    Statement& set = sets.value();
    while (set.next()) {
      addMove(set, WorkKind::Set, "Memset (" + std::string(memoryName(set.integer(5))) + ")", 6);
    }
    return set.status();
  }

  // A wait of a whole context bears no stream here. Where sources wrote 2^32-1 for that it counts as work; those that
  // write -1 also record waits for events, by which they are told.
  Status readWaits() {
    static constexpr std::array<const char*, 5> kNames = {"Unknown Sync", "Event Sync", "Stream Wait Event",
                                                          "Stream Sync", "Context Sync"};
    auto waits = m_trace.query(
        "SELECT y.process_id, CASE WHEN y.kind = 4 AND y.stream_id IS NULL AND NOT EXISTS (SELECT 1 FROM"
        " main.synchronization WHERE kind = 1) THEN 4294967295 ELSE s.number END, y.correlation, y.start_ns,"
        " y.duration_ns, y.kind, e.recorded_correlation, r.number FROM main.synchronization y"
        " LEFT JOIN main.stream s ON s.id = y.stream_id"
        " LEFT JOIN synchronization_event e ON e.synchronization_id = y.id"
        " LEFT JOIN main.stream r ON r.id = e.recorded_stream_id ORDER BY y.id");
    if (!waits.ok()) return waits.error();
    while (waits.value().next()) {
      const int64_t kind = waits.value().integer(5);
      const std::string name = kNames[kind > 0 && kind < 5 ? static_cast<size_t>(kind) : 0];
      Work* work = add(waits.value(), WorkKind::Wait, nameOf(name));
      if (!work) continue;
      std::vector<Wait>& told = rankOf(waits.value().id<ProcessId>(0))->waits;
      work->wait = static_cast<uint32_t>(told.size());
      told.push_back({kind, waits.value().optionalInteger(6), waits.value().optionalInteger(7)});
    }
    return waits.value().status();
  }

  Status readOperators() {
    auto sets = m_trace.query(std::string(kArgumentsWithStream));
    if (!sets.ok()) return sets.error();
    std::unordered_map<int64_t, int64_t> streams;  // by argument set
    while (sets.value().next()) streams.emplace(sets.value().integer(0), sets.value().integer(1));
    if (Status status = sets.value().status(); !status.ok() || streams.empty()) return status;
    auto operators = m_trace.query(
        "SELECT process_id, start_ns, duration_ns, name_id, argument_set_id FROM operator WHERE argument_set_id IS NOT"
        " NULL ORDER BY id");
    if (!operators.ok()) return operators.error();
    Statement& row = operators.value();
    while (row.next()) {
      const auto stream = streams.find(row.integer(4));
      Rank* rank = stream == streams.end() ? nullptr : rankOf(row.id<ProcessId>(0));
      if (!rank || !isUsableTime(row.integer(1), row.integer(2))) continue;
      if (!m_kept.keepsOnHost(rank->process, row.time(1))) continue;
      const Microseconds time = rounded(row.integer(1), row.integer(2));
      const Name name = nameOf(row.id<StringId>(3));
      rank->operators.push_back({.ts = time.ts,
                                 .dur = time.dur,
                                 .stream = stream->second,
                                 .correlation = -1,
                                 .name = name.index,
                                 .type = name.type,
                                 .kind = WorkKind::Operator});
    }
    return row.status();
  }

  Status readCalls() {
    static const std::set<std::string, std::less<>> kLaunches = {"cudaLaunchKernel", "cudaLaunchKernelExC",
                                                                 "cudaMemcpyAsync", "cudaMemsetAsync"};
    static const std::set<std::string, std::less<>> kQueued = {
        "cudaMemsetAsync", "cudaMemcpyAsync", "cudaLaunchKernel", "cudaLaunchKernelExC",      "cuLaunchKernel",
        "hipLaunchKernel", "hipMemsetAsync",  "hipMemcpyAsync",   "hipExtModuleLaunchKernel", "hipMemcpyWithStream"};
    struct Known {
      bool isLaunch, isQueued;
    };
    std::unordered_map<StringId, Known> names;
    if (m_kept.keepsAll()) {
      const size_t count = rowsPerPart(m_trace, "main.api_call", m_run.ranks.size());
      for (Rank& rank : m_run.ranks) rank.calls.reserve(count);
    }
    return scanRows(m_trace.database(), "process_id, correlation, start_ns, duration_ns, name_id, thread_id",
                    "main.api_call WHERE " + mayBegin(m_trace, m_kept, Side::Host), [&](const RowValues& row) {
                      Rank* rank = rankOf(row.id<ProcessId>(0));
                      if (!rank || !isUsableTime(row.integer(2), row.integer(3))) return;
                      if (!m_kept.keepsOnHost(rank->process, row.time(2))) return;
                      auto name = names.find(row.id<StringId>(4));
                      if (name == names.end()) {
                        const std::string text(m_trace.text(row.id<StringId>(4)));
                        const Known known{kLaunches.count(text) > 0, kQueued.count(text) > 0};
                        name = names.emplace(row.id<StringId>(4), known).first;
                      }
                      const Microseconds time = rounded(row.integer(2), row.integer(3));
                      rank->calls.push_back({time.ts, time.dur, row.integer(1), row.id<ThreadId>(5),
                                             row.id<StringId>(4), name->second.isLaunch, name->second.isQueued});
                    });
  }

  // The copies of the ranges that the profiler draws on the GPU count too. Steps of another name are what an export for
  // HTA calls ProfilerStep.
  Status readSteps() {
    auto rows = m_trace.query(
        "SELECT r.process_id, r.start_ns, n.text FROM main.range r JOIN main.string n ON n.id = r.name_id"
        " WHERE n.text LIKE '%ProfilerStep%'"
        " UNION ALL SELECT process_id, start_ns, 'ProfilerStep#' || step FROM steps WHERE name NOT LIKE "
        "'%ProfilerStep%'");
    if (!rows.ok()) return rows.error();
    Statement& row = rows.value();
    while (row.next()) {
      if (!isUsableTime(row.integer(1), 0) || !m_kept.keepsOnHost(row.id<ProcessId>(0), row.time(1))) continue;
      const std::string_view name = row.text(2);
      m_stepNames.insert(std::string(name));
      const int64_t start = rounded(row.integer(1), 0).ts;
      const auto [last, isNew] = m_lastStep.emplace(row.id<ProcessId>(0), start);
      if (!isNew) last->second = std::max(last->second, start);
      int64_t number = 0;
      if (const size_t mark = name.find('#'); mark != std::string_view::npos) {
        (void)std::from_chars(name.data() + mark + 1, name.data() + name.size(), number);
        m_steps[row.id<ProcessId>(0)].push_back({start, number});
      }
    }
    return row.status();
  }

  // What has no launch is linked to row 0, the file's first event, which is a range or an operator where it counts.
  Status readFirstEvents() {
    for (const char* sql : {"SELECT process_id, start_ns FROM main.range WHERE kind = 'push_pop' ORDER BY id",
                            "SELECT process_id, start_ns FROM operator ORDER BY id"}) {
      auto rows = m_trace.query(sql);
      if (!rows.ok()) return rows.error();
      std::set<ProcessId> found;
      while (found.size() < m_run.ranks.size() && rows.value().next()) {
        const auto process = rows.value().id<ProcessId>(0);
        Rank* rank = rankOf(process);
        if (!rank || !m_kept.keepsOnHost(process, rows.value().time(1)) || !found.insert(process).second) continue;
        if (!isUsableTime(rows.value().integer(1), 0)) continue;
        const int64_t start = rounded(rows.value().integer(1), 0).ts;
        rank->firstEvent = std::min(rank->firstEvent.value_or(start), start);
      }
      if (Status status = rows.value().status(); !status.ok()) return status;
    }
    return Unit{};
  }

  // A source lists work by correlation id, whatever its kind, and begins anew with each buffer; here each kind has its
  // own table.
  static void toFileOrder(std::vector<Work>& work) {
    struct Key {
      int64_t section, correlation;
      size_t index;
    };
    std::array<std::pair<int64_t, int64_t>, 4> kinds{};  // section and last correlation id of each kind
    std::vector<Key> keys;
    keys.reserve(work.size());
    for (size_t i = 0; i < work.size(); ++i) {
      auto& [section, last] = kinds[static_cast<size_t>(work[i].kind)];
      if (work[i].correlation < last) ++section;
      last = work[i].correlation;
      keys.push_back({section, last, i});
    }
    const auto comesBefore = [](const Key& a, const Key& b) {
      return std::tie(a.section, a.correlation) < std::tie(b.section, b.correlation);
    };
    if (std::ranges::is_sorted(keys, comesBefore)) return;
    sortRuns(keys, comesBefore);
    std::vector<Work> sorted;
    sorted.reserve(work.size());
    for (const Key& key : keys) sorted.push_back(work[key.index]);
    work = std::move(sorted);
  }

  // The last call of a correlation id is the launch.
  static void link(Rank& rank) {
    struct Start {
      int64_t correlation, ts;
    };
    std::vector<Start> starts;
    starts.reserve(rank.calls.size());
    for (const Call& call : rank.calls) starts.push_back({call.correlation, call.ts});
    if (!std::ranges::is_sorted(starts, {}, &Start::correlation)) {
      std::ranges::stable_sort(starts, {}, &Start::correlation);
    }
    size_t hint = 0;
    for (Work& work : rank.work) {
      hint =
          partitionPointNear(starts, hint, [&](const Start& start) { return start.correlation <= work.correlation; });
      const bool isLaunched = hint > 0 && starts[hint - 1].correlation == work.correlation;
      work.launch = isLaunched ? starts[hint - 1].ts : rank.firstEvent.value_or(kNoLaunch);
    }
  }

  void dropLastStep(Rank& rank) {
    const auto last = m_lastStep.find(rank.process);
    rank.end = last == m_lastStep.end() ? std::numeric_limits<int64_t>::min() : last->second;
    if (last == m_lastStep.end()) {
      rank.calls.clear();
      rank.operators.clear();
    } else {
      std::erase_if(rank.calls, [&](const Call& call) { return call.ts >= last->second; });
      std::erase_if(rank.operators, [&](const Work& one) { return one.ts >= last->second; });
    }
    std::vector<int64_t> launched;
    launched.reserve(rank.calls.size());
    for (const Call& call : rank.calls) launched.push_back(call.correlation);
    sortRuns(launched, std::less<>());
    for (std::vector<Work>* list : {&rank.work, &rank.deviceWaits}) keepLaunched(*list, launched);
  }

  // Once for each call of its correlation id.
  static void keepLaunched(std::vector<Work>& list, const std::vector<int64_t>& launched) {
    size_t hint = 0, kept = 0;
    std::vector<std::pair<size_t, size_t>> again;  // place in the kept list, further calls
    for (const Work& work : list) {
      hint = partitionPointNear(launched, hint, [&](int64_t correlation) { return correlation < work.correlation; });
      size_t count = 0;
      while (hint + count < launched.size() && launched[hint + count] == work.correlation) ++count;
      if (count == 0) continue;
      if (count > 1) again.emplace_back(kept, count - 1);
      list[kept++] = work;
    }
    list.resize(kept);
    if (again.empty()) return;
    std::vector<Work> repeated;
    size_t next = 0;
    for (const auto& [place, more] : again) {
      for (; next <= place; ++next) repeated.push_back(list[next]);
      repeated.insert(repeated.end(), more, list[place]);
    }
    repeated.insert(repeated.end(), list.begin() + static_cast<std::ptrdiff_t>(next), list.end());
    list = std::move(repeated);
  }

  static std::string_view memoryName(int64_t kind) {
    static constexpr std::array<std::string_view, 6> kNames = {"Unknown", "Pageable", "Pinned",
                                                               "Device",  "Array",    "Managed"};
    return kNames[kind > 0 && kind < 6 ? static_cast<size_t>(kind) : 0];
  }
  // Sources that do not know more of the host's memory call it Host.
  static std::string copyName(int64_t kind, int64_t source, int64_t target) {
    static constexpr std::array<std::string_view, 11> kNames = {"Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                                                "AtoD",    "DtoA", "DtoD", "HtoH", "PtoP"};
    const std::string_view direction = kNames[kind > 0 && kind < 11 ? static_cast<size_t>(kind) : 0];
    const auto side = [&](int64_t memory, char letter) {
      return memory == 0 && letter == 'H' ? std::string_view("Host") : memoryName(memory);
    };
    std::string name = "Memcpy ";
    name += direction;
    name += " (";
    name += side(source, direction.front());
    name += " -> ";
    name += side(target, direction.back());
    return name + ")";
  }

  Trace& m_trace;
  const EventFilter& m_kept;
  Run m_run;
  std::unordered_map<ProcessId, size_t> m_rankOf;
  Rank* m_last = nullptr;
  std::unordered_map<std::string, Name> m_names;
  std::unordered_map<StringId, Name> m_namesById;
  std::set<std::string> m_stepNames;
  std::map<ProcessId, int64_t> m_lastStep;
  std::map<ProcessId, std::vector<std::pair<int64_t, int64_t>>> m_steps;  // start, number
};

}  // namespace

// Its regular expressions, anchored at the start.
KernelType kernelTypeOf(std::string_view name) {
  if (startsWith(name, "nccl") || startsWith(name, "hip") || startsWith(name, "hccl") || has(name, "ncclKernel")) {
    return KernelType::Communication;
  }
  if (startsWith(name, "Memcpy") || startsWith(name, "Memset") || startsWith(name, "dma")) return KernelType::Memory;
  const bool isExcluded = has(name, "Memcpy") || has(name, "Memset") || has(name, "dma") || has(name, "Sync") ||
                          startsWith(name, "Stream Wait Event") || startsWith(name, "runFunction") ||
                          (startsWith(name, "cuda") && has(name, "LaunchKernel"));
  return isExcluded ? KernelType::Other : KernelType::Computation;
}

const char* nameOf(KernelType type) {
  static constexpr std::array<const char*, 4> kNames = {"COMMUNICATION", "MEMORY", "COMPUTATION", "OTHER"};
  return kNames[static_cast<size_t>(type)];
}

Microseconds rounded(const Trace& trace, int64_t startNs, int64_t durationNs) {
  const int64_t origin = trace.info().sessionStartRealtimeNs;
  const int64_t ts = ceilToUs(origin + startNs);
  return {ts - origin / 1000, floorToUs(origin + startNs + durationNs) - ts};
}

Result<Run> load(Trace& trace, const Filter& filter) {
  // The steps that HTA drops and the names that it numbers are those of all ranks.
  Filter times = filter;
  times.rank.reset();
  auto kept = EventFilter::load(trace, times);
  if (!kept.ok()) return kept.error();
  return Loader(trace, kept.value()).run(filter.rank);
}

}  // namespace plumb::hta
