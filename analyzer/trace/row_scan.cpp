// SPDX-License-Identifier: Apache-2.0
// SQLite's loop is that of an aggregate function, which gets each row's values as they are decoded.
#include "analyzer/trace/row_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/trace/connection_state.h"
#include "analyzer/trace/sqlite_api.h"
#include "analyzer/trace/text_parts.h"

namespace plumb {
namespace {

constexpr int kMostColumns = 30;

struct Scan {
  const std::function<bool(const RowValues&)>& take;
  size_t toSkip = 0;  // rows that were given already
  bool isEnough = false;
};
constexpr const char* kPointerType = "plumb row scan";

void takeRow(sqlite3_context* context, int count, sqlite3_value** values) noexcept {
  // Asking the value each time would compare its type's name for every row.
  auto* kept = static_cast<Scan**>(sqlite3_aggregate_context(context, sizeof(Scan*)));
  if (!kept) return sqlite3_result_error_nomem(context);
  if (!*kept) *kept = static_cast<Scan*>(sqlite3_value_pointer(values[0], kPointerType));
  Scan* scan = *kept;
  if (!scan || count > kMostColumns + 1)
    return sqlite3_result_error(context, "plumb_scan_rows is for Plumbline's own use", -1);
  if (scan->toSkip > 0) return static_cast<void>(--scan->toSkip);
  std::array<int64_t, kMostColumns> numbers;
  uint32_t nulls = 0;
  for (int i = 0; i + 1 < count; ++i) {
    numbers[static_cast<size_t>(i)] = sqlite3_value_int64(values[i + 1]);
    if (sqlite3_value_type(values[i + 1]) == SQLITE_NULL) nulls |= uint32_t{1} << i;
  }
  try {
    scan->isEnough = !scan->take(RowValues(numbers.data(), nulls));
    if (scan->isEnough) sqlite3_result_error(context, "enough", -1);  // the one way to end the loop early
  } catch (const std::exception&) {
    sqlite3_result_error_nomem(context);
  }
}

void finish(sqlite3_context* context) noexcept { sqlite3_result_null(context); }

bool isName(std::string_view text) {
  const auto isPlain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  return !text.empty() && std::ranges::all_of(text, isPlain);
}

// What follows FROM where that is a table alone.
struct TableAlone {
  std::string name;  // "": it is something else
  std::string rest;  // read in the order of its ids: an index may hold all that is wanted, in another order
};
TableAlone tableAlone(std::string_view rest) {
  constexpr std::string_view kMain = "main.", kNotIndexed = " NOT INDEXED",
                             kAlways = " WHERE true";  // of mayBegin() without limits
  if (rest.ends_with(kAlways)) rest.remove_suffix(kAlways.size());
  if (rest.ends_with(kNotIndexed)) rest.remove_suffix(kNotIndexed.size());
  const std::string_view name = rest.starts_with(kMain) ? rest.substr(kMain.size()) : rest;
  return isName(name) ? TableAlone{std::string(name), fmt::format("{}{}", rest, kNotIndexed)} : TableAlone{};
}

// From the file's pages. Not done: SQLite has to go on, behind the rows that were given.
enum class Given : uint8_t { All, Some };
Result<Given> fromPages(Database& database, std::string_view columns, const TableAlone& table, Scan& scan) {
  auto& pages = database.state().pages;
  const std::vector<std::string> names = commaList(columns);
  if (table.name.empty() || !pages || !std::ranges::all_of(names, isName)) return Given::Some;
  // Holds the transaction, and hears of an interruption and of the end of the time; what is wrong with the text, it
  // says.
  auto held = database.prepare(fmt::format("SELECT {} FROM {}", columns, table.rest));
  if (!held.ok()) return held.error();
  Statement& statement = held.value();
  if (!statement.next()) {
    if (!statement.status().ok()) return statement.status().error();
    return Given::All;
  }
  constexpr size_t kPagesBetweenSteps = 64;
  size_t seen = 0;
  bool isHeld = true;
  const std::function<bool()> goOn = [&] {
    if (++seen % kPagesBetweenSteps != 0) return true;
    database.stillReading();
    return isHeld = statement.next();
  };
  const Walk walk = pages->forEachRow(database.handle(), table.name, names, {scan.take, goOn}, scan.toSkip);
  if (isHeld) return walk == Walk::Unusable ? Given::Some : Given::All;
  if (!statement.status().ok()) return statement.status().error();
  return Given::Some;
}

Status run(Database& database, std::string_view columns, std::string_view rest, Scan scan) {
  const TableAlone table = tableAlone(rest);
  const auto given = fromPages(database, columns, table, scan);
  if (!given.ok()) return given.error();
  if (given.value() == Given::All) return Unit{};
  if (!table.name.empty()) rest = table.rest;
  auto statement = database.prepare(fmt::format("SELECT plumb_scan_rows(?1, {}) FROM {}", columns, rest));
  if (!statement.ok()) return statement.error();
  statement.value().bindPointer(1, &scan, kPointerType);
  while (statement.value().next()) {
  }
  return scan.isEnough ? Status(Unit{}) : statement.value().status();
}

}  // namespace

Status scanRows(Database& database, std::string_view columns, std::string_view rest,
                const std::function<void(const RowValues&)>& take) {
  const std::function<bool(const RowValues&)> takeAll = [&](const RowValues& row) {
    take(row);
    return true;
  };
  return run(database, columns, rest, {takeAll});
}

Status scanRowsWhile(Database& database, std::string_view columns, std::string_view rest,
                     const std::function<bool(const RowValues&)>& take) {
  return run(database, columns, rest, {take});
}

int registerRowScan(sqlite3* database) noexcept {
  return sqlite3_create_function_v2(database, "plumb_scan_rows", -1, SQLITE_UTF8 | SQLITE_DIRECTONLY, nullptr, nullptr,
                                    takeRow, finish, nullptr);
}

}  // namespace plumb
