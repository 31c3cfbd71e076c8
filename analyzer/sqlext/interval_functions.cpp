// SPDX-License-Identifier: Apache-2.0
#include "analyzer/sqlext/interval_functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/intervals/intervals.h"
#include "analyzer/intervals/overlaps.h"
#include "analyzer/trace/sqlite_api.h"
#include "analyzer/trace/table_function.h"

namespace plumb {
namespace {

constexpr size_t kValueColumns = 4;        // of each query of span_join
constexpr size_t kMostPairs = 20'000'000;  // a row takes some hundred bytes

// The intervals of a query that have the same key, and of span_join the values of their rows.
struct Spans {
  Cell key;
  std::vector<Interval> times;
  std::vector<CellRow> values;
};
struct SpanQuery {
  bool hasKey = false;
  std::vector<Spans> groups;  // in order of appearance
  std::unordered_map<std::string, size_t> groupByKey;
};

Cell cellAt(const Statement& row, int column) {
  switch (row.type(column)) {
    case ValueType::Integer:
      return row.integer(column);
    case ValueType::Real:
      return row.real(column);
    case ValueType::Null:
      return nullptr;
    default:
      return std::string(row.text(column));
  }
}

// Which column of a query is what; -1 for one that it lacks.
struct Layout {
  int start = -1, duration = -1, end = -1, key = -1;
  std::vector<int> values;
};

Result<Layout> layoutOf(const Statement& rows, const char* function) {
  Layout layout;
  std::string names;
  for (int i = 0; i < rows.columnCount(); ++i) {
    const std::string_view name = rows.columnName(i);
    names += fmt::format("{}{}", i == 0 ? "" : ", ", name);
    int* const known = name == "start_ns"      ? &layout.start
                       : name == "duration_ns" ? &layout.duration
                       : name == "end_ns"      ? &layout.end
                       : name == "key"         ? &layout.key
                                               : nullptr;
    if (known && *known < 0) {
      *known = i;
    } else {
      layout.values.push_back(i);
    }
  }
  if (layout.start < 0 || (layout.duration < 0 && layout.end < 0)) {
    return Error{fmt::format(
        "A query of {} must have the columns start_ns and duration_ns (or end_ns); this one has {}.", function, names)};
  }
  return layout;
}

std::string textOf(const Cell& key) {
  if (const auto* integer = std::get_if<int64_t>(&key)) return fmt::format("i{}", *integer);
  if (const auto* real = std::get_if<double>(&key)) return fmt::format("r{}", *real);
  if (const auto* text = std::get_if<std::string>(&key)) return "t" + *text;
  return "";
}

std::optional<Interval> timeOf(const Statement& row, const Layout& layout) {
  const int length = layout.duration >= 0 ? layout.duration : layout.end;
  for (const int column : {layout.start, length}) {
    if (row.type(column) != ValueType::Integer && row.type(column) != ValueType::Real) return std::nullopt;
  }
  const int64_t start = row.integer(layout.start);
  int64_t duration = row.integer(length);
  if (layout.duration < 0 && __builtin_sub_overflow(duration, start, &duration)) return std::nullopt;
  if (!isUsableTime(start, duration)) return std::nullopt;
  return intervalOf(start, duration);
}

Result<SpanQuery> readSpans(Database& database, const Cell& argument, const char* function, bool withValues) {
  const auto* sql = std::get_if<std::string>(&argument);
  if (!sql)
    return Error{
        fmt::format("{} takes queries, as texts: {}('SELECT start_ns, duration_ns FROM …').", function, function)};
  auto prepared = database.prepare(*sql);
  if (!prepared.ok()) return Error{fmt::format("A query of {} failed: {}", function, prepared.error().message)};
  Statement& row = prepared.value();
  const auto layout = layoutOf(row, function);
  if (!layout.ok()) return layout.error();
  const std::vector<int>& values = layout.value().values;
  if (withValues && values.size() > kValueColumns) {
    return Error{fmt::format("A query of {} may have {} columns beside start_ns, duration_ns and key; this one has {}.",
                             function, kValueColumns, values.size())};
  }
  SpanQuery query;
  query.hasKey = layout.value().key >= 0;
  while (row.next()) {
    const auto time = timeOf(row, layout.value());
    if (!time) continue;
    Cell key = query.hasKey ? cellAt(row, layout.value().key) : Cell(nullptr);
    const auto [group, isNew] = query.groupByKey.emplace(textOf(key), query.groups.size());
    if (isNew) query.groups.push_back({std::move(key), {}, {}});
    Spans& spans = query.groups[group->second];
    spans.times.push_back(*time);
    if (!withValues) continue;
    spans.values.emplace_back();
    for (const int column : values) spans.values.back().push_back(cellAt(row, column));
  }
  if (const Status status = row.status(); !status.ok())
    return Error{fmt::format("A query of {} failed: {}", function, status.error().message)};
  return query;
}

struct TwoQueries {
  SpanQuery a, b;
  [[nodiscard]] const Spans* partnerOf(const Spans& spans) const {
    const auto found = b.groupByKey.find(textOf(spans.key));
    return found == b.groupByKey.end() ? nullptr : &b.groups[found->second];
  }
};

Result<TwoQueries> readTwo(Database& database, const std::vector<Cell>& arguments, const char* function,
                           bool withValues) {
  auto a = readSpans(database, arguments[0], function, withValues);
  if (!a.ok()) return a.error();
  auto b = readSpans(database, arguments[1], function, withValues);
  if (!b.ok()) return b.error();
  if (a.value().hasKey != b.value().hasKey) {
    return Error{fmt::format("Either both queries of {} have a column key or none has.", function)};
  }
  return TwoQueries{std::move(a).value(), std::move(b).value()};
}

void addParts(RowStore& rows, const IntervalSet& set, const Cell& key) {
  for (const Interval& part : set.parts()) rows.add({part.start.ns(), part.end.ns(), part.length().ns(), key});
}

Result<RowStore> unionRows(Database& database, const std::vector<Cell>& arguments) {
  auto query = readSpans(database, arguments[0], "interval_union", false);
  if (!query.ok()) return query.error();
  RowStore rows;
  for (Spans& spans : query.value().groups) addParts(rows, IntervalSet::unionOf(std::move(spans.times)), spans.key);
  return rows;
}

Result<RowStore> intersectRows(Database& database, const std::vector<Cell>& arguments) {
  auto queries = readTwo(database, arguments, "interval_intersect", false);
  if (!queries.ok()) return queries.error();
  RowStore rows;
  for (const Spans& spans : queries.value().a.groups) {
    const Spans* other = queries.value().partnerOf(spans);
    if (!other) continue;
    addParts(rows, intersect(IntervalSet::unionOf(spans.times), IntervalSet::unionOf(other->times)), spans.key);
  }
  return rows;
}

Result<RowStore> subtractRows(Database& database, const std::vector<Cell>& arguments) {
  auto queries = readTwo(database, arguments, "interval_subtract", false);
  if (!queries.ok()) return queries.error();
  RowStore rows;
  for (const Spans& spans : queries.value().a.groups) {
    const Spans* other = queries.value().partnerOf(spans);
    const IntervalSet taken = other ? IntervalSet::unionOf(other->times) : IntervalSet();
    addParts(rows, subtract(IntervalSet::unionOf(spans.times), taken), spans.key);
  }
  return rows;
}

Result<RowStore> joinRows(Database& database, const std::vector<Cell>& arguments) {
  auto queries = readTwo(database, arguments, "span_join", true);
  if (!queries.ok()) return queries.error();
  RowStore rows;
  bool isTooMany = false;
  for (const Spans& left : queries.value().a.groups) {
    const Spans* right = queries.value().partnerOf(left);
    if (!right) continue;
    forEachOverlap(left.times, right->times, [&](size_t i, size_t j, Interval shared) {
      isTooMany = rows.size() >= kMostPairs;
      if (isTooMany) return false;
      CellRow row = {shared.start.ns(), shared.end.ns(), shared.length().ns(), left.key};
      for (const CellRow* values : {&left.values[i], &right->values[j]}) {
        row.insert(row.end(), values->begin(), values->end());
        row.resize(row.size() + kValueColumns - values->size(), nullptr);
      }
      rows.add(row);
      return true;
    });
    if (isTooMany) return Error{fmt::format("span_join has more than {} pairs: limit its queries.", kMostPairs)};
  }
  return rows;
}

// SQLite gives zeroed memory of our size for each group; it holds a pointer, because SQLite runs no destructors.
using Times = std::vector<Interval>;

void collectTime(sqlite3_context* context, int, sqlite3_value** arguments) noexcept {
  if (sqlite3_value_type(arguments[0]) == SQLITE_NULL || sqlite3_value_type(arguments[1]) == SQLITE_NULL) return;
  for (int i = 0; i < 2; ++i) {
    const int type = sqlite3_value_numeric_type(arguments[i]);
    if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) {
      return sqlite3_result_error(context, "interval_union_ns(start_ns, duration_ns): a value is no number", -1);
    }
  }
  const int64_t start = sqlite3_value_int64(arguments[0]), duration = sqlite3_value_int64(arguments[1]);
  if (!isUsableTime(start, duration)) return;
  auto** slot = static_cast<Times**>(sqlite3_aggregate_context(context, sizeof(Times*)));
  if (!slot) return sqlite3_result_error_nomem(context);
  try {
    if (!*slot) *slot = new Times;
    (*slot)->push_back(intervalOf(start, duration));
  } catch (const std::bad_alloc&) {
    sqlite3_result_error_nomem(context);
  }
}

void finishUnion(sqlite3_context* context) noexcept {
  auto** slot = static_cast<Times**>(sqlite3_aggregate_context(context, 0));
  const std::unique_ptr<Times> times(slot ? *slot : nullptr);
  if (slot) *slot = nullptr;
  if (!times) return sqlite3_result_null(context);
  try {
    sqlite3_result_int64(context, IntervalSet::unionOf(std::move(*times)).length().ns());
  } catch (const std::bad_alloc&) {
    sqlite3_result_error_nomem(context);
  }
}

}  // namespace

