// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/critical_path_tables.h"

#include <fmt/format.h>

#include <map>
#include <string>

#include "analyzer/analyses/critical_path.h"

namespace plumb {
namespace {

double milliseconds(Duration time) { return static_cast<double>(time.ns()) / 1e6; }

Cell noteOf(const CriticalPath& path, PathCategory category) {
  if (category == PathCategory::Unknown && path.byCategory[static_cast<size_t>(category)].ns() > 0) {
    return "cannot say what was waited for: work of a device began late, or a recording later than another rank's, and "
           "nothing recorded explains it";
  }
  if (category != PathCategory::Communication) return nullptr;
  std::string note;
  if (path.withoutPeers.ns() > 0) {
    note = fmt::format(
        "cannot say how much of {:.3f} ms is waiting for other ranks, because the file does not have or tell their "
        "part",
        milliseconds(path.withoutPeers));
  }
  if (path.kernelsByName > 0) {
    note += fmt::format("{}ranks of {} collective{} are brought together by the names and times of their kernels only",
                        note.empty() ? "" : "; ", path.kernelsByName, path.kernelsByName == 1 ? "" : "s");
  }
  return note.empty() ? Cell(nullptr) : Cell(note);
}

AnalysisRows shareRows(Trace& trace, const Filter& filter) {
  auto found = findCriticalPath(trace, filter, PathDetail::Shares);
  if (!found.ok()) return found.error();
  std::vector<CellRow> rows;
  if (!found.value()) return rows;
  const CriticalPath& path = *found.value();
  for (size_t i = 0; i < kPathCategoryCount; ++i) {
    const auto category = static_cast<PathCategory>(i);
    CellRow row{textCell(nameOf(category)), cell(path.byCategory[i]), cell(path.whole)};
    const bool communicates = category == PathCategory::Communication;
    row.push_back(communicates ? cell(path.exposedCommunication) : nullptr);
    row.push_back(communicates ? cell(path.exposedCommunicationOnPath) : nullptr);
    row.push_back(noteOf(path, category));
    rows.push_back(std::move(row));
  }
  for (const std::string& sentence : path.clocks) {
    rows.push_back({textCell("clocks"), nullptr, nullptr, nullptr, nullptr, sentence});
  }
  return rows;
}

AnalysisStore segments(Trace& trace, const Filter& filter) {
  auto found = findCriticalPath(trace, filter, PathDetail::Segments);
  if (!found.ok()) return found.error();
  RowStore rows;
  if (!found.value()) return rows;
  std::map<ThreadId, std::string> threads;
  for (const Thread& thread : trace.threads()) {
    threads[thread.id] = thread.name.empty() ? fmt::format("thread {}", thread.tid) : thread.name;
  }
  for (const PathSegment& segment : found.value()->segments) {
    rows.startRow();
    rows.add(rankOf(trace, segment.process));
    rows.add(pidOf(trace, segment.process));
    rows.addInteger(segment.time.start.ns());
    rows.addInteger(segment.time.length().ns());
    rows.addText(nameOf(segment.category));
    rows.addText(segment.name);
    const auto thread = threads.find(segment.thread);
    rows.add(thread == threads.end() ? Cell(nullptr) : Cell(thread->second));
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
     " exposed_communication_on_path_ns INTEGER, note TEXT",
     shareRows},
    {"analysis_critical_path_segments",
     "rank INTEGER, pid INTEGER, start_ns INTEGER, path_ns INTEGER, category TEXT, name TEXT, thread TEXT, whole_ns "
     "INTEGER",
     nullptr, segments},
    {"analysis_critical_path_kernels",
     "name TEXT, calls INTEGER, calls_on_path INTEGER, total_ns INTEGER, path_ns INTEGER, saved_if_twice_as_fast_ns"
     " INTEGER, saved_if_free_ns INTEGER, whole_ns INTEGER",
     kernelRows},
};

}  // namespace

std::span<const AnalysisTable> criticalPathTables() noexcept { return kTables; }

}  // namespace plumb
