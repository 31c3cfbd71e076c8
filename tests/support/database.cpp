// SPDX-License-Identifier: Apache-2.0
#include "tests/support/database.h"

#include <sqlite3.h>

#include <stdexcept>

namespace plumb::test {

Database::Database(const std::string& path) {
  if (sqlite3_open_v2(path.c_str(), &m_connection, SQLITE_OPEN_READONLY, nullptr) != SQLITE_OK) {
    const std::string message = sqlite3_errmsg(m_connection);
    sqlite3_close(m_connection);
    throw std::runtime_error(path + ": " + message);
  }
  sqlite3_busy_timeout(m_connection, 5000);
}

Database::~Database() { sqlite3_close(m_connection); }

std::vector<Database::Row> Database::rows(const std::string& sql,
                                          const std::map<std::string, int64_t>& parameters) const {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(m_connection, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) {
    throw std::runtime_error(sqlite3_errmsg(m_connection));
  }
  for (const auto& [name, value] : parameters) {
    if (int index = sqlite3_bind_parameter_index(statement, name.c_str())) sqlite3_bind_int64(statement, index, value);
  }
  std::vector<Row> found;
  int state = SQLITE_ROW;
  while ((state = sqlite3_step(statement)) == SQLITE_ROW) {
    Row row;
    for (int column = 0; column < sqlite3_column_count(statement); ++column) {
      const auto* value = sqlite3_column_text(statement, column);
      row.emplace_back(value ? reinterpret_cast<const char*>(value) : "NULL");
    }
    found.push_back(std::move(row));
  }
  const std::string message = state == SQLITE_DONE ? "" : sqlite3_errmsg(m_connection);
  sqlite3_finalize(statement);
  if (!message.empty()) throw std::runtime_error(message);
  return found;
}

std::string Database::text(const std::string& sql, const std::map<std::string, int64_t>& parameters) const {
  const auto found = rows(sql, parameters);
  if (found.size() != 1) throw std::runtime_error("expected one row, got " + std::to_string(found.size()) + ": " + sql);
  return found[0].at(0);
}

int64_t Database::number(const std::string& sql, const std::map<std::string, int64_t>& parameters) const {
  return std::stoll(text(sql, parameters));
}

}  // namespace plumb::test
