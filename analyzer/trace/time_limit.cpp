// SPDX-License-Identifier: Apache-2.0
#include "analyzer/trace/time_limit.h"

#include <fmt/format.h>

#include <utility>

namespace plumb {

TimeLimit::TimeLimit(Database& database, std::chrono::milliseconds limit, std::function<bool()> goOn)
    : m_database(database), m_limit(limit), m_isOver(std::make_shared<bool>(false)) {
  const auto end = std::chrono::steady_clock::now() + limit;
  m_database.whileReading([&database, end, goOn = std::move(goOn), isOver = m_isOver] {
    const bool isInTime = std::chrono::steady_clock::now() < end;
    if (isInTime && (!goOn || goOn())) return;
    *isOver = !isInTime;
    database.interrupt();
  });
}

TimeLimit::~TimeLimit() { m_database.whileReading({}); }

std::string TimeLimit::sentence() const {
  return fmt::format("it ran longer than {:g} s and was stopped", static_cast<double>(m_limit.count()) / 1000);
}

}  // namespace plumb
