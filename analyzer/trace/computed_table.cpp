// SPDX-License-Identifier: Apache-2.0
// The least of SQLite's virtual-table interface: every read is a full scan of rows held in memory.
#include "analyzer/trace/computed_table.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "analyzer/trace/database.h"
#include "analyzer/trace/table_functions.h"

namespace plumb {
namespace {

// The arguments of the table-valued function: hidden columns after the visible ones.
constexpr const char* kArguments =
    ", only_rank HIDDEN, only_step HIDDEN, only_range HIDDEN, from_ns HIDDEN, to_ns HIDDEN";
constexpr int kArgumentCount = 5;

struct Definition {
  ComputedTable table;
  std::shared_ptr<Declaring> declaring;
  int visibleColumns = 0;
  int64_t version = 0;  // of the file, when the rows were computed
  std::map<Filter, std::shared_ptr<const std::vector<CellRow>>> rows;
};

struct Table : sqlite3_vtab {
  Definition* definition = nullptr;
  sqlite3* database = nullptr;
};
struct Cursor : sqlite3_vtab_cursor {
  std::shared_ptr<const std::vector<CellRow>> rows;
  size_t row = 0;
};

Definition& definitionOf(sqlite3_vtab* table) { return *static_cast<Table*>(table)->definition; }

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

int connect(sqlite3* database, void* context, int, const char* const*, sqlite3_vtab** table, char**) {
  auto* definition = static_cast<Definition*>(context);
  const std::string declaration = "CREATE TABLE x(" + definition->table.columns + kArguments + ")";
  if (const int result = declareTable(database, declaration.c_str(), *definition->declaring); result != SQLITE_OK)
    return result;
  auto* created = new Table;
  created->definition = definition;
  created->database = database;
  *table = created;
  return SQLITE_OK;
}

int disconnect(sqlite3_vtab* table) {
  delete static_cast<Table*>(table);
  return SQLITE_OK;
}

int bestIndex(sqlite3_vtab* table, sqlite3_index_info* info) {
  return takeArguments(info, definitionOf(table).visibleColumns, kArgumentCount);
}

int open(sqlite3_vtab*, sqlite3_vtab_cursor** cursor) {
  *cursor = new Cursor;
  return SQLITE_OK;
}

int close(sqlite3_vtab_cursor* cursor) {
  delete static_cast<Cursor*>(cursor);
  return SQLITE_OK;
}

int filter(sqlite3_vtab_cursor* base, int given, const char*, int, sqlite3_value** values) {
  auto* cursor = static_cast<Cursor*>(base);
  auto* table = static_cast<Table*>(base->pVtab);
  Definition& definition = *table->definition;
  cursor->row = 0;
  try {
    const auto filter = filterFrom(argumentsOf(given, values, kArgumentCount));
    if (!filter.ok()) return failTable(table, filter.error().message.c_str());
    const int64_t version = fileVersion(table->database);
    if (version != definition.version) definition.rows.clear();
    definition.version = version;
    auto known = definition.rows.find(filter.value());
    if (known == definition.rows.end()) {
      auto rows = definition.table.compute(filter.value());
      if (!rows.ok()) return failTable(table, rows.error().message.c_str());
      auto kept = std::make_shared<const std::vector<CellRow>>(std::move(rows).value());
      known = definition.rows.insert_or_assign(filter.value(), std::move(kept)).first;
    }
    cursor->rows = known->second;
  } catch (const std::exception& failure) {
    return failTable(table, failure.what());
  }
  return SQLITE_OK;
}

int next(sqlite3_vtab_cursor* cursor) {
  ++static_cast<Cursor*>(cursor)->row;
  return SQLITE_OK;
}

int atEnd(sqlite3_vtab_cursor* base) {
  const auto* cursor = static_cast<Cursor*>(base);
  return !cursor->rows || cursor->row >= cursor->rows->size();
}

int column(sqlite3_vtab_cursor* cursor, sqlite3_context* context, int index) {
  const CellRow& row = (*static_cast<Cursor*>(cursor)->rows)[static_cast<Cursor*>(cursor)->row];
  const Cell cell = static_cast<size_t>(index) < row.size() ? row[static_cast<size_t>(index)] : Cell(nullptr);
  if (const auto* integer = std::get_if<int64_t>(&cell)) {
    sqlite3_result_int64(context, *integer);
  } else if (const auto* real = std::get_if<double>(&cell)) {
    sqlite3_result_double(context, *real);
  } else if (const auto* text = std::get_if<std::string>(&cell)) {
    sqlite3_result_text64(context, text->data(), text->size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  } else {
    sqlite3_result_null(context);
  }
  return SQLITE_OK;
}

int rowId(sqlite3_vtab_cursor* cursor, sqlite3_int64* id) {
  *id = static_cast<sqlite3_int64>(static_cast<Cursor*>(cursor)->row);
  return SQLITE_OK;
}

// No xCreate: the table exists by its name alone and cannot be made part of a file's schema.
sqlite3_module makeModule() {
  sqlite3_module module{};
  module.xConnect = connect;
  module.xBestIndex = bestIndex;
  module.xDisconnect = disconnect;
  module.xOpen = open;
  module.xClose = close;
  module.xFilter = filter;
  module.xNext = next;
  module.xEof = atEnd;
  module.xColumn = column;
  module.xRowid = rowId;
  return module;
}

}  // namespace

Status Database::addTable(ComputedTable table) {
  static const sqlite3_module kModule = makeModule();
  const auto columns = 1 + static_cast<int>(std::ranges::count(table.columns, ','));
  auto* definition = new Definition{std::move(table), m_declaring, columns, 0, {}};
  const int result = sqlite3_create_module_v2(m_handle.get(), definition->table.name.c_str(), &kModule, definition,
                                              [](void* context) { delete static_cast<Definition*>(context); });
  if (result != SQLITE_OK) return errorHere();
  return Unit{};
}

Result<Filter> filterFrom(const std::vector<Cell>& arguments) {
  static constexpr const char* kNames[kArgumentCount] = {"rank", "step", "range", "from_ns", "to_ns"};
  std::array<std::optional<int64_t>, kArgumentCount> integers;
  Filter filter;
  for (size_t i = 0; i < std::min<size_t>(arguments.size(), kArgumentCount); ++i) {
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
  return filter;
}

}  // namespace plumb
