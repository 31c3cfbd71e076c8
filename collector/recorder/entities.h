// SPDX-License-Identifier: Apache-2.0
// The things of one process that events point at: threads, devices, streams, communicators. A row is made when an event
// first names the thing, and completed when the record that describes it comes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "collector/api/records.h"
#include "collector/recorder/roofs.h"
#include "collector/recorder/storage.h"
#include "collector/recorder/string_table.h"

namespace plumb::recorder {

class Entities {
 public:
  Entities(int64_t processId, Writer& writer, ProcessStrings& strings, const Roofs& roofs) noexcept
      : m_processId(processId), m_writer(writer), m_strings(strings), m_roofs(roofs) {}

  [[nodiscard]] int64_t thread(uint32_t tid);
  [[nodiscard]] int64_t device(uint32_t ordinal);
  [[nodiscard]] int64_t stream(uint32_t context, uint32_t number, std::optional<uint32_t> deviceOrdinal);

  struct Communicator {
    int64_t id;
    int32_t rankCount;
  };
  [[nodiscard]] std::optional<Communicator> communicator(uint64_t hash) const;

  // Each false when a text has not come yet: nothing was done, offer the record again later.
  [[nodiscard]] bool describe(const ThreadNameRecord& record);
  [[nodiscard]] bool describe(const DeviceRecord& record);
  [[nodiscard]] bool describe(const StreamRecord& record);
  [[nodiscard]] bool describe(const CommunicatorRecord& record);

 private:
  static constexpr size_t kMaxThings = 1'000'000;  // of each kind: more come only from corrupt records

  int64_t m_processId;
  Writer& m_writer;
  ProcessStrings& m_strings;
  const Roofs& m_roofs;
  std::unordered_map<uint32_t, int64_t> m_threads;
  std::unordered_map<uint32_t, int64_t> m_devices;  // by ordinal
  struct Stream {
    int64_t id;
    std::optional<int64_t> deviceId;
    StreamRecord described{};  // header.size_bytes 0: not yet
  };
  void writeStream(const Stream& stream, uint32_t context, uint32_t number, std::optional<int64_t> nameId);
  std::unordered_map<uint64_t, Stream> m_streams;  // by context and number
  std::unordered_map<uint64_t, Communicator> m_communicators;
  std::unordered_set<uint32_t> m_roofed;  // devices whose roofs are written
};

}  // namespace plumb::recorder
