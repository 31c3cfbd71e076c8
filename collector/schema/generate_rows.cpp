// SPDX-License-Identifier: Apache-2.0
// Build tool: reads the tables of collector/schema/tables.sql (through SQLite itself) and prints rows.h, one struct per
// table. So no table and no column is written down twice, and a row that forgets a column does not compile.
#include <sqlite3.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "collector/schema/schema.h"

namespace {

struct Column {
  std::string name;
  std::string type;
  bool nullable = false;
};

[[noreturn]] void fail(const std::string& message) {
  std::fprintf(stderr, "generate_rows: %s\n", message.c_str());
  std::exit(1);
}

std::vector<std::vector<std::string>> query(sqlite3* database, const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(database, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) fail(sqlite3_errmsg(database));
  std::vector<std::vector<std::string>> rows;
  while (sqlite3_step(statement) == SQLITE_ROW) {
    std::vector<std::string>& row = rows.emplace_back();
    for (int i = 0; i < sqlite3_column_count(statement); ++i) {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, i));
      row.emplace_back(text != nullptr ? text : "");
    }
  }
  sqlite3_finalize(statement);
  return rows;
}

// memory_copy -> MemoryCopyRow
std::string structName(const std::string& table) {
  std::string name;
  bool upper = true;
  for (const char c : table) {
    if (c == '_') {
      upper = true;
      continue;
    }
    name += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = false;
  }
  return name + "Row";
}

std::string cppType(const Column& column) {
  std::string type = "Value";
  if (column.type == "INTEGER") type = "int64_t";
  if (column.type == "REAL") type = "double";
  if (column.type == "TEXT") type = "std::string_view";
  return column.nullable ? "std::optional<" + type + ">" : type;
}

void printStruct(std::FILE* out, const std::string& table, size_t index, const std::vector<Column>& columns) {
  std::string names;
  std::string holders;
  std::string fields;
  for (const Column& column : columns) {
    names += (names.empty() ? "" : ", ") + column.name;
    holders += holders.empty() ? "?" : ",?";
    fields += (fields.empty() ? "" : ", ") + column.name;
  }
  std::fprintf(out, "struct %s {\n", structName(table).c_str());
  std::fprintf(out, "  static constexpr size_t kTable = %zu;\n", index);
  for (const Column& column : columns) {
    std::fprintf(out, "  %s %s%s;\n", cppType(column).c_str(), column.name.c_str(), column.nullable ? "{}" : "");
  }
  std::fprintf(out, "  template <class F>\n  void visit(F&& f) const {\n    f(%s);\n  }\n};\n\n", fields.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) fail("usage: generate_rows OUTPUT");
  sqlite3* database = nullptr;
  if (sqlite3_open(":memory:", &database) != SQLITE_OK) fail("no memory");
  const std::string sql(plumb::schema::tablesSql());
  if (sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail(sqlite3_errmsg(database));

  std::FILE* out = std::fopen(argv[1], "w");
  if (out == nullptr) fail(std::string("cannot write ") + argv[1]);
  std::fputs(
      "// Generated from collector/schema/tables.sql by generate_rows.cpp.\n#pragma once\n#include <array>\n#include "
      "<cstdint>\n#include <optional>\n#include <string_view>\n#include <variant>\n\nnamespace plumb::schema {\n\n"
      "using Value = std::variant<int64_t, double, std::string_view>;\n\n"
      "struct TableText {\n  const char* name;\n  const char* values;\n};\n\n",
      out);
  std::string texts;
  size_t index = 0;
  for (const auto& row : query(database, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid")) {
    std::vector<Column> columns;
    std::string names;
    std::string holders;
    for (const auto& c :
         query(database, "SELECT name, type, \"notnull\", pk FROM pragma_table_info('" + row[0] + "')")) {
      columns.push_back({c[0], c[1], c[2] == "0" && c[3] == "0"});
      names += (names.empty() ? "" : ",") + c[0];
      holders += holders.empty() ? "?" : ",?";
    }
    printStruct(out, row[0], index++, columns);
    texts += "    {\"" + row[0] + "\", \"" + row[0] + "(" + names + ") VALUES(" + holders + ")\"},\n";
  }
  std::fprintf(out, "// By kTable.\ninline constexpr std::array<TableText, %zu> kTables = {{\n%s}};\n\n", index,
               texts.c_str());
  std::fputs("}  // namespace plumb::schema\n", out);
  sqlite3_close(database);
  return std::fclose(out) == 0 ? 0 : 1;
}
