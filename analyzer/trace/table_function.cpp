// SPDX-License-Identifier: Apache-2.0
// The least of SQLite's virtual-table interface: every read is a full scan of rows held in memory.
#include "analyzer/trace/table_function.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <new>
#include <set>
#include <utility>

#include "analyzer/trace/connection_state.h"
#include "analyzer/trace/sqlite_api.h"

namespace plumb {
namespace {

constexpr size_t kMostKept = 64;  // results of one table

struct Definition {
  TableFunction function;
  std::shared_ptr<ConnectionState> connection;
  bool isForDirectUse = false;
  size_t visibleColumns = 0;
  int64_t version = 0;                                          // of the file, when the rows were computed
  int64_t revision = 0;                                         // of the connection, likewise
  std::map<std::string, std::shared_ptr<const RowStore>> kept;  // by keyOf(arguments)
};

struct Table : sqlite3_vtab {
  std::shared_ptr<Definition>
      definition;  // SQLite lets go of a module that is replaced before it disconnects its tables
  sqlite3* database = nullptr;
};

struct Cursor : sqlite3_vtab_cursor {
  std::shared_ptr<const RowStore> rows;
  std::string key;  // of the arguments that `rows` are for
  size_t row = 0;
  std::vector<RowStore::Value> values;  // of the row, once read
};

Table& tableOf(sqlite3_vtab_cursor* cursor) { return *static_cast<Table*>(cursor->pVtab); }

// Changes whenever the main file may have: by another program or through this connection. Of a transaction that may be
// rolled back, which no count shows, each look is at another version.
int64_t fileVersion(sqlite3* database) {
  static std::atomic<int64_t> looks{0};
  if (!sqlite3_get_autocommit(database) && sqlite3_total_changes(database) > 0) return -++looks;
  unsigned version = 0;
  sqlite3_file_control(database, "main", SQLITE_FCNTL_DATA_VERSION, &version);
  return static_cast<int64_t>(version) << 32 ^ sqlite3_total_changes(database);
}

int fail(Table& table, const char* message) {
  sqlite3_free(table.zErrMsg);
  table.zErrMsg = sqlite3_mprintf("%s", message);
  return SQLITE_ERROR;
}

std::string keyOf(const std::vector<Cell>& arguments) {
  std::string key;
  for (const Cell& argument : arguments) {
    key += static_cast<char>('0' + argument.index());
    if (const auto* integer = std::get_if<int64_t>(&argument)) key += std::to_string(*integer);
    if (const auto* real = std::get_if<double>(&argument))
      key.append(reinterpret_cast<const char*>(real), sizeof *real);
    if (const auto* text = std::get_if<std::string>(&argument)) key += std::to_string(text->size()) + ':' + *text;
  }
  return key;
}

std::string lowered(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

// The name in a declaration: its first word, or what is quoted.
std::string nameIn(const std::string& declaration) {
  if (!declaration.starts_with('"')) return declaration.substr(0, declaration.find(' '));
  std::string name;
  for (size_t at = 1; at < declaration.size(); ++at) {
    if (declaration[at] == '"' && (++at >= declaration.size() || declaration[at] != '"')) break;
    name += declaration[at];
  }
  return name;
}

// SQLite wants all names different. An argument whose name is a column's goes by its place alone.
std::string declarationOf(const std::vector<std::string>& columns, const std::vector<std::string>& arguments) {
  std::set<std::string> used;
  std::string text;
  for (const std::string& column : columns) {
    std::string name = nameIn(column);
    const bool isNew = used.insert(lowered(name)).second;
    for (int copy = 2; !isNew; ++copy) {
      const std::string candidate = name + "_" + std::to_string(copy);
      if (!used.insert(lowered(candidate)).second) continue;
      name = candidate;
      break;
    }
    text += (text.empty() ? "" : ", ") + (isNew ? column : quotedName(name));
  }
  for (std::string name : arguments) {
    while (!used.insert(lowered(name)).second) name += "_argument";
    text += ", " + quotedName(name) + " HIDDEN";
  }
  return "CREATE TABLE x(" + text + ")";
}

Result<std::vector<std::string>> columnsOf(const Definition& definition) {
  const std::string& unusable = definition.connection->unusable;
  if (definition.function.isOfFileAlone && !unusable.empty()) return Error{unusable};
  return definition.function.columns();
}

int connect(sqlite3* database, void* context, int, const char* const*, sqlite3_vtab** table, char** message) {
  const auto& definition = *static_cast<std::shared_ptr<Definition>*>(context);
  try {
    const auto columns = columnsOf(*definition);
    if (!columns.ok()) {
      *message = sqlite3_mprintf("%s", columns.error().message.c_str());
      return SQLITE_ERROR;
    }
    definition->visibleColumns = columns.value().size();
    const std::string declaration = declarationOf(columns.value(), definition->function.arguments);
    definition->connection->isDeclaring = true;
    const int result = sqlite3_declare_vtab(database, declaration.c_str());
    definition->connection->isDeclaring = false;
    if (result != SQLITE_OK) return result;
    if (definition->isForDirectUse) sqlite3_vtab_config(database, SQLITE_VTAB_DIRECTONLY);
    auto created = std::make_unique<Table>();
    created->definition = definition;
    created->database = database;
    *table = created.release();
  } catch (const std::bad_alloc&) {
    return SQLITE_NOMEM;
  } catch (const std::exception& failure) {
    *message = sqlite3_mprintf("%s", failure.what());
    return SQLITE_ERROR;
  }
  return SQLITE_OK;
}

int disconnect(sqlite3_vtab* table) {
  static_cast<Table*>(table)->definition->kept.clear();
  delete static_cast<Table*>(table);
  return SQLITE_OK;
}

// Asks for every argument that is given; idxNum has a bit for each, and they arrive in filter() in their own order.
int bestIndex(sqlite3_vtab* table, sqlite3_index_info* info) {
  const Definition& definition = *static_cast<Table*>(table)->definition;
  const auto first = static_cast<int>(definition.visibleColumns);
  std::vector<int> constraint(definition.function.arguments.size(), -1);
  for (int i = 0; i < info->nConstraint; ++i) {
    const auto& c = info->aConstraint[i];
    if (c.iColumn < first || c.op != SQLITE_INDEX_CONSTRAINT_EQ) continue;
    if (!c.usable) return SQLITE_CONSTRAINT;  // an argument that is not known yet: another order of the join
    constraint[static_cast<size_t>(c.iColumn - first)] = i;
  }
  int next = 0;
  for (size_t argument = 0; argument < constraint.size(); ++argument) {
    const int at = constraint[argument];
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
  *cursor = new (std::nothrow) Cursor;
  return *cursor ? SQLITE_OK : SQLITE_NOMEM;
}

int close(sqlite3_vtab_cursor* cursor) {
  delete static_cast<Cursor*>(cursor);
  return SQLITE_OK;
}

Cell cellOf(sqlite3_value* value) {
  switch (sqlite3_value_type(value)) {
    case SQLITE_NULL:
      return nullptr;
    case SQLITE_INTEGER:
      return static_cast<int64_t>(sqlite3_value_int64(value));
    case SQLITE_FLOAT:
      return sqlite3_value_double(value);
    default: {
      const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
      return std::string(text ? text : "", static_cast<size_t>(sqlite3_value_bytes(value)));
    }
  }
}

// Brings what was read of the file up to date, and forgets rows that may be old.
Status followFile(Table& table) {
  Definition& definition = *table.definition;
  ConnectionState& connection = *definition.connection;
  const int64_t version = fileVersion(table.database);
  const bool isOld = version != definition.version || connection.revision != definition.revision;
  if (isOld || definition.kept.size() >= kMostKept) definition.kept.clear();
  definition.version = version;
  definition.revision = connection.revision;
  if (version == connection.version) return Unit{};
  connection.version = version;
  return connection.changed ? connection.changed() : Unit{};
}

// The rows for the arguments, kept ones where they still hold.
Status fill(Cursor& cursor, Table& table, const std::vector<Cell>& arguments) {
  Definition& definition = *table.definition;
  std::string key = keyOf(arguments);
  if (cursor.rows && cursor.key == key) return Unit{};
  cursor.rows = nullptr;
  const bool isKept = definition.function.isOfFileAlone;
  if (isKept) {
    if (Status followed = followFile(table); !followed.ok()) return followed;
    if (const auto known = definition.kept.find(key); known != definition.kept.end()) cursor.rows = known->second;
  }
  if (!cursor.rows) {
    auto rows = definition.function.rows(arguments);
    if (definition.connection->computed) definition.connection->computed();
    if (!rows.ok()) return rows.error();
    cursor.rows = std::make_shared<const RowStore>(std::move(rows).value());
    if (isKept) definition.kept[key] = cursor.rows;
  }
  cursor.key = std::move(key);
  return Unit{};
}

int filter(sqlite3_vtab_cursor* base, int given, const char*, int, sqlite3_value** values) {
  Cursor& cursor = *static_cast<Cursor*>(base);
  Table& table = tableOf(base);
  cursor.row = 0;
  cursor.values.clear();
  try {
    std::vector<Cell> arguments(table.definition->function.arguments.size());
    int next = 0;
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (given & (1 << i)) arguments[i] = cellOf(values[next++]);
    }
    const Status filled = fill(cursor, table, arguments);
    if (!filled.ok()) return fail(table, filled.error().message.c_str());
  } catch (const std::bad_alloc&) {
    return SQLITE_NOMEM;
  } catch (const std::exception& failure) {
    return fail(table, failure.what());
  }
  return SQLITE_OK;
}

int next(sqlite3_vtab_cursor* base) {
  Cursor& cursor = *static_cast<Cursor*>(base);
  ++cursor.row;
  cursor.values.clear();
  return SQLITE_OK;
}

int atEnd(sqlite3_vtab_cursor* base) {
  const Cursor& cursor = *static_cast<Cursor*>(base);
  return !cursor.rows || cursor.row >= cursor.rows->size();
}

int column(sqlite3_vtab_cursor* base, sqlite3_context* context, int index) {
  Cursor& cursor = *static_cast<Cursor*>(base);
  if (cursor.values.empty()) cursor.rows->read(cursor.row, cursor.values);
  const auto at = static_cast<size_t>(index);
  if (at >= cursor.values.size()) return SQLITE_OK;  // an argument, or a cell that its row lacks: NULL
  const RowStore::Value& value = cursor.values[at];
  switch (value.type) {
    case ValueType::Integer:
      sqlite3_result_int64(context, value.integer);
      break;
    case ValueType::Real:
      sqlite3_result_double(context, value.real);
      break;
    case ValueType::Text:
      sqlite3_result_text64(context, value.bytes.data(), value.bytes.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
      break;
    case ValueType::Blob:
      sqlite3_result_blob64(context, value.bytes.data(), value.bytes.size(), SQLITE_TRANSIENT);
      break;
    case ValueType::Null:
      break;
  }
  return SQLITE_OK;
}

int rowId(sqlite3_vtab_cursor* cursor, sqlite3_int64* id) {
  *id = static_cast<sqlite3_int64>(static_cast<Cursor*>(cursor)->row);
  return SQLITE_OK;
}

// No xCreate: the table exists by its name alone.
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

Status addTableWhenNamed(Database& database, std::string_view name, std::string reads, std::function<Status()> add) {
  auto& views = database.state().views;
  if (!views) return add();
  return views->addTable(name, std::move(reads), std::move(add));
}

std::string quotedName(const std::string& name) {
  std::string text = "\"";
  for (const char c : name) {
    if (c == '"') text += c;
    text += c;
  }
  return text + "\"";
}

Status Database::addTable(TableFunction function) {
  static const sqlite3_module kModule = makeModule();
  auto* definition =
      new std::shared_ptr<Definition>(new Definition{std::move(function), m_state, isBorrowed(), 0, 0, 0, {}});
  // SQLite calls the destructor also when it fails.
  const int result =
      sqlite3_create_module_v2(handle(), (*definition)->function.name.c_str(), &kModule, definition,
                               [](void* context) { delete static_cast<std::shared_ptr<Definition>*>(context); });
  if (result != SQLITE_OK) return errorHere();
  return Unit{};
}

}  // namespace plumb
