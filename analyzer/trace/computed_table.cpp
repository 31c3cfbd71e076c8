// SPDX-License-Identifier: Apache-2.0
// The least of SQLite's virtual-table interface: every read is a full scan of rows held in memory.
#include "analyzer/trace/computed_table.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "analyzer/trace/database.h"

namespace plumb {
namespace {

// The arguments of the table-valued function: hidden columns after the visible ones.
constexpr const char* kArguments =
    ", only_rank HIDDEN, only_step HIDDEN, only_range HIDDEN, from_ns HIDDEN, to_ns HIDDEN";
constexpr int kArgumentCount = 5;

struct Definition {
  ComputedTable table;
  int visibleColumns = 0;
  std::map<Filter, std::vector<CellRow>> rows;  // computed
};

struct Table : sqlite3_vtab {
  Definition* definition = nullptr;
};
struct Cursor : sqlite3_vtab_cursor {
  const std::vector<CellRow>* rows = nullptr;
  size_t row = 0;
};

Definition& definitionOf(sqlite3_vtab* table) { return *static_cast<Table*>(table)->definition; }
Definition& definitionOf(sqlite3_vtab_cursor* cursor) { return definitionOf(cursor->pVtab); }

int connect(sqlite3* database, void* context, int, const char* const*, sqlite3_vtab** table, char**) {
  auto* definition = static_cast<Definition*>(context);
  const std::string declaration = "CREATE TABLE x(" + definition->table.columns + kArguments + ")";
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

// idxNum has a bit for each argument that is given; they arrive in filter() in their own order.
int bestIndex(sqlite3_vtab* table, sqlite3_index_info* info) {
  const int first = definitionOf(table).visibleColumns;
  std::array<int, kArgumentCount> constraint;
  constraint.fill(-1);
  for (int i = 0; i < info->nConstraint; ++i) {
    const auto& c = info->aConstraint[i];
    if (c.iColumn < first || c.op != SQLITE_INDEX_CONSTRAINT_EQ) continue;
    if (!c.usable) return SQLITE_CONSTRAINT;  // an argument that is not known yet: another order of the join
    constraint[static_cast<size_t>(c.iColumn - first)] = i;
  }
  int next = 0;
  for (int argument = 0; argument < kArgumentCount; ++argument) {
    const int at = constraint[static_cast<size_t>(argument)];
    if (at < 0) continue;
    info->idxNum |= 1 << argument;
    info->aConstraintUsage[at].argvIndex = ++next;
    info->aConstraintUsage[at].omit = 1;
  }
  info->estimatedCost = 1;
  info->estimatedRows = 10;
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

Filter filterOf(int given, sqlite3_value** values) {
  Filter filter;
  int next = 0;
  for (int argument = 0; argument < kArgumentCount; ++argument) {
    if (!(given & (1 << argument))) continue;
    sqlite3_value* value = values[next++];
    if (sqlite3_value_type(value) == SQLITE_NULL) continue;
    switch (argument) {
      case 0:
        filter.rank = sqlite3_value_int64(value);
        break;
      case 1:
        filter.step = sqlite3_value_int64(value);
        break;
      case 2:
        filter.range = reinterpret_cast<const char*>(sqlite3_value_text(value));
        break;
      case 3:
        filter.from = TimePoint(sqlite3_value_int64(value));
        break;
      default:
        filter.to = TimePoint(sqlite3_value_int64(value));
        break;
    }
  }
  return filter;
}

int filter(sqlite3_vtab_cursor* base, int given, const char*, int, sqlite3_value** values) {
  auto* cursor = static_cast<Cursor*>(base);
  Definition& definition = definitionOf(base);
  cursor->row = 0;
  try {
    const Filter filter = filterOf(given, values);
    auto known = definition.rows.find(filter);
    if (known == definition.rows.end()) {
      auto rows = definition.table.compute(filter);
      if (!rows.ok()) return fail(base->pVtab, rows.error().message.c_str());
      known = definition.rows.emplace(filter, std::move(rows).value()).first;
    }
    cursor->rows = &known->second;
  } catch (const std::exception& failure) {
    return fail(base->pVtab, failure.what());
  }
  return SQLITE_OK;
}

int next(sqlite3_vtab_cursor* cursor) {
  ++static_cast<Cursor*>(cursor)->row;
  return SQLITE_OK;
}

int atEnd(sqlite3_vtab_cursor* cursor) {
  return static_cast<Cursor*>(cursor)->row >= static_cast<Cursor*>(cursor)->rows->size();
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
  auto definition = std::make_unique<Definition>(Definition{std::move(table), 0, {}});
  const std::string name = definition->table.name;
  definition->visibleColumns = 1 + static_cast<int>(std::ranges::count(definition->table.columns, ','));
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
