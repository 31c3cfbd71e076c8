// SPDX-License-Identifier: Apache-2.0
// The programs of one torch.profiler file that does not say whose its events are. One as a rule; where someone put the
// traces of several ranks into one file, each has its own pid, calls and GPU work.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/import/chrome_event.h"

namespace plumb::import {

class ChromePrograms {
 public:
  // The program that the event is of, from 0, in the order of the file. A new one is the last one + 1.
  [[nodiscard]] size_t indexOf(const ChromeEvent& event);

  // Of the programs that are told apart, at most one where the file is of one.
  [[nodiscard]] const std::vector<std::string>& pids() const noexcept { return m_pids; }
  // Of those that are not: their events come mixed, so nothing says whose work on a device is.
  [[nodiscard]] const std::vector<std::string>& mixedPids() const noexcept { return m_mixedPids; }
  // They were told apart, but then their events came mixed all the same.
  [[nodiscard]] bool areDoubtful() const noexcept { return m_isMixedLater; }

 private:
  [[nodiscard]] size_t ofNewPid(const ChromeEvent& event, bool isCall, int64_t latestBefore);
  void noteDevice(std::string_view pid);
  [[nodiscard]] bool isDevice(std::string_view pid) const;

  size_t m_current = 0;
  std::string m_currentPid;              // whose calls come now
  std::vector<std::string> m_pids;       // by program
  std::vector<std::string> m_mixedPids;  // of program 0 beside its own
  std::vector<std::string> m_devices;
  int64_t m_latestStart = INT64_MIN;
  bool m_isMixedLater = false;
};

}  // namespace plumb::import
