// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/data_loading.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "analyzer/trace/row_scan.h"

namespace plumb {
namespace {

// Names of ranges and operators are few compared with their rows, so texts are looked at once each.
Status addFrom(Trace& trace, const char* sql, std::unordered_map<ProcessId, std::vector<Interval>>& found) {
  auto rows = trace.query(sql);
  if (!rows.ok()) return rows.error();
  std::unordered_map<StringId, bool> isLoading;
  Statement& row = rows.value();
  while (row.next()) {
    const StringId name = row.id<StringId>(3);
    auto known = isLoading.find(name);
    if (known == isLoading.end()) known = isLoading.emplace(name, isDataLoadingName(trace.text(name))).first;
    if (!known->second || !isUsableTime(row.integer(1), row.integer(2))) continue;
    found[row.id<ProcessId>(0)].push_back(intervalOf(row.integer(1), row.integer(2)));
  }
  return row.status();
}

}  // namespace

bool isDataLoadingName(std::string_view name) {
  std::string plain;  // letters only, in lower case
  for (const char c : name.substr(0, 200)) {
    if (std::isalpha(static_cast<unsigned char>(c)))
      plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  static constexpr std::array<std::string_view, 4> kParts = {"dataload", "loadbatch", "loaddata", "nextbatch"};
  return std::ranges::any_of(kParts, [&](std::string_view part) { return plain.find(part) != std::string::npos; });
}

Result<std::map<ThreadId, IntervalSet>> loadDataLoadingByThread(Trace& trace) {
  auto strings = trace.query("SELECT id, text FROM main.string");
  if (!strings.ok()) return strings.error();
  std::string names;  // ids with commas between
  while (strings.value().next()) {
    if (!isDataLoadingName(strings.value().text(1))) continue;
    names += (names.empty() ? "" : ",") + std::to_string(strings.value().integer(0));
  }
  if (const Status status = strings.value().status(); !status.ok()) return status.error();
  std::map<ThreadId, IntervalSet> result;
  if (names.empty()) return result;
  std::map<ThreadId, std::vector<Interval>> found;
  for (const char* table : {"main.range WHERE kind = 'push_pop' AND domain_id NOT IN (SELECT id FROM main.string WHERE"
                            " text IN ('overhead', 'profiler overhead')) AND",
                            "operator WHERE", "python_call WHERE"}) {
    const Status read =
        scanRows(trace.database(), "thread_id, start_ns, duration_ns", fmt::format("{} name_id IN ({})", table, names),
                 [&](const RowValues& row) {
                   const int64_t start = row.integer(1);
                   const bool isOpen = row.isNull(2);
                   if (!isUsableTime(start, isOpen ? 0 : row.integer(2))) return;
                   found[row.id<ThreadId>(0)].push_back(
                       {TimePoint(start), isOpen ? TimePoint(kLargestTimeNs) : TimePoint(start + row.integer(2))});
                 });
    if (!read.ok()) return read.error();
  }
  for (auto& [thread, intervals] : found) result[thread] = IntervalSet::unionOf(std::move(intervals));
  return result;
}

Result<std::unordered_map<ProcessId, IntervalSet>> loadDataLoading(Trace& trace) {
  std::unordered_map<ProcessId, std::vector<Interval>> found;
  for (const char* sql : {"SELECT process_id, start_ns, duration_ns, name_id FROM main.range WHERE duration_ns > 0",
                          "SELECT process_id, start_ns, duration_ns, name_id FROM operator WHERE parent_id IS NULL"}) {
    if (const Status added = addFrom(trace, sql, found); !added.ok()) return added.error();
  }
  std::unordered_map<ProcessId, IntervalSet> result;
  for (auto& [process, intervals] : found) result[process] = IntervalSet::unionOf(std::move(intervals));
  return result;
}

}  // namespace plumb
