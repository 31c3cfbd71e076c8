// SPDX-License-Identifier: Apache-2.0
// SQL as text: where comments, texts and statements end.
#pragma once
#include <cstddef>
#include <string_view>

namespace plumb {

[[nodiscard]] constexpr bool mayBeginQuoted(char c) {
  return c == '-' || c == '/' || c == '\'' || c == '"' || c == '`' || c == '[';
}
// Where the comment, text or quoted name that begins at `at` ends; `at` when none does. Requires at < sql.size().
[[nodiscard]] size_t endOfQuoted(std::string_view sql, size_t at);
[[nodiscard]] inline size_t skipQuoted(std::string_view sql, size_t at) {
  return mayBeginQuoted(sql[at]) ? endOfQuoted(sql, at) : at;
}
// Behind the ';' of the statement at or behind `at` (blanks, comments and lone ';' go before it); the text's size when
// there is none.
[[nodiscard]] size_t endOfStatement(std::string_view sql, size_t at);

}  // namespace plumb
