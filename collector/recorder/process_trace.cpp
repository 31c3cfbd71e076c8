// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/process_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "collector/recorder/safe_math.h"
#include "collector/transport/record_check.h"

namespace plumb::recorder {

namespace {

// Begins and ends at an address are matched when every ring has surely brought what is older.
constexpr int64_t kMatchDelayNs = 1'000'000'000;
constexpr int64_t kMatchPeriodNs = 100'000'000;

// The time that must be covered by a clock pair; a record without one is always covered.
template <class Record>
int64_t latestTime(const Record& record) {
  if constexpr (requires { record.end_ns; }) {
    return std::max(record.start_ns, record.end_ns);
  } else if constexpr (requires { record.time_ns; }) {
    return record.time_ns;
  } else {
    return 0;
  }
}

}  // namespace

ProcessTrace::ProcessTrace(Session& session, const transport::Hello& hello, uint32_t ringCount)
    : m_session(session),
      m_hello(hello),
      m_id(session.writer.nextId<ProcessRow>()),
      m_rows(session, m_id),
      m_lastRange(ringCount + size_t{1}, 0) {
  writeProcess(std::nullopt, std::nullopt);
  for (const auto& [name, value] : hello.variables) {
    m_session.writer.insert(ProcessVariableRow{
        .process_id = m_id, .name_id = m_session.strings.idOf(name), .value_id = m_session.strings.idOf(value)});
  }
}

void ProcessTrace::writeProcess(std::optional<int64_t> endNs, std::optional<std::string_view> ended) {
  const auto known = [](int32_t value) {
    return value == transport::kUnknownRank ? std::nullopt : std::optional<int64_t>(value);
  };
  m_session.writer.replace(ProcessRow{.id = m_id,
                                      .pid = m_hello.fixed.pid,
                                      .parent_pid = m_hello.fixed.parent_pid,
                                      .host_id = m_session.strings.idOf(m_hello.host),
                                      .program_id = m_session.strings.idOf(m_hello.program),
                                      .command_id = m_session.strings.idOf(m_hello.command),
                                      .rank = known(m_hello.fixed.rank),
                                      .local_rank = known(m_hello.fixed.local_rank),
                                      .world_size = known(m_hello.fixed.world_size),
                                      .start_ns = m_hello.fixed.monotonic_ns - m_session.startMonotonicNs,
                                      .end_ns = endNs,
                                      .ended = ended});
}

std::string ProcessTrace::describe() const {
  if (m_hello.fixed.rank == transport::kUnknownRank)
    return fmt::format("{} (pid {})", m_hello.program, m_hello.fixed.pid);
  return fmt::format("rank {} (pid {})", m_hello.fixed.rank, m_hello.fixed.pid);
}

void ProcessTrace::accept(uint32_t ring, std::span<const std::byte> records) {
  transport::forEachRecord(records, [&](const RecordHeader& header) { dispatch(ring, header); });
}

void ProcessTrace::dispatch(uint32_t ring, const RecordHeader& header) {
  using transport::recordAs;
  switch (header.kind) {
    case RecordKind::kString:
      return route(recordAs<StringRecord>(header));
    case RecordKind::kPayloadField:
      return route(recordAs<PayloadFieldRecord>(header), ring);
    case RecordKind::kRangeBegin:
      return route(recordAs<RangeBeginRecord>(header), ring);
    default:
      break;
  }
  m_lastRange[ring] = 0;
  switch (header.kind) {
    case RecordKind::kThreadName:
      return offer(recordAs<ThreadNameRecord>(header));
    case RecordKind::kDevice:
      return offer(recordAs<DeviceRecord>(header));
    case RecordKind::kStream:
      return offer(recordAs<StreamRecord>(header));
    case RecordKind::kKernel:
      return offer(recordAs<KernelRecord>(header));
    case RecordKind::kMemoryCopy:
      return offer(recordAs<MemoryCopyRecord>(header));
    case RecordKind::kMemorySet:
      return offer(recordAs<MemorySetRecord>(header));
    case RecordKind::kApiCall:
      return offer(recordAs<ApiCallRecord>(header));
    case RecordKind::kSynchronization:
      return offer(recordAs<SynchronizationRecord>(header));
    case RecordKind::kAllocation:
      return offer(recordAs<AllocationRecord>(header));
    case RecordKind::kCorrelationLink:
      return offer(recordAs<CorrelationLinkRecord>(header));
    case RecordKind::kRangeEnd:
      return route(recordAs<RangeEndRecord>(header));
    case RecordKind::kMemoryRegion:
      return route(recordAs<MemoryRegionRecord>(header));
    case RecordKind::kMemoryRegionEnd:
      return route(recordAs<MemoryRegionEndRecord>(header));
    case RecordKind::kCommunicator:
      return offer(recordAs<CommunicatorRecord>(header));
    case RecordKind::kCollective:
      return route(recordAs<CollectiveRecord>(header));
    case RecordKind::kCollectiveDetail:
      return route(recordAs<CollectiveDetailRecord>(header));
    case RecordKind::kLibraryCall:
      return offer(recordAs<LibraryCallRecord>(header));
    case RecordKind::kCounterSample:
      return offer(recordAs<CounterSampleRecord>(header));
    case RecordKind::kClockPair:
      m_clockAdvanced = true;
      return offer(recordAs<ClockPairRecord>(header));
    case RecordKind::kPlugin:
      return offer(recordAs<PluginRecord>(header));
    case RecordKind::kDiagnostic:
      return offer(recordAs<DiagnosticRecord>(header));
    default:
      return m_rows.problems().add(Problem::kUnknownRecord);
  }
}

template <class Record>
void ProcessTrace::offer(const Record& record) {
  if (!m_finishing && !m_rows.clock().covers(record.header.clock, latestTime(record)) &&
      m_waitingForClock.size() < kMaxBytesWaitingForClock) {
    // A copy of the part that this version knows, with the size to match.
    Record copy = record;
    copy.header.size_bytes = sizeof(Record);
    const auto* bytes = reinterpret_cast<const std::byte*>(&copy);
    m_waitingForClock.insert(m_waitingForClock.end(), bytes, bytes + sizeof copy);
    return;
  }
  if constexpr (std::is_same_v<Record, AllocationRecord>) {
    route(record);
  } else {
    storeOrWait(record);
  }
}

template <class Event, class... More>
void ProcessTrace::storeOrWait(const Event& event, More... more) {
  if (m_rows.store(event, more...)) return;
  if (m_waitingForText.size() < kMaxWaitingForText) {
    m_waitingForText.emplace_back([this, event, more...] { return m_rows.store(event, more...); });
    return;
  }
  // More wait than can be kept: a name that is '?' is better than an event that is missing.
  m_rows.strings().acceptUnknown(true);
  if (!m_rows.store(event, more...)) m_rows.problems().add(Problem::kUnknownRecord);
  m_rows.strings().acceptUnknown(m_finishing);
}

void ProcessTrace::route(const StringRecord& record) { m_rows.strings().define(record.id, transport::textOf(record)); }

void ProcessTrace::route(const AllocationRecord& record) {
  if (record.space > MemorySpace::kDeviceStatic) return m_rows.problems().add(Problem::kUnknownRecord);
  const int64_t timeNs = m_rows.sessionTime(record.header, record.time_ns);
  if (record.is_free != 0) return m_allocations.end(timeNs, record.address, record.correlation);
  const auto id = m_session.writer.nextId<AllocationRow>();
  m_rows.storeAllocation(record, id);
  m_allocations.begin(timeNs, record.address, id);
}

void ProcessTrace::route(const RangeBeginRecord& record, uint32_t ring) {
  m_lastRange[ring] = 0;
  if (record.kind > RangeKind::kMark) return m_rows.problems().add(Problem::kUnknownRecord);
  const auto id = m_session.writer.nextId<RangeRow>();
  m_lastRange[ring] = id;
  for (const CompletedRange& range : m_ranges.abandonBefore(record)) storeOrWait(range);
  const auto completed = m_ranges.begin(record, m_rows.sessionTime(record.header, record.time_ns), id);
  if (completed) storeOrWait(*completed);
}

void ProcessTrace::route(const RangeEndRecord& record) {
  if (record.kind > RangeKind::kStartEnd) return m_rows.problems().add(Problem::kUnknownRecord);
  for (const CompletedRange& range : m_ranges.abandonBefore(record)) storeOrWait(range);
  const auto completed = m_ranges.end(record, m_rows.sessionTime(record.header, record.time_ns));
  if (completed) storeOrWait(*completed);
}

void ProcessTrace::route(const PayloadFieldRecord& record, uint32_t ring) {
  if (m_lastRange[ring] == 0) return m_rows.problems().add(Problem::kLostPayload);
  if (record.type > FieldType::kText) return m_rows.problems().add(Problem::kUnknownRecord);
  storeOrWait(RangePayload{record, m_lastRange[ring]});
}

void ProcessTrace::route(const MemoryRegionRecord& record) {
  const auto id = m_session.writer.nextId<MemoryRegionRow>();
  m_regions.begin(m_rows.sessionTime(record.header, record.time_ns), record.address, id);
  storeOrWait(record, id);
}

void ProcessTrace::route(const MemoryRegionEndRecord& record) {
  m_regions.end(m_rows.sessionTime(record.header, record.time_ns), record.address, 0);
}

void ProcessTrace::route(const CollectiveRecord& record) {
  if (const auto completed = m_collectives.add(record)) storeOrWait(*completed);
}

void ProcessTrace::route(const CollectiveDetailRecord& record) {
  if (const auto completed = m_collectives.add(record)) storeOrWait(*completed);
}

void ProcessTrace::settle(int64_t nowNs) {
  const int64_t sessionNowNs = nowNs - m_session.startMonotonicNs;
  m_rows.setNow(sessionNowNs);
  if (m_clockAdvanced) replayWaitingForClock();
  retryWaitingForText();
  if (sessionNowNs - m_lastMatchNs >= kMatchPeriodNs) {
    m_lastMatchNs = sessionNowNs;
    matchAddresses(saturatingSubtract(sessionNowNs, kMatchDelayNs));
  }
}

void ProcessTrace::replayWaitingForClock() {
  m_clockAdvanced = false;
  std::vector<std::byte> waiting;
  waiting.swap(m_waitingForClock);
  // As if from a ring of their own: what waits for a clock is never part of a range and its payload.
  const auto noRing = static_cast<uint32_t>(m_lastRange.size() - 1);
  transport::forEachRecord(waiting, [&](const RecordHeader& header) { dispatch(noRing, header); });
}

void ProcessTrace::retryWaitingForText() {
  const size_t texts = m_rows.strings().definedCount();
  if (m_waitingForText.empty() || (texts == m_textsSeen && !m_finishing)) return;
  m_textsSeen = texts;
  std::erase_if(m_waitingForText, [](const std::function<bool()>& store) { return store(); });
}

void ProcessTrace::matchAddresses(int64_t upToNs) {
  for (const AddressMatcher::Closed& closed : m_allocations.advance(upToNs)) m_rows.storeDeallocation(closed);
  for (const AddressMatcher::Closed& closed : m_regions.advance(upToNs)) m_rows.storeRegionEnd(closed);
}

void ProcessTrace::finish(Ending ending, int64_t nowNs) {
  const int64_t sessionNowNs = nowNs - m_session.startMonotonicNs;
  settle(nowNs);
  m_finishing = true;
  replayWaitingForClock();  // by extrapolation
  m_rows.acceptUnknown();
  retryWaitingForText();
  for (const CompletedRange& range : m_ranges.finish()) storeOrWait(range);
  for (const CompletedCollective& collective : m_collectives.finish()) storeOrWait(collective);
  matchAddresses(INT64_MAX);
  countAssemblerProblems();
  m_rows.problems().write(m_session.writer, m_id, sessionNowNs);

  if (ending == Ending::kLost) {
    writeDiagnostic(m_session.writer, m_id, sessionNowNs, "warning", "process_lost", 1,
                    describe() +
                        " ended without saying goodbye (killed, or by _exit); everything that it had published "
                        "is here.");
    writeProcess(std::nullopt, "lost");
  } else if (ending == Ending::kGoodbye) {
    writeProcess(sessionNowNs, "exit");
  } else {
    writeDiagnostic(m_session.writer, m_id, sessionNowNs, "warning", "still_running", 1,
                    describe() + " was still running when the recording was stopped.");
  }
}

void ProcessTrace::countAssemblerProblems() {
  Problems& problems = m_rows.problems();
  problems.add(Problem::kUnmatchedRangeEnd, m_ranges.unmatchedEnds());
  problems.add(Problem::kLostRangeEnd, m_ranges.lostEnds());
  problems.add(Problem::kLostRangeBegin, m_ranges.lostBegins());
  problems.add(Problem::kTooManyOpenRanges, m_ranges.overflows());
  problems.add(Problem::kOrphanedCollectiveDetail, m_collectives.orphanedDetails());
  problems.add(Problem::kUnknownFree, m_allocations.unknownEnds());
  problems.add(Problem::kUnknownRegionEnd, m_regions.unknownEnds());
  problems.add(Problem::kUnknownText, m_rows.strings().unknownCount());
}

}  // namespace plumb::recorder
