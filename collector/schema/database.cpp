// SPDX-License-Identifier: Apache-2.0
#include "collector/schema/database.h"

#include <sqlite3.h>

namespace plumb::schema {

void CloseDatabase::operator()(sqlite3* database) const noexcept { sqlite3_close_v2(database); }
void FinalizeStatement::operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }

void Statement::bind(int64_t value) noexcept { sqlite3_bind_int64(m_statement.get(), ++m_bound, value); }
void Statement::bind(double value) noexcept { sqlite3_bind_double(m_statement.get(), ++m_bound, value); }
void Statement::bind(std::string_view value) noexcept {
  sqlite3_bind_text64(m_statement.get(), ++m_bound, value.data() != nullptr ? value.data() : "", value.size(),
                      SQLITE_STATIC, SQLITE_UTF8);
}
void Statement::bindNull() noexcept { sqlite3_bind_null(m_statement.get(), ++m_bound); }

bool Statement::run() noexcept {
  const int stepped = sqlite3_step(m_statement.get());
  sqlite3_reset(m_statement.get());
  m_bound = 0;
  return stepped == SQLITE_DONE || stepped == SQLITE_ROW;
}

bool Statement::next() noexcept { return sqlite3_step(m_statement.get()) == SQLITE_ROW; }

int64_t Statement::integer(int column) const noexcept { return sqlite3_column_int64(m_statement.get(), column); }

std::string Statement::text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(m_statement.get(), column));
  return text != nullptr ? std::string(text, static_cast<size_t>(sqlite3_column_bytes(m_statement.get(), column)))
                         : std::string();
}

Result<Database> Database::open(const std::string& path, Locking locking) {
  sqlite3* raw = nullptr;
  const int opened = sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
                                     locking == Locking::None ? "unix-none" : nullptr);
  Database database(raw);
  if (opened != SQLITE_OK) return Error{raw != nullptr ? sqlite3_errmsg(raw) : "out of memory"};
  sqlite3_busy_timeout(raw, 2000);
  return database;
}

Status Database::execute(const std::string& sql) {
  if (sqlite3_exec(m_database.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) return Error{lastError()};
  return Unit{};
}

Result<Statement> Database::prepare(const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v3(m_database.get(), sql.c_str(), -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr) !=
      SQLITE_OK) {
    return Error{lastError()};
  }
  return Statement(statement);
}

std::string Database::queryText(const std::string& sql) {
  auto statement = prepare(sql);
  if (!statement.ok() || !statement.value().next()) return {};
  return statement.value().text(0);
}

std::string Database::lastError() const { return sqlite3_errmsg(m_database.get()); }

bool Database::isBusy() const { return sqlite3_errcode(m_database.get()) == SQLITE_BUSY; }

bool Database::isConstraintViolation() const { return sqlite3_errcode(m_database.get()) == SQLITE_CONSTRAINT; }

}  // namespace plumb::schema
