// SPDX-License-Identifier: Apache-2.0
#include "analyzer/trace/query_table.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "analyzer/trace/table_functions.h"

namespace plumb {
namespace {

// Rows of a statement in one buffer: a report of many rows takes little more than its values.
class RowStore {
 public:
  void add(const Statement& row) {
    m_rows.push_back(m_bytes.size());
    for (int i = 0; i < row.columnCount(); ++i) {
      const ValueType type = row.type(i);
      m_bytes += static_cast<char>(type);
      switch (type) {
        case ValueType::Integer:
          addPlain(row.integer(i));
          break;
        case ValueType::Real:
          addPlain(row.real(i));
          break;
        case ValueType::Text:
          addText(row.text(i));
          break;
        case ValueType::Blob:
          addText(row.blob(i));
          break;
        case ValueType::Null:
          break;
      }
    }
  }
  [[nodiscard]] size_t size() const { return m_rows.size(); }
  void give(sqlite3_context* context, size_t row, int column) const {
    size_t at = m_rows[row];
    for (int i = 0; i < column; ++i) at += sizeAt(at);
    const size_t value = at + 1;
    switch (static_cast<ValueType>(m_bytes[at])) {
      case ValueType::Integer:
        return sqlite3_result_int64(context, plainAt<int64_t>(value));
      case ValueType::Real:
        return sqlite3_result_double(context, plainAt<double>(value));
      case ValueType::Text:
        return sqlite3_result_text64(context, m_bytes.data() + value + sizeof(uint64_t), plainAt<uint64_t>(value),
                                     SQLITE_TRANSIENT, SQLITE_UTF8);
      case ValueType::Blob:
        return sqlite3_result_blob64(context, m_bytes.data() + value + sizeof(uint64_t), plainAt<uint64_t>(value),
                                     SQLITE_TRANSIENT);
      case ValueType::Null:
        return sqlite3_result_null(context);
    }
  }

