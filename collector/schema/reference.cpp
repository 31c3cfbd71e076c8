// SPDX-License-Identifier: Apache-2.0
// Reads the shape in which tables.sql and views.sql are written, not SQL at large.
#include "collector/schema/reference.h"

#include <cctype>
#include <sstream>
#include <utility>

namespace plumb::schema {

namespace {

std::string trim(std::string_view text) {
  constexpr const char* kSpace = " \t\n";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(kSpace) - first + 1));
}

bool startsWith(std::string_view text, std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; }

void append(std::string& text, const std::string& more) {
  if (!text.empty() && !more.empty()) text += ' ';
  text += more;
}

std::vector<std::string> linesOf(std::string_view text) {
  std::vector<std::string> lines;
  std::istringstream stream{std::string(text)};
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Splits at commas that are in no parentheses and no quotes.
std::vector<std::string> splitAtCommas(std::string_view text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  bool quoted = false;
  for (const char c : text) {
    if (c == '\'') quoted = !quoted;
    if (!quoted && c == '(') ++depth;
    if (!quoted && c == ')') --depth;
    if (c == ',' && depth == 0 && !quoted) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

ColumnDescription parseColumn(const std::string& definition) {
  std::istringstream words(definition);
  ColumnDescription column;
  words >> column.name >> column.type;
  if (column.type != "INTEGER" && column.type != "REAL" && column.type != "TEXT") {
    column.rules = column.type;
    column.type.clear();
  }
  for (std::string word; words >> word;) append(column.rules, word);
  return column;
}

bool isTableRule(const std::string& definition) {
  for (const char* word : {"UNIQUE", "PRIMARY KEY", "FOREIGN KEY", "CHECK"}) {
    if (startsWith(definition, word)) return true;
  }
  return false;
}

// One line inside CREATE TABLE: columns, and the comment behind them, which explains the last one; or a rule of the
// whole table.
void parseTableLine(const std::string& line, TableDescription& table) {
  const size_t comment = line.find("--");
  for (const std::string& part : splitAtCommas(std::string_view(line).substr(0, comment))) {
    const std::string definition = trim(part);
    if (isTableRule(definition)) {
      append(table.description, "`" + definition + "`");
    } else if (!definition.empty()) {
      table.columns.push_back(parseColumn(definition));
    }
  }
  if (comment != std::string::npos && !table.columns.empty()) {
    append(table.columns.back().meaning, trim(std::string_view(line).substr(comment + 2)));
  }
}

// The name that a column of a SELECT has: behind AS, else behind the last dot.
std::string selectedName(const std::string& expression) {
  if (const size_t as = expression.rfind(" AS "); as != std::string::npos) return trim(expression.substr(as + 4));
  return trim(expression.substr(expression.rfind('.') + 1));
}

// The text between SELECT and its FROM, on the outermost level.
std::string_view selectList(std::string_view body) {
  const size_t select = body.find("SELECT ") + 7;
  int depth = 0;
  for (size_t i = select; i < body.size(); ++i) {
    if (body[i] == '(') ++depth;
    if (body[i] == ')') --depth;
    if (depth == 0 && startsWith(body.substr(i), "FROM ") &&
        std::isspace(static_cast<unsigned char>(body[i - 1])) != 0) {
      return body.substr(select, i - select);
    }
  }
  return {};
}

void printTable(std::ostringstream& page, const TableDescription& table, bool withTypes) {
  page << "### " << table.name << "\n\n";
  if (!table.description.empty()) page << table.description << "\n\n";
  if (!withTypes) {
    std::string names;
    for (const ColumnDescription& column : table.columns) names += (names.empty() ? "`" : ", `") + column.name + "`";
    page << names << "\n\n";
    return;
  }
  page << "| column | type | | meaning |\n|---|---|---|---|\n";
  for (const ColumnDescription& column : table.columns) {
    page << "| `" << column.name << "` | " << (column.type.empty() ? "any" : column.type) << " | " << column.rules
         << " | " << column.meaning << " |\n";
  }
  page << '\n';
}

// The comment at the top of a file, behind its licence line, as it is written.
std::string preamble(std::string_view sql) {
  std::string text;
  for (const std::string& line : linesOf(sql)) {
    if (!startsWith(line, "--")) break;
    if (line.find("SPDX") == std::string::npos) text += (line.size() > 3 ? line.substr(3) : "") + "\n";
  }
  return text;
}

}  // namespace

std::vector<TableDescription> describeTables(std::string_view tablesSql) {
  std::vector<TableDescription> tables;
  std::string comment;
  bool inTable = false;
  for (const std::string& line : linesOf(tablesSql)) {
    if (inTable) {
      if (startsWith(line, ")")) {
        inTable = false;
      } else {
        parseTableLine(line, tables.back());
      }
    } else if (startsWith(line, "--")) {
      append(comment, trim(line.substr(2)));
    } else if (startsWith(line, "CREATE TABLE ")) {
      TableDescription table;
      table.name = line.substr(13, line.find(' ', 13) - 13);
      table.description = std::exchange(comment, {});
      tables.push_back(table);
      inTable = true;
    } else if (line.empty()) {  // what stands behind a table and before a blank line belongs to that table
      if (!tables.empty()) append(tables.back().description, comment);
      comment.clear();
    }
  }
  return tables;
}

std::vector<TableDescription> describeViews(std::string_view viewsSql) {
  std::vector<TableDescription> views;
  size_t at = 0;
  while ((at = viewsSql.find("CREATE VIEW ", at)) != std::string_view::npos) {
    TableDescription view;
    const size_t nameEnd = viewsSql.find(" AS", at);
    view.name = std::string(viewsSql.substr(at + 12, nameEnd - at - 12));
    const std::string_view before = viewsSql.substr(0, at);
    const size_t paragraph = before.rfind("\n\n");
    if (paragraph != std::string_view::npos) {
      for (const std::string& line : linesOf(before.substr(paragraph + 2))) {
        if (startsWith(line, "--")) append(view.description, trim(line.substr(2)));
      }
    }
    const size_t end = viewsSql.find(";\n", at);
    for (const std::string& part : splitAtCommas(selectList(viewsSql.substr(nameEnd, end - nameEnd)))) {
      view.columns.push_back({selectedName(trim(part)), {}, {}, {}});
    }
    views.push_back(view);
    at = nameEnd;
  }
  return views;
}

std::string referencePage(std::string_view tablesSql, std::string_view viewsSql, std::string_view foreignViewsSql) {
  std::ostringstream page;
  page
      << "<!-- SPDX-License-Identifier: Apache-2.0. Generated from tables.sql and views.sql by plumb_schema_reference. "
         "-->\n"
         "# The trace file\n\nAn SQLite database. Programs and people read the views; the tables are what the recorder "
         "writes.\n\n## Views\n\n```\n"
      << preamble(viewsSql) << "```\n\n";
  for (const TableDescription& view : describeViews(viewsSql)) printTable(page, view, false);
  page << "## Views under Nsight Systems' names\n\n```\n" << preamble(foreignViewsSql) << "```\n\n";
  std::string foreign;
  for (const TableDescription& view : describeViews(foreignViewsSql)) append(foreign, "`" + view.name + "`");
  page << foreign << "\n\n";
  page << "## Tables\n\n```\n" << preamble(tablesSql) << "```\n\n";
  for (const TableDescription& table : describeTables(tablesSql)) printTable(page, table, true);
  return page.str();
}

}  // namespace plumb::schema
