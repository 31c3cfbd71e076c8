// SPDX-License-Identifier: Apache-2.0
// The least of SQLite's virtual-table interface: every read is a full scan of rows held in memory.
#include "analyzer/trace/computed_table.h"

#include <sqlite3.h>

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "analyzer/trace/database.h"

namespace plumb {
namespace {

struct Definition {
  ComputedTable table;
  std::optional<std::vector<CellRow>> rows;  // computed
};

struct Table : sqlite3_vtab {
  Definition* definition = nullptr;
};
struct Cursor : sqlite3_vtab_cursor {
  size_t row = 0;
};

Definition& definitionOf(sqlite3_vtab* table) { return *static_cast<Table*>(table)->definition; }
Definition& definitionOf(sqlite3_vtab_cursor* cursor) { return definitionOf(cursor->pVtab); }

int connect(sqlite3* database, void* context, int, const char* const*, sqlite3_vtab** table, char**) {
  auto* definition = static_cast<Definition*>(context);
  const std::string declaration = "CREATE TABLE x(" + definition->table.columns + ")";
  if (const int result = sqlite3_declare_vtab(database, declaration.c_str()); result != SQLITE_OK) return result;
  auto* created = new Table;
  created->definition = definition;
  *table = created;
  return SQLITE_OK;
}

int disconnect(sqlite3_vtab* table) {
  delete static_cast<Table*>(table);
  return SQLITE_OK;
}

int bestIndex(sqlite3_vtab*, sqlite3_index_info* info) {
  info->estimatedCost = 1e6;
  info->estimatedRows = 1000;
  return SQLITE_OK;
}

int open(sqlite3_vtab*, sqlite3_vtab_cursor** cursor) {
  *cursor = new Cursor;
  return SQLITE_OK;
}

int close(sqlite3_vtab_cursor* cursor) {
  delete static_cast<Cursor*>(cursor);
  return SQLITE_OK;
}

int fail(sqlite3_vtab* table, const char* message) {
  sqlite3_free(table->zErrMsg);
  table->zErrMsg = sqlite3_mprintf("%s", message);
  return SQLITE_ERROR;
}

int filter(sqlite3_vtab_cursor* cursor, int, const char*, int, sqlite3_value**) {
  Definition& definition = definitionOf(cursor);
  static_cast<Cursor*>(cursor)->row = 0;
  if (definition.rows) return SQLITE_OK;
  try {
    auto rows = definition.table.compute();
    if (!rows.ok()) return fail(cursor->pVtab, rows.error().message.c_str());
    definition.rows = std::move(rows).value();
  } catch (const std::exception& failure) {
    return fail(cursor->pVtab, failure.what());
  }
  return SQLITE_OK;
}

int next(sqlite3_vtab_cursor* cursor) {
  ++static_cast<Cursor*>(cursor)->row;
  return SQLITE_OK;
}

int atEnd(sqlite3_vtab_cursor* cursor) {
  return static_cast<Cursor*>(cursor)->row >= definitionOf(cursor).rows->size();
}

int column(sqlite3_vtab_cursor* cursor, sqlite3_context* context, int index) {
  const CellRow& row = (*definitionOf(cursor).rows)[static_cast<Cursor*>(cursor)->row];
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
  auto definition = std::make_unique<Definition>(Definition{std::move(table), std::nullopt});
  const std::string name = definition->table.name;
  const int result = sqlite3_create_module_v2(m_handle.get(), name.c_str(), &kModule, definition.release(),
                                              [](void* context) { delete static_cast<Definition*>(context); });
  if (result != SQLITE_OK) return errorHere();
  // The first use declares the columns, which SQLite puts to the authorizer as if a table were created in the file.
  guard(false);
  auto first = prepare("SELECT 1 FROM " + name);
  guard(true);
  if (!first.ok()) return first.error();
  return Unit{};
}

}  // namespace plumb
