// SPDX-License-Identifier: Apache-2.0
// From one process's records to rows: texts to ids, clocks to session time, tids to threads. Each store() is complete
// or does nothing: false means that a text (or the communicator) that the record names has not come yet; offer it
// again.
#pragma once
#include <cstdint>

#include "collector/api/records.h"
#include "collector/recorder/address_matcher.h"
#include "collector/recorder/clock_map.h"
#include "collector/recorder/collective_assembler.h"
#include "collector/recorder/entities.h"
#include "collector/recorder/problems.h"
#include "collector/recorder/range_assembler.h"
#include "collector/recorder/session.h"

namespace plumb::recorder {

struct RangePayload {
  PayloadFieldRecord field;
  int64_t rangeId;
};

class ProcessRows {
 public:
  ProcessRows(Session& session, int64_t processId);

  [[nodiscard]] bool store(const ThreadNameRecord& record) { return m_entities.describe(record); }
  [[nodiscard]] bool store(const DeviceRecord& record) { return m_entities.describe(record); }
  [[nodiscard]] bool store(const StreamRecord& record) { return m_entities.describe(record); }
  [[nodiscard]] bool store(const CommunicatorRecord& record) { return m_entities.describe(record); }
  [[nodiscard]] bool store(const KernelRecord& record);
  [[nodiscard]] bool store(const MemoryCopyRecord& record);
  [[nodiscard]] bool store(const MemorySetRecord& record);
  [[nodiscard]] bool store(const ApiCallRecord& record);
  [[nodiscard]] bool store(const SynchronizationRecord& record);
  [[nodiscard]] bool store(const CorrelationLinkRecord& record);
  [[nodiscard]] bool store(const LibraryCallRecord& record);
  [[nodiscard]] bool store(const CounterSampleRecord& record);
  [[nodiscard]] bool store(const ClockPairRecord& record);
  [[nodiscard]] bool store(const PluginRecord& record);
  [[nodiscard]] bool store(const DiagnosticRecord& record);
  [[nodiscard]] bool store(const CompletedRange& range);
  [[nodiscard]] bool store(const RangePayload& payload);
  [[nodiscard]] bool store(const CompletedCollective& collective);
  [[nodiscard]] bool store(const MemoryRegionRecord& record, int64_t id);
  void storeAllocation(const AllocationRecord& record, int64_t id);
  void storeDeallocation(const AddressMatcher::Closed& closed);
  void storeRegionEnd(const AddressMatcher::Closed& closed);

  // The time of an event of the host, in session time.
  [[nodiscard]] int64_t sessionTime(const RecordHeader& header, int64_t timeNs) const noexcept {
    return m_clock.toSession(header.clock, timeNs);
  }

  // nowNs: session time; events far after it have a broken time.
  void setNow(int64_t nowNs) noexcept { m_nowNs = nowNs; }
  // Nothing more will come: from now on every store() succeeds, with '?' for texts that never came.
  void acceptUnknown() noexcept;

  [[nodiscard]] ProcessStrings& strings() noexcept { return m_strings; }
  [[nodiscard]] ClockMap& clock() noexcept { return m_clock; }
  [[nodiscard]] Entities& entities() noexcept { return m_entities; }
  [[nodiscard]] Problems& problems() noexcept { return m_problems; }
  [[nodiscard]] const Problems& problems() const noexcept { return m_problems; }

 private:
  struct Time {
    int64_t startNs = 0;
    int64_t durationNs = 0;
    uint32_t flags = 0;
  };
  template <class DeviceEvent>
  [[nodiscard]] Time deviceTime(const DeviceEvent& event);
  template <class HostEvent>
  [[nodiscard]] Time hostTime(const HostEvent& event);
  [[nodiscard]] double number(double value) noexcept;
  [[nodiscard]] int64_t collectiveBytes(const CollectiveRecord& call, const std::optional<Entities::Communicator>& of,
                                        int64_t operationId, int64_t datatypeId);
  [[nodiscard]] std::string_view memoryCategory(const std::string& regionName) const;

  Session& m_session;
  int64_t m_processId;
  ProcessStrings m_strings;
  ClockMap m_clock;
  Entities m_entities;
  Problems m_problems;
  int64_t m_nowNs = 0;
  bool m_acceptUnknown = false;
};

}  // namespace plumb::recorder
