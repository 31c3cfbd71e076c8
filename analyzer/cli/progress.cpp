// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace plumb::cli {
namespace {

constexpr std::chrono::seconds kPatience{2};
constexpr std::chrono::milliseconds kBetween{200};

}  // namespace

Progress::Progress(Database& database)
    : m_database(database), m_isTerminal(::isatty(STDERR_FILENO) != 0), m_start(Clock::now()), m_shown(m_start) {
  if (m_isTerminal) m_database.whileReading([this] { show(); });
}

Progress::~Progress() {
  if (m_isTerminal) m_database.whileReading({});
  clear();
}

void Progress::show() {
  const Clock::time_point now = Clock::now();
  if (now - m_start < kPatience || now - m_shown < kBetween) return;
  m_shown = now;
  m_isShown = true;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - m_start).count();
  fmt::print(stderr, "\r{} … {} s\x1b[K", m_what, seconds);
  std::fflush(stderr);
}

void Progress::clear() {
  if (!m_isShown) return;
  m_isShown = false;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
}

}  // namespace plumb::cli
