// SPDX-License-Identifier: Apache-2.0
// Says on a terminal's standard error that a long answer is on its way.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

#include "analyzer/trace/database.h"

namespace plumb::cli {

// One line that says how much of a file has been done, for import, merge and pack: "run.json: 42 %, peak memory 80 MB".
// Nothing when standard error is no terminal.
class ShareLine {
 public:
  ShareLine();
  ~ShareLine() { clear(); }
  ShareLine(const ShareLine&) = delete;
  ShareLine& operator=(const ShareLine&) = delete;
  [[nodiscard]] bool isTerminal() const { return m_isTerminal; }
  void show(const std::string& what, uint64_t done, uint64_t size);
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  bool m_isTerminal, m_isShown = false;
  Clock::time_point m_shown;
};

// Of this process until now.
[[nodiscard]] double peakMegabytes();

// While it lives, a line with what is being done and for how long, from two seconds on; nothing when standard error is
// no terminal. It moves as long as the database reads.
class Progress {
 public:
  explicit Progress(Database& database);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void begin(std::string what) { m_what = std::move(what); }
  // Takes the line away, before something is printed.
  void clear();

 private:
  void show();
  using Clock = std::chrono::steady_clock;
  Database& m_database;
  bool m_isTerminal;
  std::string m_what;
  Clock::time_point m_start, m_shown;
  bool m_isShown = false;
};

}  // namespace plumb::cli
