// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/stuck_tables.h"

#include <algorithm>

#include "analyzer/analyses/analysis_table.h"
#include "analyzer/analyses/stuck_collectives.h"

namespace plumb {
namespace {

AnalysisRows stuckRows(Trace& trace, const Filter& filter) {
  if (const Status whole = wholeTimeOnly(filter, "analysis_stuck"); !whole.ok()) return whole.error();
  auto analysis = analyzeStuckCollectives(trace);
  if (!analysis.ok()) return analysis.error();
  std::vector<CellRow> rows;
  if (!analysis.value().hasStates) {
    CellRow row(13, Cell(nullptr));
    row.front() = textCell(nameOf(StuckKind::CannotSay));
    row.back() = textCell(
        "the file holds no states of collectives; import the flight-recorder dumps of all ranks (PyTorch writes "
        "them when a collective times out)");
    return std::vector<CellRow>{std::move(row)};
  }
  for (const StuckCollective& stuck : analysis.value().collectives) {
    const bool concerns = !filter.rank || std::count(stuck.ranks.begin(), stuck.ranks.end(), *filter.rank) > 0;
    if (!concerns) continue;
    rows.push_back({textCell(nameOf(stuck.kind)), textCell(stuck.group), textCell(stuck.description),
                    textCell(stuck.operation), stuck.sequence, textCell(stuck.sizes), textCell(stuck.datatype),
                    textCell(rankList(stuck.missing)), textCell(rankList(stuck.waiting)),
                    textCell(rankList(stuck.completed)), stuck.since ? cell(*stuck.since) : Cell(nullptr),
                    textCell(stuck.place), textCell(stuck.reason)});
  }
  return rows;
}

constexpr AnalysisTable kTables[] = {
    {"analysis_stuck",
     "state TEXT, process_group TEXT, description TEXT, operation TEXT, sequence INTEGER, sizes TEXT, datatype TEXT,"
     " missing_ranks TEXT, waiting_ranks TEXT, completed_ranks TEXT, since_ns INTEGER, place TEXT, reason TEXT",
     stuckRows},
};

}  // namespace

std::span<const AnalysisTable> stuckTables() noexcept { return kTables; }

}  // namespace plumb
