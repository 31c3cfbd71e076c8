// SPDX-License-Identifier: Apache-2.0
// What SQLite says went wrong, in words that say what to do.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

struct sqlite3;

namespace plumb {

// Of the connection's last error; `file`: its main file.
[[nodiscard]] std::string errorSentence(sqlite3* handle, const std::string& file);
// The line and column of a byte of the text, counted from 1.
[[nodiscard]] std::string positionIn(std::string_view sql, size_t offset);
// Where in its text the last statement is wrong; -1 when SQLite does not say.
[[nodiscard]] int errorOffset(sqlite3* handle);

}  // namespace plumb
