// SPDX-License-Identifier: Apache-2.0
// The loop is that of an aggregate function, which gets each row's values as they are decoded.
#include "analyzer/trace/row_scan.h"

#include <fmt/format.h>

#include <exception>

#include "analyzer/trace/sqlite_api.h"

namespace plumb {
namespace {

// One of the two is set.
struct Scan {
  const std::function<void(const RowValues&)>* take = nullptr;
  const std::function<bool(const RowValues&)>* takeWhile = nullptr;
  bool isEnough = false;
};
constexpr const char* kPointerType = "plumb row scan";

void takeRow(sqlite3_context* context, int, sqlite3_value** values) noexcept {
  // Asking the value each time would compare its type's name for every row.
  auto* kept = static_cast<Scan**>(sqlite3_aggregate_context(context, sizeof(Scan*)));
  if (!kept) return sqlite3_result_error_nomem(context);
  if (!*kept) *kept = static_cast<Scan*>(sqlite3_value_pointer(values[0], kPointerType));
  Scan* scan = *kept;
  if (!scan) return sqlite3_result_error(context, "plumb_scan_rows is for Plumbline's own use", -1);
  try {
    if (scan->take) return (*scan->take)(RowValues(values + 1));
    scan->isEnough = !(*scan->takeWhile)(RowValues(values + 1));
    if (scan->isEnough) sqlite3_result_error(context, "enough", -1);  // the one way to end the loop early
  } catch (const std::exception&) {
    sqlite3_result_error_nomem(context);
  }
}

void finish(sqlite3_context* context) noexcept { sqlite3_result_null(context); }

Status run(Database& database, std::string_view columns, std::string_view rest, Scan scan) {
  auto statement = database.prepare(fmt::format("SELECT plumb_scan_rows(?1, {}) FROM {}", columns, rest));
  if (!statement.ok()) return statement.error();
  statement.value().bindPointer(1, &scan, kPointerType);
  while (statement.value().next()) {
  }
  return scan.isEnough ? Status(Unit{}) : statement.value().status();
}

}  // namespace

int64_t RowValues::integer(int column) const { return sqlite3_value_int64(m_values[column]); }

bool RowValues::isNull(int column) const { return sqlite3_value_type(m_values[column]) == SQLITE_NULL; }

Status scanRows(Database& database, std::string_view columns, std::string_view rest,
                const std::function<void(const RowValues&)>& take) {
  return run(database, columns, rest, {&take, nullptr, false});
}

Status scanRowsWhile(Database& database, std::string_view columns, std::string_view rest,
                     const std::function<bool(const RowValues&)>& take) {
  return run(database, columns, rest, {nullptr, &take, false});
}

int registerRowScan(sqlite3* database) noexcept {
  return sqlite3_create_function_v2(database, "plumb_scan_rows", -1, SQLITE_UTF8 | SQLITE_DIRECTONLY, nullptr, nullptr,
                                    takeRow, finish, nullptr);
}

}  // namespace plumb
