// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/data_loading.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

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
