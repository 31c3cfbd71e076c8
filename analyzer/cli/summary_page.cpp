// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/summary_page.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "analyzer/analyses/stuck_collectives.h"
#include "analyzer/cli/text.h"

namespace plumb::cli {
namespace {

constexpr size_t kTextWidth = 98;
constexpr auto kLeft = TextTable::Align::Left;
constexpr auto kRight = TextTable::Align::Right;

// Diagnostics that say the same, of one process or several.
struct Remark {
  const Diagnostic* first = nullptr;
  int64_t count = 0;
  std::set<ProcessId> processes;
};

std::vector<Remark> remarksOf(const std::vector<Diagnostic>& diagnostics) {
  std::vector<Remark> remarks;
  std::map<std::tuple<std::string, std::string, std::string>, size_t> known;
  for (const Diagnostic& one : diagnostics) {
    const auto [place, isNew] = known.try_emplace({one.severity, one.lane, one.message}, remarks.size());
    if (isNew) remarks.push_back({&one, 0, {}});
    Remark& remark = remarks[place->second];
    remark.count += one.count;
    if (one.process) remark.processes.insert(*one.process);
  }
  return remarks;
}

}  // namespace

void Page::heading(const std::string& title, const std::string& note) {
  m_progress.clear();
  fmt::print("\n{}{}{}{}\n", m_inColour ? "\033[1m" : "", title, m_inColour ? "\033[0m" : "",
             note.empty() ? "" : "  " + note);
}

void Page::paragraph(const std::string& text, const std::string& indent) {
  std::string current = indent;
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (width(current) + width(word) + 1 > kTextWidth && current.size() > indent.size()) {
      fmt::print("{}\n", current);
      current = indent;
    }
    if (current.size() > indent.size()) current += ' ';
    current += word;
    at = end + 1;
  }
  if (current.size() > indent.size()) fmt::print("{}\n", current);
}

std::string rankText(const Trace& trace, ProcessId id) {
  const Process* process = trace.process(id);
  if (!process) return "?";
  return process->rank ? fmt::format("{}", *process->rank) : fmt::format("pid {}", process->pid);
}

std::string whoText(const Trace& trace, ProcessId id) {
  const Process* process = trace.process(id);
  return process ? shortened(escaped(process->label()), 40) : "?";
}

Status writeStuck(Page& page, Trace& trace) {
  auto analysis = analyzeStuckCollectives(trace);
  if (!analysis.ok()) return analysis.error();
  if (!analysis.value().hasStates) return Unit{};
  page.heading("Stuck collectives");
  const auto& found = analysis.value().collectives;
  if (found.empty()) {
    page.line("None: every collective that is in the file has completed.");
    return Unit{};
  }
  std::string suspects;
  for (const StuckAnalysis::Suspect& suspect : analysis.value().suspects) {
    suspects += fmt::format("{}rank {} ({} group{})", suspects.empty() ? "" : ", ", suspect.rank, suspect.groups,
                            suspect.groups == 1 ? "" : "s");
  }
  if (!suspects.empty()) page.paragraph(fmt::format("Missing, by the groups that wait for them: {}.", suspects));
  TextTable table({"state", "group", "operation", "number", "missing ranks", "waiting ranks"},
                  {kLeft, kLeft, kLeft, kRight, kLeft, kLeft});
  constexpr size_t kMost = 10;
  for (size_t i = 0; i < std::min(found.size(), kMost); ++i) {
    const StuckCollective& stuck = found[i];
    table.add({std::string(nameOf(stuck.kind)),
               shortened(escaped(fmt::format("{} {}", stuck.group, stuck.description)), 32),
               shortened(escaped(stuck.operation), 24), fmt::format("{}", stuck.sequence),
               stuck.missing.empty() ? "-" : shortened(rankList(stuck.missing), 16),
               stuck.waiting.empty() ? "-" : shortened(rankList(stuck.waiting), 16)});
  }
  page.table(table);
  if (found.size() > kMost) page.line(fmt::format("and {} more: plumb report stuck FILE", found.size() - kMost));
  page.paragraph(
      "held back: other ranks completed it, the missing ones did not; never called: the missing ranks never called it; "
      "waiting: all called it and none completed it. Reasons: plumb report stuck FILE");
  return Unit{};
}

Status writeBenchmarks(Page& page, Trace& trace) {
  auto rows = trace.query(
      "SELECT operation, n_ranks, device_name, max(busbw_bytes_per_s), bytes, count(*) FROM collective_benchmarks"
      " GROUP BY source, operation, n_ranks, device_name ORDER BY source, operation");
  if (!rows.ok()) return rows.error();
  TextTable table({"operation", "ranks", "device", "measurements", "best busbw", "at"},
                  {kLeft, kRight, kLeft, kRight, kRight, kRight});
  while (rows.value().next()) {
    Statement& row = rows.value();
    table.add({shortened(escaped(std::string(row.text(0))), 16), formatCount(row.integer(1)),
               shortened(escaped(std::string(row.text(2))), 28), formatCount(row.integer(5)),
               formatPerSecond(row.real(3), "B"), formatBytes(static_cast<double>(row.integer(4)))});
  }
  if (Status status = rows.value().status(); !status.ok()) return status;
  if (table.empty()) return Unit{};
  page.heading("Benchmarks of collectives", "(nccl-tests; details: plumb report benchmarks FILE)");
  page.table(table);
  return Unit{};
}

Status writeDiagnostics(Page& page, Trace& trace) {
  auto diagnostics = trace.diagnostics();
  if (!diagnostics.ok()) return diagnostics.error();
  if (diagnostics.value().empty()) return Unit{};
  page.heading("Diagnostics");
  // What another profiler says of its own recording is seldom about what is asked here.
  constexpr size_t kMost = 20, kMostForeign = 4;
  size_t shown = 0, foreign = 0, hidden = 0;
  for (const Remark& remark : remarksOf(diagnostics.value())) {
    const Diagnostic& d = *remark.first;
    const bool isForeign = d.lane == "nsight";
    if (isForeign ? foreign == kMostForeign : shown == kMost) {
      ++hidden;
      continue;
    }
    ++(isForeign ? foreign : shown);
    const size_t count = remark.processes.size();
    const std::string who = count == 1  ? fmt::format(", {}", whoText(trace, *remark.processes.begin()))
                            : count > 1 ? fmt::format(", {} processes", count)
                                        : "";
    const std::string times = remark.count > std::max<int64_t>(1, static_cast<int64_t>(count))
                                  ? fmt::format(" ({} times)", formatCount(remark.count))
                                  : "";
    page.paragraph(
        fmt::format("{} [{}{}]: {}{}", escaped(d.severity), escaped(d.lane), who, escaped(d.message), times));
  }
  if (hidden > 0) page.line(fmt::format("and {} more: plumb query FILE \"SELECT * FROM diagnostics\"", hidden));
  return Unit{};
}

}  // namespace plumb::cli
