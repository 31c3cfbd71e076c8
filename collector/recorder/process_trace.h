// SPDX-License-Identifier: Apache-2.0
// One recorded process: takes its records in the order of its rings, routes each to what assembles or stores it, holds
// back what cannot be stored yet, and closes everything when the process is gone.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "collector/api/records.h"
#include "collector/recorder/process_rows.h"
#include "collector/recorder/session.h"
#include "collector/transport/protocol.h"

namespace plumb::recorder {

class ProcessTrace {
 public:
  // Writes the rows of the process and its variables.
  ProcessTrace(Session& session, const transport::Hello& hello, uint32_t ringCount);

  // Well-formed records (transport/record_check.h) of one ring, in their order.
  void accept(uint32_t ring, std::span<const std::byte> records);
  // What was noticed about the process from outside.
  void countProblem(Problem problem, uint64_t count) { m_rows.problems().add(problem, count); }
  // After each pass over the rings. nowNs: CLOCK_MONOTONIC_RAW, read before the pass.
  void settle(int64_t nowNs);

  enum class Ending { kGoodbye, kLost, kStillRunning };
  // All its records were accepted; nothing may be called afterwards.
  void finish(Ending ending, int64_t nowNs);

  [[nodiscard]] uint64_t lostCount() const { return m_rows.problems().count(Problem::kRingFull); }

 private:
  static constexpr size_t kMaxBytesWaitingForClock = 64u << 20;
  static constexpr size_t kMaxWaitingForText = 200'000;

  void dispatch(uint32_t ring, const RecordHeader& header);
  // Stores the record when its clock is covered and its texts are known, otherwise keeps a copy for settle().
  template <class Record>
  void offer(const Record& record);
  template <class Event, class... More>
  void storeOrWait(const Event& event, More... more);

  void route(const StringRecord& record);
  void route(const AllocationRecord& record);
  void route(const RangeBeginRecord& record, uint32_t ring);
  void route(const RangeEndRecord& record);
  void route(const PayloadFieldRecord& record, uint32_t ring);
  void route(const MemoryRegionRecord& record);
  void route(const MemoryRegionEndRecord& record);
  void route(const CollectiveRecord& record);
  void route(const CollectiveDetailRecord& record);

  void replayWaitingForClock();
  void retryWaitingForText();
  void matchAddresses(int64_t upToNs);
  void countAssemblerProblems();
  void writeProcess(std::optional<int64_t> endNs, std::optional<std::string_view> ended);
  [[nodiscard]] std::string describe() const;  // "rank 1 (pid 123)"

  Session& m_session;
  transport::Hello m_hello;
  int64_t m_id;
  ProcessRows m_rows;
  RangeAssembler m_ranges;
  CollectiveAssembler m_collectives;
  AddressMatcher m_allocations;
  AddressMatcher m_regions;
  std::vector<int64_t> m_lastRange;  // by ring: what a payload field would belong to; 0: nothing. One more than rings
  std::vector<std::byte> m_waitingForClock;  // records, one after the other
  std::vector<std::function<bool()>> m_waitingForText;
  size_t m_textsSeen = 0;
  int64_t m_lastMatchNs = 0;  // session time
  bool m_clockAdvanced = false;
  bool m_finishing = false;
};

}  // namespace plumb::recorder
