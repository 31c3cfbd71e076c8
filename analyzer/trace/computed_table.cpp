// SPDX-License-Identifier: Apache-2.0
#include "analyzer/trace/computed_table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "analyzer/trace/table_function.h"

namespace plumb {
namespace {

constexpr std::array<const char*, 5> kArguments = {"only_rank", "only_step", "only_range", "from_ns", "to_ns"};

// "rank INTEGER, name TEXT" in its parts.
std::vector<std::string> declarationsOf(std::string_view columns) {
  std::vector<std::string> declarations;
  for (size_t at = 0; at < columns.size();) {
    at = columns.find_first_not_of(' ', at);
    const size_t end = std::min(columns.find(',', at), columns.size());
    declarations.emplace_back(columns.substr(at, end - at));
    at = end + 1;
  }
  return declarations;
}

std::optional<int64_t> integerOf(const Cell& cell) {
  if (const auto* value = std::get_if<int64_t>(&cell)) return *value;
  if (const auto* value = std::get_if<double>(&cell)) {
    const auto whole = static_cast<int64_t>(std::clamp(*value, -9e18, 9e18));
    if (static_cast<double>(whole) == *value) return whole;
  }
  if (const auto* text = std::get_if<std::string>(&cell)) {
    int64_t value = 0;
    const auto [end, failed] = std::from_chars(text->data(), text->data() + text->size(), value);
    if (failed == std::errc() && end == text->data() + text->size()) return value;
  }
  return std::nullopt;
}

}  // namespace

Status Database::addTable(ComputedTable table) {
  TableFunction function;
  function.name = table.name;
  function.arguments.assign(kArguments.begin(), kArguments.end());
  function.columns = [columns = table.columns]() -> Result<std::vector<std::string>> {
    return declarationsOf(columns);
  };
  function.rows = [compute = std::move(table.compute)](const std::vector<Cell>& arguments) -> Result<RowStore> {
    const auto filter = filterFrom(arguments);
    if (!filter.ok()) return filter.error();
    return compute(filter.value());
  };
  return addTable(std::move(function));
}

Result<Filter> filterFrom(const std::vector<Cell>& arguments) {
  static constexpr const char* kNames[] = {"rank", "step", "range", "from_ns", "to_ns"};
  std::array<std::optional<int64_t>, kArguments.size()> integers;
  Filter filter;
  for (size_t i = 0; i < std::min<size_t>(arguments.size(), kArguments.size()); ++i) {
    if (std::holds_alternative<std::nullptr_t>(arguments[i])) continue;
    if (i == 2) {
      const auto* text = std::get_if<std::string>(&arguments[i]);
      if (!text) return Error{"The argument range must be the name of a range, as text."};
      filter.range = *text;
      continue;
    }
    integers[i] = integerOf(arguments[i]);
    if (!integers[i]) return Error{std::string("The argument ") + kNames[i] + " must be a whole number."};
  }
  filter.rank = integers[0];
  filter.step = integers[1];
  if (integers[3]) filter.from = TimePoint(*integers[3]);
  if (integers[4]) filter.to = TimePoint(*integers[4]);
  if (filter.from && filter.to && *filter.to < *filter.from) {
    return Error{"The argument from_ns is after to_ns, so there is no time between them."};
  }
  return filter;
}

}  // namespace plumb
