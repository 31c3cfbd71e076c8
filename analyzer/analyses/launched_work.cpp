// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/launched_work.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace plumb {
namespace {

constexpr int64_t kNoUsableTime = 1;  // event flag

bool comesBefore(const HostCall& a, const HostCall& b) {
  return std::tie(a.correlation, a.time.start, b.time.end) < std::tie(b.correlation, b.time.start, a.time.end);
}

}  // namespace

Result<HostCallIndex> HostCallIndex::load(Trace& trace) {
  HostCallIndex index;
  auto rows = trace.query(
      "SELECT process_id, correlation, thread_id, name_id, start_ns, duration_ns FROM main.api_call"
      " WHERE correlation <> 0");
  if (!rows.ok()) return rows.error();
  Statement& row = rows.value();
  Calls* calls = nullptr;
  ProcessId process;
  while (row.next()) {
    if (!isUsableTime(row.integer(4), row.integer(5))) continue;
    if (!calls || process != row.id<ProcessId>(0)) {
      process = row.id<ProcessId>(0);
      calls = &index.m_calls[process];
    }
    calls->sorted.push_back(
        {row.id<Correlation>(1), row.id<ThreadId>(2), row.id<StringId>(3), intervalOf(row.integer(4), row.integer(5))});
  }
  if (const Status status = row.status(); !status.ok()) return status.error();
  for (auto& [id, of] : index.m_calls) {
    if (!std::is_sorted(of.sorted.begin(), of.sorted.end(), comesBefore)) {
      std::sort(of.sorted.begin(), of.sorted.end(), comesBefore);
    }
  }
  return index;
}

const HostCall* HostCallIndex::find(ProcessId process, Correlation correlation) const {
  const auto found = m_calls.find(process);
  if (found == m_calls.end()) return nullptr;
  const std::vector<HostCall>& calls = found->second.sorted;
  // Ids mostly come in the order of the file: look near the last answer before searching everything.
  size_t low = found->second.hint, high = calls.size();
  if (low >= calls.size() || correlation < calls[low].correlation) {
    high = low;
    low = 0;
  }
  for (size_t step = 1; low + step < high; step *= 2) {
    if (!(calls[low + step].correlation < correlation)) {
      high = low + step + 1;
      break;
    }
    low += step;
  }
  const auto at = std::partition_point(calls.begin() + static_cast<std::ptrdiff_t>(low),
                                       calls.begin() + static_cast<std::ptrdiff_t>(high),
                                       [&](const HostCall& call) { return call.correlation < correlation; });
  if (at == calls.end() || at->correlation != correlation) return nullptr;
  auto first = at;
  while (first != calls.begin() && std::prev(first)->correlation == correlation) --first;
  found->second.hint = static_cast<size_t>(first - calls.begin());
  return &*first;
}

Status forEachLaunchedWork(Trace& trace, CommunicationClassifier& classifier, const HostCallIndex& calls,
                           const std::function<void(const LaunchedWork&)>& take) {
  static constexpr std::pair<WorkKind, const char*> kTables[] = {
      {WorkKind::Kernel,
       "SELECT process_id, device_id, stream_id, correlation, start_ns, duration_ns, flags, id, name_id, short_name_id"
       " FROM main.kernel"},
      {WorkKind::Copy,
       "SELECT process_id, device_id, stream_id, correlation, start_ns, duration_ns, flags, id FROM main.memory_copy"},
      {WorkKind::Set,
       "SELECT process_id, device_id, stream_id, correlation, start_ns, duration_ns, flags, id FROM main.memory_set"}};
  for (const auto& [what, sql] : kTables) {
    auto rows = trace.query(sql);
    if (!rows.ok()) return rows.error();
    Statement& row = rows.value();
    while (row.next()) {
      if ((row.integer(6) & kNoUsableTime) || !isUsableTime(row.integer(4), row.integer(5))) continue;
      LaunchedWork work;
      work.what = what;
      work.process = row.id<ProcessId>(0);
      work.device = row.id<DeviceId>(1);
      work.stream = row.id<StreamId>(2);
      work.correlation = row.id<Correlation>(3);
      work.time = intervalOf(row.integer(4), row.integer(5));
      work.id = row.integer(7);
      bool communicates = false;
      if (what == WorkKind::Kernel) {
        work.name = row.id<StringId>(8);
        work.shortName = row.id<StringId>(9);
        communicates = classifier.isCommunication(work.process, work.correlation, work.name);
      } else {
        communicates = classifier.isCommunication(work.process, work.correlation);
      }
      work.kind = communicates               ? GpuEventKind::Communication
                  : what == WorkKind::Kernel ? GpuEventKind::Compute
                                             : GpuEventKind::Memory;
      if (work.correlation != Correlation()) work.call = calls.find(work.process, work.correlation);
      take(work);
    }
    if (const Status status = row.status(); !status.ok()) return status.error();
  }
  return Unit{};
}

Result<EventFilter> EventFilter::load(Trace& trace, const Filter& filter) {
  auto windows = findWindows(trace, filter);
  if (!windows.ok()) return windows.error();
  EventFilter result;
  result.m_keepsAll = filter.isWholeTime() && !filter.rank;
  for (ProcessWindows& window : windows.value()) {
    const ProcessId process = window.process;
    result.m_windows.emplace(process, std::move(window));
  }
  return result;
}

const ProcessWindows* EventFilter::windowsOf(ProcessId process) const {
  const auto found = m_windows.find(process);
  return found == m_windows.end() ? nullptr : &found->second;
}

bool EventFilter::keeps(ProcessId process, TimePoint start, bool onHost) const {
  if (m_keepsAll) return true;
  const ProcessWindows* windows = windowsOf(process);
  return windows && contains(onHost ? windows->host : windows->gpu, start);
}

std::unordered_map<ProcessId, size_t> orderOfProcesses(const Trace& trace) {
  std::unordered_map<ProcessId, size_t> order;
  for (const Process& process : trace.processes()) order.emplace(process.id, order.size());
  return order;
}

bool contains(const IntervalSet& set, TimePoint time) {
  const std::vector<Interval>& parts = set.parts();
  const auto part =
      std::partition_point(parts.begin(), parts.end(), [time](const Interval& p) { return p.end <= time; });
  return part != parts.end() && part->start <= time;
}

}  // namespace plumb
