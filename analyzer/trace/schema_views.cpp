// SPDX-License-Identifier: Apache-2.0
#include "analyzer/trace/schema_views.h"

#include <algorithm>
#include <array>
#include <utility>

#include "analyzer/trace/sql_text.h"
#include "collector/schema/schema.h"

namespace plumb {
namespace {

constexpr size_t kLongestName = 64;  // of what is looked for

struct Catalog {
  std::vector<std::string_view> definitions;  // "kernels AS SELECT …;"
  std::unordered_map<std::string, size_t> byName;
};

bool isWordCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' || c < 0;
}

std::string lowered(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

// The words of text that has no comments.
void forEachPlainWord(std::string_view text, const std::function<void(std::string_view)>& take) {
  std::array<char, kLongestName> word;
  for (size_t at = 0; at < text.size(); ++at) {
    if (!isWordCharacter(text[at])) continue;
    size_t length = 0;
    for (; at < text.size() && isWordCharacter(text[at]); ++at, ++length) {
      const char c = text[at];
      if (length < word.size()) word[length] = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    if (length <= word.size()) take({word.data(), length});
  }
}

const Catalog& catalog() {
  static const Catalog kCatalog = [] {
    constexpr std::string_view kCreate = "CREATE VIEW ", kEnd = ";\n";
    const std::string_view all = schema::viewsSql();
    Catalog made;
    for (size_t at = 0; (at = all.find(kCreate, at)) != std::string_view::npos;) {
      at += kCreate.size();
      const size_t end = std::min(all.find(kEnd, at), all.size() - 1) + 1;
      const std::string_view definition = all.substr(at, end - at);
      made.byName.emplace(lowered(definition.substr(0, definition.find(' '))), made.definitions.size());
      made.definitions.push_back(definition);
      at = end;
    }
    return made;
  }();
  return kCatalog;
}

}  // namespace

void forEachWord(std::string_view sql, const std::function<void(std::string_view)>& take) {
  size_t from = 0;  // of what has no comments
  for (size_t at = 0; at < sql.size();) {
    const char c = sql[at];
    const size_t end = skipQuoted(sql, at);
    if (end == at) {
      ++at;
      continue;
    }
    if (c == '-' || c == '/') {
      forEachPlainWord(sql.substr(from, at - from), take);
      from = end;
    }
    at = end;
  }
  forEachPlainWord(sql.substr(from), take);
}

bool isSchemaView(std::string_view name) { return catalog().byName.count(std::string(name)) > 0; }

bool isAsTheSchemaHasIt(std::string_view name, std::string_view sql) {
  const auto view = catalog().byName.find(std::string(name));
  if (view == catalog().byName.end()) return false;
  constexpr std::string_view kCreate = "CREATE VIEW ";
  return sql.starts_with(kCreate) && catalog().definitions[view->second].starts_with(sql.substr(kCreate.size()));
}

SchemaViews::SchemaViews() : m_isMade(catalog().definitions.size()) {}

Status SchemaViews::addTable(std::string_view name, std::string sql, std::function<Status()> add) {
  const bool isWord = name.size() <= kLongestName && std::ranges::all_of(name, isWordCharacter);
  if (isWord) {
    m_tables[lowered(name)] = {std::move(sql), std::move(add)};
    return Unit{};
  }
  m_alwaysRead += sql + '\n';
  return add();
}

Result<std::string> SchemaViews::scriptFor(std::string_view statement) {
  std::string script;
  for (const size_t view : std::exchange(m_forgotten, {})) make(view, script);
  visit(std::exchange(m_alwaysRead, {}), script);
  visit(statement, script);
  return finished(std::move(script));
}

Result<std::string> SchemaViews::scriptForAll() {
  std::string script;
  makeAll(script);
  return finished(std::move(script));
}

void SchemaViews::forget() {
  for (size_t view = 0; view < m_isMade.size(); ++view) {
    if (m_isMade[view]) m_forgotten.push_back(view);
    m_isMade[view] = false;
  }
}

Result<std::string> SchemaViews::finished(std::string script) {
  if (!m_failed.ok()) return m_failed.error();
  return script;
}

void SchemaViews::visit(std::string_view sql, std::string& script) {
  forEachWord(sql, [&](std::string_view word) {
    const std::string name(word);
    if (const auto view = catalog().byName.find(name); view != catalog().byName.end()) make(view->second, script);
    // What lists the names there are must find all of them.
    if (word.starts_with("sqlite_") || word.starts_with("pragma")) makeAll(script);
    const auto table = m_tables.extract(name);
    if (table.empty()) return;
    if (const Status added = table.mapped().add(); !added.ok()) m_failed = added;
    visit(table.mapped().sql, script);
  });
}

void SchemaViews::makeAll(std::string& script) {
  for (size_t view = 0; view < m_isMade.size(); ++view) make(view, script);
}

void SchemaViews::make(size_t view, std::string& script) {
  if (m_isMade[view]) return;
  m_isMade[view] = true;
  const std::string_view definition = catalog().definitions[view];
  script += "CREATE TEMP VIEW IF NOT EXISTS ";
  script += definition;
  script += '\n';
  visit(definition, script);
}

}  // namespace plumb
