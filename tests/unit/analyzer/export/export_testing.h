// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/unit/analyzer/testing.h"

namespace plumb::test {

// A folder of one test, removed with what is in it.
class Folder {
 public:
  Folder() {
    std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    std::ranges::replace(name, '/', '.');  // of one of a parameterized test
    m_path = std::filesystem::temp_directory_path() / ("plumb-export." + std::to_string(getpid()) + "." + name);
    std::filesystem::remove_all(m_path);
    std::filesystem::create_directories(m_path);
  }
  ~Folder() { std::filesystem::remove_all(m_path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return (m_path / name).string(); }

 private:
  std::filesystem::path m_path;
};

inline std::string contentOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Every row as one text, its values separated by '|'; NULL as "-".
inline std::vector<std::string> rowsOf(Trace& trace, const std::string& sql) {
  Statement row = valueOf(trace.query(sql));
  std::vector<std::string> rows;
  while (row.next()) {
    std::string text;
    for (int i = 0; i < row.columnCount(); ++i) {
      text += (i == 0 ? "" : "|") + (row.isNull(i) ? std::string("-") : std::string(row.text(i)));
    }
    rows.push_back(std::move(text));
  }
  valueOf(Result<Unit>(row.status()));
  return rows;
}

// A trace whose rows are given in SQL; text('x') is the id of a text.
inline void makeTrace(const std::string& path, const std::vector<std::string>& statements) {
  TraceBuilder builder(path);
  const OneRank rank(builder);
  for (const std::string& statement : statements) {
    std::string sql = statement;
    for (size_t at = sql.find("text("); at != std::string::npos; at = sql.find("text(", at)) {
      const size_t end = sql.find(')', at);
      const std::string text = sql.substr(at + 5, end - at - 5);
      builder.execute(
          fmt::format("INSERT INTO string(text) SELECT {0} WHERE {0} NOT IN (SELECT text FROM string)", text));
      sql.replace(at, end + 1 - at, fmt::format("(SELECT id FROM string WHERE text = {})", text));
    }
    builder.execute(sql);
  }
}

}  // namespace plumb::test
