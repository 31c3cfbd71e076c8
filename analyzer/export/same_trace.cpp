// SPDX-License-Identifier: Apache-2.0
#include "analyzer/export/same_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "analyzer/import/source_files.h"

namespace plumb::exports {
namespace {

// What two files must agree on before their events are looked at.
using Identity = std::tuple<int64_t, std::string, std::string, std::optional<int64_t>>;
Identity identityOf(const Process& process) { return {process.pid, process.host, process.program, process.rank}; }

std::string durationText(double ns) {
  constexpr double kSecond = 1e9, kHour = 3600 * kSecond, kDay = 24 * kHour;
  if (ns >= 2 * kDay) return fmt::format("{:.0f} days", ns / kDay);
  return ns >= 2 * kHour ? fmt::format("{:.0f} hours", ns / kHour) : fmt::format("{:.1f} s", ns / kSecond);
}

// Of one process's events, whatever moment the file counts from: how many of each kind, how long they took together,
// and from the first to the last. Empty: it has none.
Result<std::string> fingerprintOf(Trace& trace, ProcessId process) {
  static constexpr std::pair<const char*, const char*> kTables[] = {
      {"main.kernel", "duration_ns"},     {"main.memory_copy", "duration_ns"}, {"main.api_call", "duration_ns"},
      {"main.range", "duration_ns"},      {"operator", "duration_ns"},         {"python_call", "duration_ns"},
      {"main.collective", "duration_ns"}, {"main.allocation", "bytes"},        {"os_call", "duration_ns"},
      {"main.counter_sample", "value"}};
  std::string text;
  bool hasEvents = false;
  for (const auto& [table, measure] : kTables) {
    auto rows = trace.query(fmt::format(
        "SELECT count(*), total({}), max(start_ns) - min(start_ns) FROM {} WHERE process_id = ?1", measure, table));
    if (!rows.ok()) return rows.error();
    rows.value().bind(1, process.value());
    if (rows.value().next()) {
      hasEvents |= rows.value().integer(0) > 0;
      text += fmt::format("{} {} {}\n", rows.value().text(0), rows.value().text(1), rows.value().text(2));
    }
    if (Status read = rows.value().status(); !read.ok()) return read.error();
  }
  return hasEvents ? text : std::string();
}

}  // namespace

Result<std::string> heldTwice(const std::vector<Trace*>& traces) {
  std::vector<std::string> files;
  for (const Trace* trace : traces) files.push_back(trace->path());
  if (const auto equal = import::equalFiles(files); !equal.empty()) {
    return fmt::format("{} and {} hold the same bytes, so everything would count twice: leave one of them out.",
                       files[equal.front().second], files[equal.front().first]);
  }
  struct Seen {
    Trace* trace;
    ProcessId process;
    std::optional<std::string> fingerprint;
  };
  std::multimap<Identity, Seen> seen;
  for (Trace* trace : traces) {
    for (const Process& process : trace->processes()) {
      std::optional<std::string> mine;
      const auto [first, last] = seen.equal_range(identityOf(process));
      for (auto other = first; other != last; ++other) {
        if (other->second.trace == trace) continue;
        if (!mine) {
          auto found = fingerprintOf(*trace, process.id);
          if (!found.ok()) return found.error();
          mine = std::move(found).value();
        }
        if (!other->second.fingerprint) {
          auto found = fingerprintOf(*other->second.trace, other->second.process);
          if (!found.ok()) return found.error();
          other->second.fingerprint = std::move(found).value();
        }
        if (mine->empty() || *mine != *other->second.fingerprint) continue;
        return fmt::format(
            "{} and {} both hold {} with the same events, which would count twice: leave one of them out.",
            other->second.trace->path(), trace->path(), process.label());
      }
      seen.emplace(identityOf(process), Seen{trace, process.id, std::move(mine)});
    }
  }
  return std::string();
}

std::string notAtOneTime(const std::vector<Trace*>& traces) {
  struct Span {
    const Trace* trace;
    double start, end;  // ns since 1970
  };
  std::vector<Span> spans;
  for (const Trace* trace : traces) {
    const int64_t origin = trace->info().sessionStartRealtimeNs;
    if (origin == 0 || trace->processes().empty()) continue;
    Span span{trace, 1e300, -1e300};
    for (const Process& process : trace->processes()) {
      const auto start = static_cast<double>(process.start.ns());
      span.start = std::min(span.start, static_cast<double>(origin) + start);
      // One that is running or was killed may have gone on.
      span.end = process.end ? std::max(span.end, static_cast<double>(origin) + static_cast<double>(process.end->ns()))
                             : 1e300;
    }
    for (const Span& other : spans) {
      const double gap = std::max(span.start - other.end, other.start - span.end);
      if (gap <= 0) continue;
      const bool isLater = span.start > other.start;
      return fmt::format(
          "{} begins {} after {} has ended: are these files of one run, and are the hosts' clocks right?",
          (isLater ? span : other).trace->path(), durationText(gap), (isLater ? other : span).trace->path());
    }
    spans.push_back(span);
  }
  return {};
}

}  // namespace plumb::exports
