// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/critical_path_tables.h"

#include "analyzer/analyses/critical_path.h"

namespace plumb {
namespace {

AnalysisRows shareRows(Trace& trace, const Filter& filter) {
  auto found = findCriticalPath(trace, filter, PathDetail::Shares);
  if (!found.ok()) return found.error();
  std::vector<CellRow> rows;
  if (!found.value()) return rows;
  const CriticalPath& path = *found.value();
  for (size_t i = 0; i < kPathCategoryCount; ++i) {
    const auto category = static_cast<PathCategory>(i);
    CellRow row{textCell(nameOf(category)), cell(path.byCategory[i]), cell(path.whole)};
    if (category == PathCategory::Communication) {
      row.push_back(cell(path.exposedCommunication));
      row.push_back(cell(path.exposedCommunicationOnPath));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

AnalysisStore segments(Trace& trace, const Filter& filter) {
  auto found = findCriticalPath(trace, filter, PathDetail::Segments);
  if (!found.ok()) return found.error();
  RowStore rows;
  if (!found.value()) return rows;
  for (const PathSegment& segment : found.value()->segments) {
    rows.startRow();
    rows.add(rankOf(trace, segment.process));
    rows.add(pidOf(trace, segment.process));
    rows.addInteger(segment.time.start.ns());
    rows.addInteger(segment.time.length().ns());
    rows.addText(nameOf(segment.category));
    rows.addText(segment.name);
    rows.addInteger(found.value()->whole.ns());
  }
  return rows;
}

AnalysisRows kernelRows(Trace& trace, const Filter& filter) {
  auto found = findCriticalPath(trace, filter, PathDetail::WhatIf);
  if (!found.ok()) return found.error();
  std::vector<CellRow> rows;
  if (!found.value()) return rows;
  for (const PathWhatIf& kernel : found.value()->kernels) {
    rows.push_back({kernel.name, kernel.count, kernel.countOnPath, cell(kernel.total), cell(kernel.onPath),
                    cell(kernel.savedTwiceAsFast), cell(kernel.savedFree), cell(found.value()->whole)});
  }
  return rows;
}

constexpr AnalysisTable kTables[] = {
    {"analysis_critical_path",
     "category TEXT, path_ns INTEGER, whole_ns INTEGER, exposed_communication_ns INTEGER,"
     " exposed_communication_on_path_ns INTEGER",
     shareRows},
    {"analysis_critical_path_segments",
     "rank INTEGER, pid INTEGER, start_ns INTEGER, path_ns INTEGER, category TEXT, name TEXT, whole_ns INTEGER",
     nullptr, segments},
    {"analysis_critical_path_kernels",
     "name TEXT, calls INTEGER, calls_on_path INTEGER, total_ns INTEGER, path_ns INTEGER, saved_if_twice_as_fast_ns"
     " INTEGER, saved_if_free_ns INTEGER, whole_ns INTEGER",
     kernelRows},
};

}  // namespace

std::span<const AnalysisTable> criticalPathTables() noexcept { return kTables; }

}  // namespace plumb
