// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/address_matcher.h"

#include <algorithm>

namespace plumb::recorder {

std::vector<AddressMatcher::Closed> AddressMatcher::advance(int64_t upToNs) {
  std::vector<Closed> closed;
  if (m_events.empty()) return closed;
  std::stable_sort(m_events.begin(), m_events.end(),
                   [](const Event& a, const Event& b) { return a.timeNs < b.timeNs; });
  auto last = std::find_if(m_events.begin(), m_events.end(), [&](const Event& event) { return event.timeNs > upToNs; });
  if (static_cast<size_t>(m_events.end() - last) > kMaxWaiting) last = m_events.end() - kMaxWaiting / 2;
  for (auto event = m_events.begin(); event != last; ++event) {
    if (event->id != 0) {
      if (m_liveCount < kMaxLive) {
        m_live[event->address].push_back(event->id);
        ++m_liveCount;
      }
      continue;
    }
    const auto live = m_live.find(event->address);
    if (live == m_live.end()) {
      ++m_unknownEnds;
      continue;
    }
    closed.push_back({live->second.back(), event->timeNs, event->correlation});
    live->second.pop_back();
    --m_liveCount;
    if (live->second.empty()) m_live.erase(live);
  }
  m_events.erase(m_events.begin(), last);
  return closed;
}

}  // namespace plumb::recorder
