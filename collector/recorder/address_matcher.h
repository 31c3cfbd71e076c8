// SPDX-License-Identifier: Apache-2.0
// Matches what ends at an address (free, unregister) to what began there: by address, in the order of time. Begins and
// ends come from several rings, so they are looked at only when they are older than what the rings can still bring.
#pragma once
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace plumb::recorder {

class AddressMatcher {
 public:
  struct Closed {
    int64_t id;  // of the begin
    int64_t timeNs;
    uint32_t correlation;
  };

  void begin(int64_t timeNs, uint64_t address, int64_t id) { m_events.push_back({timeNs, address, id, 0}); }
  void end(int64_t timeNs, uint64_t address, uint32_t correlation) {
    m_events.push_back({timeNs, address, 0, correlation});
  }

  // Matches all events up to a time; an end takes the newest live begin of its address.
  [[nodiscard]] std::vector<Closed> advance(int64_t upToNs);
  // Ends of addresses at which nothing lived: begun before the recording, or lost.
  [[nodiscard]] uint64_t unknownEnds() const noexcept { return m_unknownEnds; }

 private:
  static constexpr size_t kMaxWaiting = 500'000;
  static constexpr size_t kMaxLive = 5'000'000;  // ends of later begins stay unknown
  struct Event {
    int64_t timeNs;
    uint64_t address;
    int64_t id;  // 0: an end
    uint32_t correlation;
  };

  std::vector<Event> m_events;  // not looked at yet
  std::unordered_map<uint64_t, std::vector<int64_t>> m_live;
  size_t m_liveCount = 0;
  uint64_t m_unknownEnds = 0;
};

}  // namespace plumb::recorder
