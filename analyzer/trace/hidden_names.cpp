// SPDX-License-Identifier: Apache-2.0
#include "analyzer/trace/hidden_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <string>

#include "analyzer/trace/database.h"
#include "analyzer/trace/schema_views.h"
#include "collector/schema/schema.h"

namespace plumb {
namespace {

std::string lowered(std::string_view name) {
  std::string text(name);
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

bool isTableOfTheFile(std::string_view name) {
  return schema::tablesSql().find(fmt::format("\nCREATE TABLE {} (", name)) != std::string_view::npos;
}

// "table" or "view" by name: temporary ones that Plumbline has not made.
Result<std::map<std::string, std::string>> foreignTables(Database& database) {
  auto rows = database.prepare("SELECT type, name, sql FROM temp.sqlite_schema WHERE type IN ('table', 'view')");
  if (!rows.ok()) return rows.error();
  std::map<std::string, std::string> foreign;
  while (rows.value().next()) {
    const std::string name = lowered(rows.value().text(1));
    const bool isAdded = rows.value().text(0) == "table" && schema::isAddedTable(name);
    if (!isAdded && !isAsTheSchemaHasIt(name, rows.value().text(2))) foreign.emplace(name, rows.value().text(0));
  }
  if (const Status status = rows.value().status(); !status.ok()) return status.error();
  return foreign;
}

Result<bool> isTableFunction(Database& database, std::string_view name) {
  auto rows = database.prepare("SELECT 1 FROM pragma_module_list WHERE name = ?1 COLLATE NOCASE");
  if (!rows.ok()) return rows.error();
  rows.value().bind(1, name);
  return rows.value().next();
}

// What is named with its schema is not hidden.
std::string withoutQualified(std::string sql) {
  constexpr std::string_view kMain = "main.";
  for (size_t at = sql.find(kMain); at != std::string::npos; at = sql.find(kMain, at)) {
    while (at < sql.size() &&
           (std::isalnum(static_cast<unsigned char>(sql[at])) != 0 || sql[at] == '_' || sql[at] == '.'))
      sql[at++] = ' ';
  }
  return sql;
}

// The view of which SQLite says that it is not allowed; else empty.
std::string refusedView(std::string_view message) {
  constexpr std::string_view kBegin = "access to view \"", kEnd = "\" prohibited";
  if (!message.starts_with(kBegin) || !message.ends_with(kEnd)) return "";
  message.remove_prefix(kBegin.size());
  return std::string(message.substr(0, message.size() - kEnd.size()));
}

}  // namespace

std::string refusedViewSentence(std::string_view message) {
  const std::string view = refusedView(message);
  if (view.empty()) return "";
  if (!isSchemaView(lowered(view))) {
    return fmt::format("The view {} is not used: anybody can have written what views a file holds.", view);
  }
  return fmt::format(
      "The view main.{} is not used, because anybody can have written what views a file holds: name it {} or temp.{}, "
      "which is Plumbline's.",
      view, view, view);
}

Status checkNamesAreOurs(Database& database, std::string_view statement) {
  auto foreign = foreignTables(database);
  if (!foreign.ok()) return foreign.error();
  if (foreign.value().empty()) return Unit{};
  const std::string own = withoutQualified(std::string(statement));
  if (lowered(own).starts_with("pragma")) return Unit{};  // reads no table; the word alone would name all views
  const auto views = SchemaViews().scriptFor(own);
  if (!views.ok()) return views.error();
  std::string hidden;
  forEachWord(withoutQualified(own + "\n" + views.value()), [&](std::string_view word) {
    if (hidden.empty() && foreign.value().count(std::string(word)) > 0) {
      const auto isFunction = isTableFunction(database, word);
      if (isSchemaView(word) || isTableOfTheFile(word) || (isFunction.ok() && isFunction.value())) hidden = word;
    }
  });
  if (hidden.empty()) return Unit{};
  return Error{fmt::format(
      "The temporary {} {} of this connection, which is not Plumbline's, hides the {} of that name that this reads: "
      "rename it or drop it.",
      foreign.value().at(hidden), hidden, isSchemaView(hidden) ? "view" : "table")};
}

}  // namespace plumb
