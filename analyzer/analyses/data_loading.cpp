// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/data_loading.h"

#include <fmt/format.h>

#include <array>
#include <iterator>
#include <string>
#include <string_view>
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
  constexpr size_t kLongest = 200;
  std::array<char, kLongest> letters;  // of the name, in lower case
  size_t count = 0;
  for (const char c : name.substr(0, kLongest)) {
    const char low = static_cast<char>(c | 0x20);
    if (low >= 'a' && low <= 'z' && c > 0) letters[count++] = low;
  }
  const std::string_view plain(letters.data(), count);
  const auto has = [&](std::string_view part) { return plain.find(part) != std::string_view::npos; };
  if (has("nextbatch")) return true;
  return has("load") && (has("dataload") || has("loadbatch") || has("loaddata"));
}

Result<std::vector<StringId>> findDataLoadingNames(Trace& trace) {
  std::vector<StringId> names;
  auto rows = trace.query("SELECT id, text FROM main.string");
  if (!rows.ok()) return rows.error();
  while (rows.value().next()) {
    if (isDataLoadingName(rows.value().text(1))) names.push_back(rows.value().id<StringId>(0));
  }
  if (const Status status = rows.value().status(); !status.ok()) return status.error();
  return names;
}

Result<std::map<ThreadId, IntervalSet>> loadDataLoadingByThread(Trace& trace) {
  const auto names = findDataLoadingNames(trace);
  if (!names.ok()) return names.error();
  std::map<ThreadId, IntervalSet> result;
  if (names.value().empty()) return result;
  std::string ids;
  for (const StringId id : names.value())
    fmt::format_to(std::back_inserter(ids), "{}{}", ids.empty() ? "" : ",", id.value());
  std::map<ThreadId, std::vector<Interval>> found;
  for (const char* table : {"main.range WHERE kind = 'push_pop' AND domain_id NOT IN (SELECT id FROM main.string WHERE"
                            " text IN ('overhead', 'profiler overhead')) AND",
                            "operator WHERE", "python_call WHERE"}) {
    const Status read =
        scanRows(trace.database(), "thread_id, start_ns, duration_ns", fmt::format("{} name_id IN ({})", table, ids),
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
