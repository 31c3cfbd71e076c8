// SPDX-License-Identifier: Apache-2.0
// SQL for tests: every row as texts, NULL as "NULL". Throws std::runtime_error with SQLite's message.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

struct sqlite3;

namespace plumb::test {

class Database {
 public:
  explicit Database(const std::string& path);  // read-only
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  using Row = std::vector<std::string>;
  std::vector<Row> rows(const std::string& sql, const std::map<std::string, int64_t>& parameters = {}) const;
  // The first column of the only row.
  std::string text(const std::string& sql, const std::map<std::string, int64_t>& parameters = {}) const;
  int64_t number(const std::string& sql, const std::map<std::string, int64_t>& parameters = {}) const;

 private:
  sqlite3* m_connection = nullptr;
};

}  // namespace plumb::test