Status registerIntervalFunctions(Database& database) {
  const int added = sqlite3_create_function_v2(database.handle(), "interval_union_ns", 2,
                                               SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, nullptr, nullptr,
                                               collectTime, finishUnion, nullptr);
  if (added != SQLITE_OK) return Error{"SQLite does not take the function interval_union_ns."};

  struct Kind {
    const char* name;
    std::vector<std::string> arguments;
    Result<RowStore> (*rows)(Database&, const std::vector<Cell>&);
    bool isJoin;
  };
  const Kind kinds[] = {{"interval_union", {"query"}, unionRows, false},
                        {"interval_intersect", {"a", "b"}, intersectRows, false},
                        {"interval_subtract", {"a", "b"}, subtractRows, false},
                        {"span_join", {"a", "b"}, joinRows, true}};
  for (const Kind& kind : kinds) {
    TableFunction function;
    function.name = kind.name;
    function.arguments = kind.arguments;
    function.isOfFileAlone = false;  // a query may read other files, too
    function.columns = [isJoin = kind.isJoin]() -> Result<std::vector<std::string>> {
      std::vector<std::string> columns = {"start_ns INTEGER", "end_ns INTEGER", "duration_ns INTEGER", "key"};
      for (const char* side : {"left", "right"}) {
        for (size_t i = 1; isJoin && i <= kValueColumns; ++i) columns.push_back(fmt::format("{}_{}", side, i));
      }
      return columns;
    };
    function.rows = [&database, rows = kind.rows](const std::vector<Cell>& arguments) {
      return rows(database, arguments);
    };
    if (Status done = database.addTable(std::move(function)); !done.ok()) return done;
  }
  return Unit{};
}

}  // namespace plumb
