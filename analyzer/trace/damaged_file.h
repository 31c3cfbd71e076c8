// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fmt/format.h>

#include <string>
#include <string_view>

namespace plumb {

// What saves the readable rows of a damaged SQLite file, as the end of a sentence.
inline std::string recoverSentence(std::string_view file) {
  return fmt::format(
      "`sqlite3 {} .recover | sqlite3 rescued.sqlite` saves what it holds (with the sqlite3 of sqlite.org; Debian's "
      "cannot .recover).",
      file);
}

}  // namespace plumb
