// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/chrome_programs.h"

#include <algorithm>
#include <charconv>

#include "analyzer/import/chrome_rows.h"

namespace plumb::import {
namespace {

constexpr size_t kMostPrograms = 4096;
constexpr size_t kMostDevices = 4096;

// Ranges on devices can be a program's by their category (old traces), and Python's root is drawn on pid 0.
bool looksLikeDevice(std::string_view pid) {
  constexpr int64_t kMostDevicesOfAHost = 64;
  int64_t number = 0;
  const auto [at, error] = std::from_chars(pid.data(), pid.data() + pid.size(), number);
  return error == std::errc() && at == pid.data() + pid.size() && number < kMostDevicesOfAHost;
}

}  // namespace

void ChromePrograms::noteDevice(std::string_view pid) {
  if (!isDevice(pid) && m_devices.size() < kMostDevices) m_devices.emplace_back(pid);
}

bool ChromePrograms::isDevice(std::string_view pid) const {
  return std::ranges::find(m_devices, pid) != m_devices.end();
}

size_t ChromePrograms::indexOf(const ChromeEvent& event) {
  const int64_t latestBefore = m_latestStart;
  if (event.phase == 'X' && event.startNs) m_latestStart = std::max(latestBefore, *event.startNs);
  if (event.pid == m_currentPid) return m_current;
  const auto known = std::ranges::find(m_pids, event.pid);
  const bool isKnown = known != m_pids.end();
  if (!isKnown && isDevice(event.pid)) return m_current;
  const ChromeRows::Side side = ChromeRows::sideOf(event);
  if (side == ChromeRows::Side::Device) {  // which may have the number of a program
    if (!isKnown) noteDevice(event.pid);
    return m_current;
  }
  if (isKnown) {
    const auto index = static_cast<size_t>(known - m_pids.begin());
    if (side != ChromeRows::Side::Call) return index;
    m_isMixedLater = true;
    m_current = index;
    m_currentPid = event.pid;
    return index;
  }
  if (side == ChromeRows::Side::Any) return m_current;
  return ofNewPid(event, side == ChromeRows::Side::Call, latestBefore);
}

// Traces that were joined end to end go back in time where the next one begins, and what is behind that is all of the
// next. In a file that someone sorted by time a device's work may be of any of them.
size_t ChromePrograms::ofNewPid(const ChromeEvent& event, bool isCall, int64_t latestBefore) {
  const bool isFirst = m_pids.empty(), goesBack = event.startNs && *event.startNs < latestBefore;
  // A range is the first event of many a trace, and alone makes no program.
  if (!isCall && (isFirst || !goesBack || looksLikeDevice(event.pid))) return m_current;
  if (std::ranges::find(m_mixedPids, event.pid) != m_mixedPids.end()) return m_current;
  if (!isFirst && (!goesBack || m_pids.size() >= kMostPrograms)) {
    if (m_mixedPids.size() < kMostPrograms) m_mixedPids.emplace_back(event.pid);
    return m_current;
  }
  m_current = m_pids.size();
  m_pids.emplace_back(event.pid);
  m_currentPid = event.pid;
  return m_current;
}

}  // namespace plumb::import
