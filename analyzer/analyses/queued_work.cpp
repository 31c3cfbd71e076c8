// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/queued_work.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace plumb {
namespace {

using InstanceKey = std::tuple<int64_t, StringId, int64_t>;  // communicator's hash, operation, sequence number

using WaitsByStream = std::unordered_map<StreamId, std::vector<TimePoint>>;

// The record's own time can be the device's, so the call's counts where the call is known.
Result<WaitsByStream> loadWaits(Trace& trace) {
  WaitsByStream waits;
  struct Wait {
    StreamId stream;
    TimePoint time;
  };
  std::map<std::pair<ProcessId, Correlation>, Wait> byCall;
  auto rows = trace.query(
      "SELECT process_id, correlation, stream_id, start_ns FROM main.synchronization WHERE kind = 2 AND stream_id IS "
      "NOT "
      "NULL");
  if (!rows.ok()) return rows.error();
  while (rows.value().next()) {
    byCall[{rows.value().id<ProcessId>(0), rows.value().id<Correlation>(1)}] = {rows.value().id<StreamId>(2),
                                                                                rows.value().time(3)};
  }
  if (const Status status = rows.value().status(); !status.ok()) return status.error();
  if (byCall.empty()) return waits;
  auto calls = trace.query(
      "SELECT process_id, correlation, start_ns FROM main.api_call WHERE name_id IN"
      " (SELECT id FROM main.string WHERE text GLOB '*StreamWaitEvent*')");
  if (!calls.ok()) return calls.error();
  while (calls.value().next()) {
    const auto wait = byCall.find({calls.value().id<ProcessId>(0), calls.value().id<Correlation>(1)});
    if (wait != byCall.end()) wait->second.time = calls.value().time(2);
  }
  if (const Status status = calls.value().status(); !status.ok()) return status.error();
  for (const auto& [call, wait] : byCall) waits[wait.stream].push_back(wait.time);
  for (auto& [stream, times] : waits) std::sort(times.begin(), times.end());
  return waits;
}

using ArrivalsByCall = std::unordered_map<ProcessId, std::unordered_map<Correlation, TimePoint>>;

Result<ArrivalsByCall> loadArrivals(Trace& trace, const std::vector<DeviceTimeline>& timelines) {
  ArrivalsByCall arrivals;
  std::map<std::pair<ProcessId, int64_t>, InstanceKey> byExternal;
  auto rows = trace.query(
      "SELECT c.process_id, c.external_id, m.hash, c.operation_id, c.sequence FROM main.collective c"
      " JOIN main.communicator m ON m.id = c.communicator_id WHERE c.sequence >= 0 AND c.external_id IS NOT NULL");
  if (!rows.ok()) return rows.error();
  while (rows.value().next()) {
    Statement& row = rows.value();
    byExternal[{row.id<ProcessId>(0), row.integer(1)}] = {row.integer(2), row.id<StringId>(3), row.integer(4)};
  }
  if (const Status status = rows.value().status(); !status.ok()) return status.error();
  if (byExternal.empty()) return arrivals;
  std::map<std::pair<ProcessId, Correlation>, InstanceKey> byCall;
  auto links = trace.query("SELECT process_id, external_id, correlation FROM main.correlation_link");
  if (!links.ok()) return links.error();
  while (links.value().next()) {
    const auto instance = byExternal.find({links.value().id<ProcessId>(0), links.value().integer(1)});
    if (instance != byExternal.end())
      byCall[{instance->first.first, links.value().id<Correlation>(2)}] = instance->second;
  }
  if (const Status status = links.value().status(); !status.ok()) return status.error();
  struct Last {
    ProcessId process;
    TimePoint time;
    std::optional<TimePoint> ofOthers;  // but that process
  };
  std::map<InstanceKey, Last> last;
  for (const DeviceTimeline& timeline : timelines) {
    for (const DeviceEvent& event : timeline.events) {
      if (event.table != WorkKind::Kernel || event.kind != GpuEventKind::Communication) continue;
      const auto call = byCall.find({timeline.process, event.correlation});
      if (call == byCall.end()) continue;
      const TimePoint arrival = event.time.start;
      const auto [known, isNew] = last.try_emplace(call->second, Last{timeline.process, arrival, {}});
      Last& mine = known->second;
      if (isNew) continue;
      if (mine.process == timeline.process) {
        mine.time = std::max(mine.time, arrival);
      } else if (arrival > mine.time) {
        mine = {timeline.process, arrival, mine.time};
      } else {
        mine.ofOthers = std::max(mine.ofOthers.value_or(arrival), arrival);
      }
    }
  }
  for (const auto& [call, instance] : byCall) {
    const auto found = last.find(instance);
    if (found == last.end()) continue;
    const Last& one = found->second;
    const std::optional<TimePoint> peers = one.process == call.first ? one.ofOthers : std::optional(one.time);
    if (peers) arrivals[call.first][call.second] = *peers;
  }
  return arrivals;
}

}  // namespace

Result<QueuedWork> QueuedWork::load(Trace& trace, const std::vector<DeviceTimeline>& timelines) {
  QueuedWork result;
  auto waits = loadWaits(trace);
  if (!waits.ok()) return waits.error();
  result.m_waits = std::move(waits).value();
  auto arrivals = loadArrivals(trace, timelines);
  if (!arrivals.ok()) return arrivals.error();
  result.m_arrivals = std::move(arrivals).value();
  return result;
}

bool QueuedWork::waitsForEvent(StreamId stream, TimePoint after, TimePoint until) const {
  const auto waits = m_waits.find(stream);
  if (waits == m_waits.end()) return false;
  const auto first = std::lower_bound(waits->second.begin(), waits->second.end(), after);
  return first != waits->second.end() && *first <= until;
}

std::optional<TimePoint> QueuedWork::lastPeerArrival(ProcessId process, Correlation correlation) const {
  const auto calls = m_arrivals.find(process);
  if (calls == m_arrivals.end()) return std::nullopt;
  const auto arrival = calls->second.find(correlation);
  return arrival == calls->second.end() ? std::nullopt : std::optional(arrival->second);
}

}  // namespace plumb