 private:
  template <class T>
  void addPlain(T value) {
    m_bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void addText(std::string_view text) {
    addPlain(static_cast<uint64_t>(text.size()));
    m_bytes += text;
  }
  template <class T>
  [[nodiscard]] T plainAt(size_t at) const {
    T value;
    std::memcpy(&value, m_bytes.data() + at, sizeof value);
    return value;
  }
  [[nodiscard]] size_t sizeAt(size_t at) const {
    switch (static_cast<ValueType>(m_bytes[at])) {
      case ValueType::Null:
        return 1;
      case ValueType::Integer:
      case ValueType::Real:
        return 1 + sizeof(int64_t);
      default:
        return 1 + sizeof(uint64_t) + plainAt<uint64_t>(at + 1);
    }
  }

  std::string m_bytes;
  std::vector<size_t> m_rows;
};

struct Definition {
  QueryTable table;
  std::shared_ptr<Declaring> declaring;
  int visibleColumns = 0;
  int64_t version = 0;                                          // of the file, when the rows were computed
  std::map<std::string, std::shared_ptr<const RowStore>> rows;  // by keyOf(arguments)
};

struct Table : sqlite3_vtab {
  Definition* definition = nullptr;
  sqlite3* database = nullptr;
};
struct Cursor : sqlite3_vtab_cursor {
  std::shared_ptr<const RowStore> rows;
  size_t row = 0;
};

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

std::string quoted(const std::string& name) {
  std::string text = "\"";
  for (const char c : name) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + "\"";
}

// The columns of the statement and the arguments; SQLite wants all names different.
std::string declarationOf(const Statement& statement, const std::vector<std::string>& arguments) {
  std::set<std::string> used;
  const auto unique = [&](const std::string& name, const char* suffix) {
    std::string candidate = name;
    for (int copy = 2; !used.insert(lowered(candidate)).second; ++copy)
      candidate = name + suffix + std::to_string(copy);
    return candidate;
  };
  std::string text = "CREATE TABLE x(";
  for (int i = 0; i < statement.columnCount(); ++i) {
    text += (i == 0 ? "" : ", ") + quoted(unique(std::string(statement.columnName(i)), "_"));
  }
  for (const std::string& argument : arguments) text += ", " + quoted(unique(argument, "_argument_")) + " HIDDEN";
  return text + ")";
}

int connect(sqlite3* database, void* context, int, const char* const*, sqlite3_vtab** table, char** message) {
  auto* definition = static_cast<Definition*>(context);
  try {
    auto statement = definition->table.open(std::vector<Cell>(definition->table.arguments.size()));
    if (!statement.ok()) {
      *message = sqlite3_mprintf("%s", statement.error().message.c_str());
      return SQLITE_ERROR;
    }
    definition->visibleColumns = statement.value().columnCount();
    const std::string declaration = declarationOf(statement.value(), definition->table.arguments);
    if (const int result = declareTable(database, declaration.c_str(), *definition->declaring); result != SQLITE_OK)
      return result;
  } catch (const std::exception& failure) {
    *message = sqlite3_mprintf("%s", failure.what());
    return SQLITE_ERROR;
  }
  auto* created = new Table;
  created->definition = definition;
  created->database = database;
  *table = created;
  return SQLITE_OK;
}

int disconnect(sqlite3_vtab* table) {
  static_cast<Table*>(table)->definition->rows.clear();
  delete static_cast<Table*>(table);
  return SQLITE_OK;
}

int bestIndex(sqlite3_vtab* table, sqlite3_index_info* info) {
  const Definition& definition = *static_cast<Table*>(table)->definition;
  return takeArguments(info, definition.visibleColumns, static_cast<int>(definition.table.arguments.size()));
}

int open(sqlite3_vtab*, sqlite3_vtab_cursor** cursor) {
  *cursor = new Cursor;
  return SQLITE_OK;
}

int close(sqlite3_vtab_cursor* cursor) {
  delete static_cast<Cursor*>(cursor);
  return SQLITE_OK;
}

Result<std::shared_ptr<const RowStore>> run(const QueryTable& table, const std::vector<Cell>& arguments) {
  auto statement = table.open(arguments);
  if (!statement.ok()) return statement.error();
  auto rows = std::make_shared<RowStore>();
  while (statement.value().next()) rows->add(statement.value());
  if (const Status status = statement.value().status(); !status.ok()) return status.error();
  return std::shared_ptr<const RowStore>(std::move(rows));
}

int filter(sqlite3_vtab_cursor* base, int given, const char*, int, sqlite3_value** values) {
  auto* cursor = static_cast<Cursor*>(base);
  auto* table = static_cast<Table*>(base->pVtab);
  Definition& definition = *table->definition;
  cursor->row = 0;
  try {
    const std::vector<Cell> arguments = argumentsOf(given, values, definition.table.arguments.size());
    const int64_t version = fileVersion(table->database);
    if (version != definition.version) definition.rows.clear();
    definition.version = version;
    auto known = definition.rows.find(keyOf(arguments));
    if (known == definition.rows.end()) {
      auto rows = run(definition.table, arguments);
      if (!rows.ok()) return failTable(table, rows.error().message.c_str());
      known = definition.rows.insert_or_assign(keyOf(arguments), std::move(rows).value()).first;
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

int column(sqlite3_vtab_cursor* base, sqlite3_context* context, int index) {
  const auto* cursor = static_cast<Cursor*>(base);
  if (index < static_cast<Table*>(base->pVtab)->definition->visibleColumns) {
    cursor->rows->give(context, cursor->row, index);
  } else {
    sqlite3_result_null(context);
  }
  return SQLITE_OK;
}

int rowId(sqlite3_vtab_cursor* cursor, sqlite3_int64* id) {
  *id = static_cast<sqlite3_int64>(static_cast<Cursor*>(cursor)->row);
  return SQLITE_OK;
}

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

Status Database::addTable(QueryTable table) {
  static const sqlite3_module kModule = makeModule();
  auto* definition = new Definition{std::move(table), m_declaring, 0, 0, {}};
  const int result = sqlite3_create_module_v2(m_handle.get(), definition->table.name.c_str(), &kModule, definition,
                                              [](void* context) { delete static_cast<Definition*>(context); });
  if (result != SQLITE_OK) return errorHere();
  return Unit{};
}

}  // namespace plumb
