// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/launched_work.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "analyzer/intervals/sort_runs.h"

namespace plumb {
namespace {

bool comesBefore(const HostCall& a, const HostCall& b) {
  return std::tie(a.correlation, a.time.start, b.time.end) < std::tie(b.correlation, b.time.start, a.time.end);
}

}  // namespace

Result<HostCallIndex> HostCallIndex::load(Trace& trace) {
  HostCallIndex index;
  Calls* calls = nullptr;
  ProcessId process;
  const size_t expected = rowsPerPart(trace, "main.api_call", trace.processes().size());
  const Status read = forEachCall(trace, [&](const CallRow& call) {
    if (!call.isTimed || call.correlation == Correlation()) return;
    if (!calls || process != call.process) {
      process = call.process;
      calls = &index.m_calls[process];
      if (calls->sorted.empty()) calls->sorted.reserve(expected);
    }
    calls->sorted.push_back({call.correlation, call.thread, call.name, call.time});
  });
  if (!read.ok()) return read.error();
  for (auto& [id, of] : index.m_calls) sortRuns(of.sorted, comesBefore);
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
  return forEachWork(trace, [&](const WorkRow& row) {
    if (!row.isTimed) return;
    LaunchedWork work;
    work.what = row.what;
    work.id = row.id;
    work.kind = classifier.kindOf(row);
    work.process = row.process;
    work.device = row.device;
    work.stream = row.stream;
    work.correlation = row.correlation;
    work.name = row.name;
    work.shortName = row.shortName;
    work.time = row.time;
    if (work.correlation != Correlation()) work.call = calls.find(work.process, work.correlation);
    take(work);
  });
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
