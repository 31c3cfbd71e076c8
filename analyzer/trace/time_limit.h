// SPDX-License-Identifier: Apache-2.0
// Stops statements that run too long, for those that somebody else wrote, or that nobody waits for any more.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "analyzer/trace/database.h"

namespace plumb {

// Statements that run while it lives end with an error once the time is up, or when goOn (empty: always) says false. It
// takes the database's whileReading().
class TimeLimit {
 public:
  TimeLimit(Database& database, std::chrono::milliseconds limit, std::function<bool()> goOn = {});
  ~TimeLimit();
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

  [[nodiscard]] bool isOver() const { return *m_isOver; }
  // "it ran longer than 60 s and was stopped", without a full stop
  [[nodiscard]] std::string sentence() const;

 private:
  Database& m_database;
  std::chrono::milliseconds m_limit;
  std::shared_ptr<bool> m_isOver;
};

}  // namespace plumb
