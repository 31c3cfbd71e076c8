// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/stuck_tables.h"

#include <algorithm>

#include "analyzer/analyses/analysis_table.h"
#include "analyzer/analyses/launched_work.h"
#include "analyzer/analyses/stuck_collectives.h"

namespace plumb {
namespace {

// A collective belongs to the filter when a rank called it inside. Dumps tell only when the first rank did.
bool isInside(const StuckCollective& stuck, const EventFilter& kept, const Filter& filter) {
  if (filter.isWholeTime()) return true;
  if (!stuck.members.empty()) {
    return std::ranges::any_of(stuck.members, [&](const StuckMember& member) {
      return member.called && kept.keepsOnHost(member.process, *member.called);
    });
  }
  return stuck.since && (!filter.from || *stuck.since >= *filter.from) && (!filter.to || *stuck.since < *filter.to);
}

AnalysisRows stuckRows(Trace& trace, const Filter& filter) {
  auto analysis = analyzeStuckCollectives(trace);
  if (!analysis.ok()) return analysis.error();
  auto kept = EventFilter::load(trace, filter);
  if (!kept.ok()) return kept.error();
  std::vector<CellRow> rows;
  if (!analysis.value().hasStates && !analysis.value().hasCollectives) {
    CellRow row(14, Cell(nullptr));
    row.front() = textCell(nameOf(StuckKind::CannotSay));
    row.back() = textCell(
        "the file holds neither collectives nor their states: record the run, or import all ranks' dumps of PyTorch's "
        "flight recorder");
    return std::vector<CellRow>{std::move(row)};
  }
  for (const StuckCollective& stuck : analysis.value().collectives) {
    const bool concerns = !filter.rank || std::count(stuck.ranks.begin(), stuck.ranks.end(), *filter.rank) > 0;
    if (!concerns || !isInside(stuck, kept.value(), filter)) continue;
    rows.push_back({textCell(nameOf(stuck.kind)), textCell(stuck.group), textCell(stuck.description),
                    textCell(stuck.operation), stuck.sequence, textCell(stuck.sizes), textCell(stuck.datatype),
                    textCell(rankList(stuck.missing)), textCell(rankList(stuck.waiting)),
                    textCell(rankList(stuck.completed)), stuck.since ? cell(*stuck.since) : Cell(nullptr),
                    textCell(stuck.place), cell(stuck.waited), textCell(stuck.reason)});
  }
  return rows;
}

AnalysisRows memberRows(Trace& trace, const Filter& filter) {
  auto analysis = analyzeStuckCollectives(trace);
  if (!analysis.ok()) return analysis.error();
  auto kept = EventFilter::load(trace, filter);
  if (!kept.ok()) return kept.error();
  std::vector<CellRow> rows;
  int64_t place = 0;
  for (const StuckCollective& stuck : analysis.value().collectives) {
    ++place;
    const auto add = [&](int64_t rank, const char* part, const StuckMember* member) {
      if (filter.rank && *filter.rank != rank) return;
      const auto own = stuck.entries.find(rank);
      const StuckEntry entry =
          own == stuck.entries.end() ? StuckEntry{stuck.operation, stuck.sequence, {}} : own->second;
      const std::optional<TimePoint> called = member ? member->called : entry.called;
      if (member && called && !kept.value().keepsOnHost(member->process, *called)) return;
      rows.push_back({textCell(nameOf(stuck.kind)), textCell(stuck.group), textCell(entry.operation), entry.sequence,
                      rank, member ? pidOf(trace, member->process) : Cell(nullptr), textCell(part),
                      member && member->call ? Cell(member->call->value()) : Cell(nullptr),
                      called ? cell(*called) : Cell(nullptr), member ? cell(member->waited) : Cell(nullptr),
                      member && !member->doing.empty() ? textCell(member->doing) : Cell(nullptr), place});
    };
    for (const StuckMember& member : stuck.members) {
      add(member.rank, member.isMissing ? "missing" : member.waited ? "waiting" : "completed", &member);
    }
    if (!stuck.members.empty()) continue;
    for (const int64_t rank : stuck.waiting) add(rank, "waiting", nullptr);
    for (const int64_t rank : stuck.missing) add(rank, "missing", nullptr);
    for (const int64_t rank : stuck.completed) add(rank, "completed", nullptr);
  }
  return rows;
}

constexpr AnalysisTable kTables[] = {
    {"analysis_stuck",
     "state TEXT, process_group TEXT, description TEXT, operation TEXT, sequence INTEGER, sizes TEXT, datatype TEXT,"
     " missing_ranks TEXT, waiting_ranks TEXT, completed_ranks TEXT, since_ns INTEGER, place TEXT, waited_ns INTEGER,"
     " reason TEXT",
     stuckRows},
    {"analysis_stuck_members",
     "state TEXT, process_group TEXT, operation TEXT, sequence INTEGER, rank INTEGER, pid INTEGER, part TEXT,"
     " collective_id INTEGER, called_ns INTEGER, waited_ns INTEGER, doing TEXT, place INTEGER",
     memberRows},
};

}  // namespace

std::span<const AnalysisTable> stuckTables() noexcept { return kTables; }

}  // namespace plumb
