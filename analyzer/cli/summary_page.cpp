// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/summary_page.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "analyzer/analyses/launched_work.h"
#include "analyzer/analyses/stuck_words.h"
#include "analyzer/cli/text.h"

namespace plumb::cli {
namespace {

constexpr size_t kTextWidth = 98;
constexpr size_t kMostStuck = 10;
constexpr auto kLeft = TextTable::Align::Left;
constexpr auto kRight = TextTable::Align::Right;

// Diagnostics that say the same but for numbers, of one process or several.
struct Remark {
  const Diagnostic* first = nullptr;
  int64_t count = 0;
  bool isAlike = false;  // others have other numbers
  std::set<ProcessId> processes;
};

// A sentence without its numbers, which are those of one rank or file.
std::string withoutNumbers(std::string_view text) {
  std::string words;
  for (const char c : text) {
    if (c < '0' || c > '9')
      words += c;
    else if (!words.ends_with('#'))
      words += '#';
  }
  return words;
}

std::vector<Remark> remarksOf(const std::vector<Diagnostic>& diagnostics) {
  std::vector<Remark> remarks;
  std::map<std::tuple<std::string, std::string, std::string>, size_t> known;
  for (const Diagnostic& one : diagnostics) {
    const auto [place, isNew] =
        known.try_emplace({one.severity, one.lane, withoutNumbers(one.message)}, remarks.size());
    if (isNew) remarks.push_back({&one, 0, false, {}});
    Remark& remark = remarks[place->second];
    remark.count += one.count;
    remark.isAlike |= one.message != remark.first->message;
    if (one.process) remark.processes.insert(*one.process);
  }
  return remarks;
}

// "rank 3", "ranks 0-15", "11 processes"; "" when there is nothing to tell apart.
std::string whoseOf(const Trace& trace, const std::set<ProcessId>& processes) {
  if (processes.empty() || trace.processes().size() == 1) return "";
  if (processes.size() == 1) return whoText(trace, *processes.begin());
  std::vector<int64_t> ranks;
  for (const ProcessId id : processes) {
    const Process* process = trace.process(id);
    if (process && process->rank) ranks.push_back(*process->rank);
  }
  std::ranges::sort(ranks);
  if (ranks.size() == processes.size()) return "ranks " + shortened(rankList(ranks), 24);
  return fmt::format("{} processes", processes.size());
}

void writeRemark(Page& page, const Trace& trace, const Remark& remark) {
  const Diagnostic& d = *remark.first;
  const std::string who = whoseOf(trace, remark.processes);
  std::string times;
  if (d.code == "rank_missing") {  // counts ranks, not how often it was said
    times = "";
  } else if (remark.isAlike) {
    times = " (one of several alike)";
  } else if (remark.count > std::max<int64_t>(1, static_cast<int64_t>(remark.processes.size())) &&
             d.message.find(fmt::format("{} ", remark.count)) == std::string::npos) {
    times = fmt::format(" ({} times)", formatCount(remark.count));
  }
  page.paragraph(fmt::format("{} [{}{}{}]: {}{}", escaped(d.severity), escaped(d.lane), who.empty() ? "" : ", ", who,
                             escaped(d.message), times));
}

TextTable stuckTable(const std::vector<StuckCollective>& found) {
  TextTable table({"state", "group", "operation", "number", "missing ranks", "waiting ranks"},
                  {kLeft, kLeft, kLeft, kRight, kLeft, kLeft});
  for (size_t i = 0; i < std::min(found.size(), kMostStuck); ++i) {
    const StuckCollective& stuck = found[i];
    table.add({std::string(nameOf(stuck.kind)),
               shortened(escaped(fmt::format("{} {}", stuck.group, stuck.description)), 32),
               shortened(escaped(stuck.operation), 24), fmt::format("{}", stuck.sequence),
               stuck.missing.empty() ? "-" : shortened(rankList(stuck.missing), 16),
               stuck.waiting.empty() ? "-" : shortened(rankList(stuck.waiting), 16)});
  }
  return table;
}

// How many GPU events have no launch call in the file, and how many there are.
Result<std::pair<int64_t, int64_t>> withoutLaunch(Trace& trace) {
  auto classifier = CommunicationClassifier::load(trace);
  if (!classifier.ok()) return classifier.error();
  auto calls = HostCallIndex::load(trace);
  if (!calls.ok()) return calls.error();
  int64_t without = 0, all = 0;
  const Status read = forEachLaunchedWork(trace, classifier.value(), calls.value(), [&](const LaunchedWork& work) {
    ++all;
    without += work.call == nullptr;
  });
  if (!read.ok()) return read.error();
  return std::pair(without, all);
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
  if (process->rank) return fmt::format("{}", *process->rank);
  return process->pid == 0 ? "-" : fmt::format("pid {}", process->pid);
}

std::string whoText(const Trace& trace, ProcessId id) {
  const Process* process = trace.process(id);
  return process ? shortened(escaped(process->label()), 40) : "?";
}

Status writeStuck(Page& page, Trace& trace) {
  auto analysis = analyzeStuckCollectives(trace);
  if (!analysis.ok()) return analysis.error();
  const auto& found = analysis.value().collectives;
  // Of a recording a run that does not hang is nothing to tell; a flight recorder's dump is asked about nothing else.
  if (found.empty() && !analysis.value().hasStates) return Unit{};
  page.heading("Stuck collectives", "(in what the run hangs)");
  if (found.empty()) {
    page.line("None: every collective that is in the file has completed.");
    return Unit{};
  }
  const auto& since = found.front().since;
  page.paragraph(escaped(hangSentence(analysis.value(), since ? formatDuration(*since - TimePoint()) : std::string())));
  page.paragraph(escaped(suspectSentences(analysis.value())));
  page.table(stuckTable(found));
  if (found.size() > kMostStuck)
    page.line(fmt::format("and {} more: plumb report stuck FILE", found.size() - kMostStuck));
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

Status writeWhatIsMissing(Page& page, Trace& trace) {
  const auto launches = withoutLaunch(trace);
  if (!launches.ok()) return launches.error();
  const auto& [without, all] = launches.value();
  if (page.missing().empty() && without == 0) return Unit{};
  page.heading("Not in this file");
  if (without > 0) {
    page.paragraph(
        fmt::format("Launch calls of {} of {} GPU events: ranges, operators, steps and report launch lack these events "
                    "(by process and step: plumb report health FILE).",
                    formatCount(without), formatCount(all)));
  }
  for (const auto& [what, because] : page.missing()) {
    page.paragraph(fmt::format("{}: Cannot say, because {}.", what, because));
  }
  return Unit{};
}

Status writeDiagnostics(Page& page, Trace& trace) {
  auto diagnostics = trace.diagnostics();
  if (!diagnostics.ok()) return diagnostics.error();
  if (diagnostics.value().empty()) return Unit{};
  page.heading("Diagnostics");
  // What another profiler says of its own recording, and what an importer did not need, is seldom about what is asked.
  constexpr size_t kMost = 12, kMostForeign = 3, kMostNotes = 3;
  size_t shown = 0, foreign = 0, notes = 0, hidden = 0;
  for (const Remark& remark : remarksOf(diagnostics.value())) {
    const Diagnostic& d = *remark.first;
    const bool isForeign = d.lane == "nsight", isNote = d.lane == "import" && d.severity == "info";
    if (size_t& count = isForeign ? foreign
                        : isNote  ? notes
                                  : shown;
        count == (isForeign ? kMostForeign
                  : isNote  ? kMostNotes
                            : kMost)) {
      ++hidden;
    } else {
      ++count;
      writeRemark(page, trace, remark);
    }
  }
  if (hidden > 0) page.line(fmt::format("and {} more: plumb query FILE \"SELECT * FROM diagnostics\"", hidden));
  return Unit{};
}

}  // namespace plumb::cli
