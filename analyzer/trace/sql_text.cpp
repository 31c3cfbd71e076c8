// SPDX-License-Identifier: Apache-2.0
#include "analyzer/trace/sql_text.h"

namespace plumb {

size_t endOfQuoted(std::string_view sql, size_t at) {
  const auto after = [&](std::string_view mark, size_t from) {
    const size_t found = sql.find(mark, from);
    return found == std::string_view::npos ? sql.size() : found + mark.size();
  };
  if (sql.substr(at, 2) == "--") return after("\n", at);
  if (sql.substr(at, 2) == "/*") return after("*/", at + 2);
  if (sql[at] == '[') return after("]", at + 1);
  if (sql[at] == '\'' || sql[at] == '"' || sql[at] == '`') return after(sql.substr(at, 1), at + 1);
  return at;
}

size_t endOfStatement(std::string_view sql, size_t at) {
  bool hasBegun = false;
  while (at < sql.size()) {
    if (const size_t end = skipQuoted(sql, at); end != at) {
      hasBegun |= sql[at] != '-' && sql[at] != '/';
      at = end;
      continue;
    }
    const char c = sql[at++];
    if (c == ';' && hasBegun) return at;
    hasBegun |= c != ';' && c != ' ' && c != '\t' && c != '\r' && c != '\n';
  }
  return at;
}

}  // namespace plumb
