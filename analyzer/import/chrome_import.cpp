// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/chrome_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "analyzer/import/chrome_processes.h"
#include "analyzer/import/element_end.h"
#include "analyzer/import/event_scanner.h"
#include "analyzer/import/losses.h"
#include "analyzer/import/tally.h"

namespace plumb::import {
namespace {

constexpr size_t kSniffBytes = 1u << 20;

// What the members beside traceEvents say.
struct FileFacts {
  std::optional<int64_t> rank, worldSize;
  bool hasBadRank = false;  // it names a rank or a world size that cannot be
  int64_t baseNs = 0;
  bool hasBadBase = false;  // its baseTimeNanoseconds is none
  std::string deviceProperties, groups, host;
  std::vector<std::pair<std::string, std::string>> said;  // of the recording itself: name, value
  std::vector<std::string> unused;                        // names of members that are not stored
};

// Whether the data is torch.profiler's, by what its first megabyte holds.
bool looksLikeTorch(std::string_view head) {
  static constexpr std::string_view kMarks[] = {
      "\"cpu_op\"",     "\"python_function\"",  "\"user_annotation\"",   "\"cuda_runtime\"",    "\"gpu_memcpy\"",
      "\"kernel\"",     "\"Kernel\"",           "\"Operator\"",          "\"distributedInfo\"", "\"deviceProperties\"",
      "\"[memory]\"",   "\"PyTorch Profiler\"", "\"computeProperties\"", "\"CPU functions\"",   "\"mtia_runtime\"",
      "\"xpu_runtime\""};
  return std::any_of(std::begin(kMarks), std::end(kMarks),
                     [&](std::string_view mark) { return head.find(mark) != std::string_view::npos; });
}

// What says how the trace was recorded; nothing that could name people, machines or paths.
bool isAboutRecording(std::string_view key) {
  static constexpr std::string_view kKeys[] = {"schemaVersion", "displayTimeUnit", "trace_id",       "with_flops",
                                               "with_modules",  "with_stack",      "profile_memory", "record_shapes"};
  constexpr std::string_view kVersion = "_version";
  if (key.size() > kVersion.size() && key.substr(key.size() - kVersion.size()) == kVersion) return true;
  return std::find(std::begin(kKeys), std::end(kKeys), key) != std::end(kKeys);
}

// As people's add_metadata calls name it.
bool isHostName(std::string_view key) {
  return key == "hostname" || key == "hostName" || key == "host_name" || key == "host";
}

void takeDistributed(const JsonValue& info, FileFacts& facts) {
  constexpr int64_t kMostRanks = int64_t{1} << 24;
  const auto numberFrom = [&](int64_t least, const JsonValue& value) {
    const auto number = value.toInteger();
    if (number && *number >= least && *number < kMostRanks) return number;
    if (value.kind != JsonKind::Null) facts.hasBadRank = true;
    return std::optional<int64_t>();
  };
  (void)readObject(info.text, [&](std::string_view key, const JsonValue& value) {
    if (key == "rank") facts.rank = numberFrom(0, value);
    if (key == "world_size") facts.worldSize = numberFrom(1, value);
    if (key == "pg_config" && value.kind == JsonKind::Array) facts.groups = value.text;
    if (key == "backend" || key == "nccl_version") facts.said.emplace_back(key, value.toText());
  });
}

// 1712195495519689047, and what other programs make of it: "…", 1712195495519689047.0, 1.712195495519689e18.
std::optional<int64_t> wholeOf(const JsonValue& value) {
  if (const auto exact = value.toInteger()) return exact;
  const size_t point = value.text.find('.');
  if (point != std::string_view::npos && value.text.find_first_not_of('0', point + 1) == std::string_view::npos) {
    return JsonValue{value.kind, value.text.substr(0, point)}.toInteger();
  }
  constexpr double kLargest = 9.2e18;
  const auto real = value.toReal();
  return real && std::abs(*real) < kLargest ? std::optional<int64_t>(std::llround(*real)) : std::nullopt;
}

// Whether a session can have begun then; a damaged file may say anything.
bool isNear(int64_t sessionStart, int64_t firstNs) {
  constexpr int64_t kLatest = int64_t{1} << 61, kLongest = int64_t{1} << 52;  // 52 days
  return sessionStart > -kLatest && sessionStart < kLatest && sessionStart - firstNs < kLongest &&
         firstNs - sessionStart < kLongest;
}

void takeMember(const ScannedItem& item, FileFacts& facts) {
  constexpr size_t kMostNames = 20;
  const JsonValue value = JsonValue::of(item.text);
  if (item.key == "deviceProperties" || item.key == "computeProperties") {
    facts.deviceProperties = item.text;
  } else if (item.key == "baseTimeNanoseconds") {
    constexpr int64_t kLatest = int64_t{1} << 61;  // as for the events' times
    const auto base = wholeOf(value);
    const bool isUsable = base && *base >= 0 && *base < kLatest;
    facts.baseNs = isUsable ? *base : 0;
    facts.hasBadBase = !isUsable;
  } else if (item.key == "distributedInfo") {
    takeDistributed(value, facts);
  } else if (isHostName(item.key) && value.kind == JsonKind::String) {
    facts.host = value.toText();
  } else if (isAboutRecording(item.key) && value.kind != JsonKind::Array && value.kind != JsonKind::Object) {
    facts.said.emplace_back(item.key, value.toText());
  } else if (facts.unused.size() < kMostNames) {
    facts.unused.emplace_back(item.key);
  }
}

void writeSaid(TraceFile& file, const std::vector<int64_t>& processes, const std::string& name,
               const FileFacts& facts) {
  const auto write = [&](int64_t process, const std::string& key, std::string_view value) {
    file.rows().insert(schema::ProcessVariableRow{
        .process_id = process, .name_id = file.textId("trace." + key), .value_id = file.textId(value)});
  };
  for (const int64_t process : processes) {
    for (const auto& [key, value] : facts.said) write(process, key, value);
    // What the times of the file count from; an export counts from there again.
    write(process, "baseTimeNanoseconds", std::to_string(facts.baseNs));
  }
  if (facts.unused.empty()) return;
  writeDiagnostic(file, processes.front(), "info", "members_not_stored", facts.unused.size(),
                  fmt::format("{} also holds {}, which is not stored.", name, fmt::join(facts.unused, ", ")));
}

FileFacts readEvents(EventScanner& scanner, ChromeProcesses& processes, const SourceContext& context) {
  constexpr uint64_t kProgressEvery = 4096;
  FileFacts facts;
  for (uint64_t items = 1;; ++items) {
    const ScannedItem item = scanner.next();
    if (item.kind == ScannedItem::Kind::End) break;
    if (item.kind == ScannedItem::Kind::Member) {
      const bool isTaken = (item.key == "processes" && processes.declare(item.text)) ||
                           (item.key == "plumb_export" && processes.declareExport(item.text));
      if (!isTaken) takeMember(item, facts);
    } else if (item.event != nullptr) {
      processes.take(*item.event, item.offset);
      scanner.accept();
    } else if (const uint64_t offset = item.offset; scanner.reject()) {
      processes.countDamage(offset);
    }
    if (items % kProgressEvery == 0 && context.progress) context.progress(scanner.source());
    if (context.file.rows().failed()) break;
  }
  return facts;
}

std::string nothingIn(const std::string& path, const EventScanner& scanner) {
  const auto& problem = scanner.source().problem();
  if (problem) return fmt::format("{} holds no trace event that can be read: {}.", path, *problem);
  if (!scanner.hasEventArray()) {
    return fmt::format(
        "{} is JSON, but no trace: it has no array 'traceEvents'. Name a torch.profiler or Chrome trace.", path);
  }
  return fmt::format("{} holds no trace event; there is nothing to import.", path);
}

void noteDamage(const EventScanner& scanner, const SourceContext& context, SourceResult& result) {
  const std::optional<int64_t> process =
      result.processes.empty() ? std::nullopt : std::optional(result.processes.front());
  if (scanner.hugeMembers() > 0) {
    const std::string message = fmt::format(
        "{} holds {} member{} of more than 16 MiB beside its events, the first at byte {}: passed over.", context.name,
        scanner.hugeMembers(), scanner.hugeMembers() == 1 ? "" : "s", scanner.firstHugeMember());
    writeDiagnostic(context.file, process, "warning", "member_too_large", scanner.hugeMembers(), message);
    result.warnings.push_back(message);
  }
  if (const auto place = scanner.damagedHead()) {
    const std::string message = fmt::format(
        "{} is damaged at byte {}, before its events: these are read from byte {}, and what the head says of rank, "
        "devices and the time that the others count from may be lost.",
        context.name, *place, scanner.eventsAt());
    writeDiagnostic(context.file, process, "error", "damaged_head", 1, message);
    result.warnings.push_back(message);
  }
  if (scanner.bytesBehind() > 0) {
    const std::string message = fmt::format(
        "{} bytes behind the end of the trace in {} are not read; import what they are as a file of its own.",
        scanner.bytesBehind(), context.name);
    writeDiagnostic(context.file, process, "warning", "bytes_behind", scanner.bytesBehind(), message);
    result.warnings.push_back(message);
  }
  if (scanner.isOpen()) {
    writeDiagnostic(context.file, process, "info", "array_not_closed", 1,
                    fmt::format("{} is an array of events without its closing bracket, as tracers leave it that write "
                                "while the program runs: every event in it is whole.",
                                context.name));
  }
  const auto& problem = scanner.source().problem();
  if (!problem && !scanner.isCut()) return;
  const std::string what = problem ? *problem : "its JSON ends early or is damaged behind the events";
  // A damaged piece may have held several events.
  const std::string kept =
      result.damaged == 0
          ? fmt::format("everything up to byte {} of its JSON is here", scanner.offset())
          : fmt::format(
                "it is read up to byte {} of its JSON, and what is damaged before that is left out: {} event{} "
                "or more",
                scanner.offset(), result.damaged, result.damaged == 1 ? "" : "s");
  const std::string message = fmt::format("{} is not complete: {}; {}.", context.name, what, kept);
  writeDiagnostic(context.file, process, "error", "cut", 1, message);
  result.warnings.push_back(message);
}

// "1, 2, 3" of a few, "1, 2, 3 … (4097 in all)" of more.
std::string listOf(const std::vector<std::string>& pids) {
  constexpr size_t kMostNamed = 16;
  if (pids.size() <= kMostNamed) return fmt::format("{}", fmt::join(pids, ", "));
  return fmt::format("{} … ({} in all)", fmt::join(pids.begin(), pids.begin() + kMostNamed, ", "), pids.size());
}

// A file that somebody joined from the traces of several programs.
void noteJoined(const ChromePrograms& programs, const SourceContext& context, SourceResult& result) {
  const auto note = [&](const char* severity, const char* code, size_t count, const std::string& message) {
    writeDiagnostic(context.file, result.processes.front(), severity, code, count, message);
    result.warnings.push_back(message);
  };
  const auto& pids = programs.pids();
  const auto& mixed = programs.mixedPids();
  if (pids.size() > 1) {
    note(programs.areDoubtful() ? "warning" : "info", "programs_told_apart", pids.size(),
         fmt::format("{} holds the events of {} programs (pids {}), which rank each is it does not say: they are "
                     "processes of their own{}{}.",
                     context.name, pids.size(), listOf(pids), context.rank ? ", and --rank is not used" : "",
                     programs.areDoubtful() ? "; but their events come mixed, so work on a device may be stored with "
                                              "another's (import the ranks' own files instead)"
                                            : ""));
  }
  if (mixed.empty()) return;
  note("warning", "programs_mixed", mixed.size() + 1,
       fmt::format(
           "{} holds the events of several programs (pids {}, {}) mixed by time, so nothing says whose work on a "
           "device is: they are stored as one process, and its steps and launches are those of all of them. "
           "Import the ranks' own files instead.",
           context.name, pids.front(), listOf(mixed)));
}

void noteRanks(const ChromeProcesses& processes, SourceContext& context, SourceResult& result) {
  result.ranks = processes.ranks();
  result.worldSize = processes.worldSize();
  if (context.rank && !processes.joined()) noteRankNotUsed(context, result);
}

void noteBadFacts(const FileFacts& facts, const SourceContext& context, SourceResult& result) {
  const std::optional<int64_t> process =
      result.processes.empty() ? std::nullopt : std::optional(result.processes.front());
  const auto note = [&](const char* code, const std::string& message) {
    writeDiagnostic(context.file, process, "warning", code, 1, message);
    result.warnings.push_back(message);
  };
  if (facts.hasBadRank) {
    note("bad_rank", fmt::format("The distributedInfo of {} names a rank or world size that cannot be; it is left out "
                                 "(--rank names the rank).",
                                 context.name));
  }
  if (facts.hasBadBase) {
    note("bad_base_time", fmt::format("The baseTimeNanoseconds of {} is no time that can be; it is left out, so its "
                                      "events' times do not say when they were.",
                                      context.name));
  }
}

}  // namespace

bool looksLikeJson(std::string_view head, const std::string&) {
  const size_t first = head.find_first_not_of(" \t\r\n");
  const char c = first == std::string_view::npos ? '\0' : head[first];
  if (c == '{' || c == '[') return true;
  constexpr size_t kHeadless = 1u << 16;
  return eventArrayIn(head) || severalEventsIn(head.substr(0, kHeadless));  // its beginning is lost
}

Result<SourceResult> readChromeTrace(SourceContext& context) {
  EventScanner scanner(std::move(context.source));
  ChromeProcesses processes(context.file, looksLikeTorch(scanner.peek(kSniffBytes)));
  const FileFacts facts = readEvents(scanner, processes, context);
  if (processes.eventCount() == 0) return Error{nothingIn(context.path, scanner)};

  SourceResult result;
  if (!processes.areSeveral()) {
    result.rank = context.rank ? context.rank : facts.rank;
    if (!result.rank) result.rank = rankInName(context.name);
  }
  result.worldSize = facts.worldSize;
  RunFacts run;
  run.rank = result.rank;
  run.worldSize = result.worldSize;
  run.source = context.name;
  run.host = facts.host;
  run.deviceProperties = facts.deviceProperties;
  run.groups = facts.groups;
  const Status finished = processes.finish(run);
  if (!finished.ok()) return finished.error();
  result.processes = processes.processes();
  if (processes.areSeveral()) noteRanks(processes, context, result);
  if (processes.joined()) noteJoined(*processes.joined(), context, result);
  if (!result.processes.empty()) writeSaid(context.file, result.processes, context.name, facts);
  result.originNs = processes.originNs() + facts.baseNs;
  result.firstNs = processes.firstNs() + facts.baseNs;
  const auto& sessionStart = processes.exportFacts().sessionStartNs;
  if (sessionStart && isNear(*sessionStart, result.firstNs)) result.firstNs = *sessionStart;
  result.damaged = processes.damaged();
  noteDamage(scanner, context, result);
  noteBadFacts(facts, context, result);
  processes.writeTally(context.file, context.name);
  result.events = processes.eventCount() + processes.damaged();
  result.notStored = processes.notStored();
  return result;
}

}  // namespace plumb::import
