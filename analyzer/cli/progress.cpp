// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/progress.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "analyzer/cli/last_words.h"
#include "analyzer/cli/text.h"

namespace plumb::cli {
namespace {

constexpr std::chrono::seconds kPatience{2};
constexpr std::chrono::milliseconds kBetween{200};

}  // namespace

double peakMegabytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

ShareLine::ShareLine() : m_isTerminal(::isatty(STDERR_FILENO) != 0) {}

void ShareLine::show(const std::string& what, uint64_t done, uint64_t size) {
  const Clock::time_point now = Clock::now();
  if (!m_isTerminal || (m_isShown && now - m_shown < kBetween / 2)) return;
  m_shown = now;
  m_isShown = true;
  const double share = size == 0 ? 1.0 : std::min(1.0, static_cast<double>(done) / static_cast<double>(size));
  tell(fmt::format("\r{}: {:3.0f} %, peak memory {:.0f} MB\x1b[K", escaped(what), 100 * share, peakMegabytes()));
}

void ShareLine::clear() {
  if (!m_isShown) return;
  m_isShown = false;
  tell("\r\x1b[K");
}

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
  tell(fmt::format("\r{} … {} s\x1b[K", m_what, seconds));
}

void Progress::clear() {
  if (!m_isShown) return;
  m_isShown = false;
  tell("\r\x1b[K");
}

}  // namespace plumb::cli
