// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/memory_series.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "analyzer/analyses/fragmentation.h"
#include "analyzer/analyses/memory_history.h"
#include "analyzer/analyses/memory_inference.h"
#include "analyzer/analyses/windows.h"

namespace plumb {
namespace {

// Which of equal parts of a span a moment is in.
class Parts {
 public:
  Parts(Interval span, size_t count) : m_span(span), m_count(count) {}
  [[nodiscard]] size_t of(TimePoint time) const {
    const auto length = static_cast<double>(std::max<int64_t>(m_span.length().ns(), 1));
    const double share = static_cast<double>((time - m_span.start).ns()) / length;
    return std::min(static_cast<size_t>(std::max(share, 0.0) * static_cast<double>(m_count)), m_count - 1);
  }

 private:
  Interval m_span;
  size_t m_count;
};

// Keeps of each part the largest; of equal ones the first.
template <class State>
void keepLargest(std::vector<State>& states, const std::function<TimePoint(const State&)>& timeOf,
                 const std::function<int64_t(const State&)>& bytesOf, size_t count) {
  if (states.size() <= count) return;
  const Parts parts({timeOf(states.front()), timeOf(states.back())}, count);
  std::vector<State> kept;
  size_t part = 0;
  for (State& state : states) {
    const size_t mine = parts.of(timeOf(state));
    if (kept.empty() || mine != part) {
      kept.push_back(std::move(state));
    } else if (bytesOf(state) > bytesOf(kept.back())) {
      kept.back() = std::move(state);
    }
    part = mine;
  }
  states = std::move(kept);
}

class DeviceSeries {
 public:
  DeviceSeries(const ProcessMemory& memory, std::optional<DeviceId> device, std::vector<MemorySample>& samples)
      : m_memory(memory), m_device(device), m_samples(samples) {}

  void addStates(const std::vector<MemoryState>& states) {
    BytesByCategory declared{}, inferred{};
    for (const MemoryState& state : states) {
      for (size_t i = 0; i < kMemoryCategoryCount; ++i) {
        declared[i] |= state.bytes[i];
        inferred[i] |= state.inferred[i];
      }
    }
    constexpr auto kUnattributed = static_cast<size_t>(MemoryCategory::Unattributed);
    for (const MemoryState& state : states) {
      add(state.time, "allocated", "", state.totalBytes);
      // What nothing declares is told by what its lifetime suggests; the rest is unattributed.
      int64_t unattributed = state.bytes[kUnattributed];
      for (size_t i = 0; i < kUnattributed; ++i) {
        const std::string_view name = nameOf(static_cast<MemoryCategory>(i));
        if (declared[i] != 0) add(state.time, name, "declared", state.bytes[i]);
        if (inferred[i] != 0) add(state.time, name, "inferred", state.inferred[i]);
        unattributed -= state.inferred[i];
      }
      if (declared[kUnattributed] != 0) add(state.time, nameOf(MemoryCategory::Unattributed), "", unattributed);
    }
  }
  void addReserved(const ByteSeries& series) {
    for (const auto& [time, bytes] : series) add(time, "reserved", "", bytes);
  }

 private:
  void add(TimePoint time, std::string_view series, std::string_view source, int64_t bytes) {
    m_samples.push_back({m_memory.process, m_memory.rank, m_device, time, series, source, bytes});
  }
  const ProcessMemory& m_memory;
  std::optional<DeviceId> m_device;
  std::vector<MemorySample>& m_samples;
};

ByteSeries clipped(const ByteSeries& series, const IntervalSet& windows) {
  ByteSeries result;
  for (const Interval& window : windows.parts()) {
    auto next = std::ranges::upper_bound(series, window.start, {}, &ByteSeries::value_type::first);
    if (next != series.begin())
      result.emplace_back(std::max(window.start, std::prev(next)->first), std::prev(next)->second);
    for (; next != series.end() && next->first < window.end; ++next) result.push_back(*next);
  }
  return result;
}

}  // namespace

Result<std::vector<MemorySample>> memorySeries(Trace& trace, const Filter& filter, std::optional<size_t> sampleCount) {
  auto windows = findWindows(trace, filter);
  if (!windows.ok()) return windows.error();
  auto processes = loadMemory(trace, filter.rank);
  if (!processes.ok()) return processes.error();
  if (const Status inferred = inferCategories(trace, processes.value()); !inferred.ok()) return inferred.error();
  auto reserved = ReservedMemory::load(trace);
  if (!reserved.ok()) return reserved.error();
  std::vector<MemorySample> samples;
  for (const ProcessMemory& memory : processes.value()) {
    const auto window = std::ranges::find(windows.value(), memory.process, &ProcessWindows::process);
    if (window == windows.value().end()) continue;
    std::map<std::optional<DeviceId>, std::vector<MemoryState>> states;
    MemorySweep sweep(memory);
    const auto devices = devicesOf(memory);
    walkMemory(sweep, devices, window->host,
               [&](std::optional<DeviceId> device, const MemoryState& state) { states[device].push_back(state); });
    for (const std::optional<DeviceId>& device : devices) {
      DeviceSeries series(memory, device, samples);
      ByteSeries held = clipped(reserved.value().of(trace, memory, device).bytes, window->host);
      if (sampleCount) {
        keepLargest<MemoryState>(
            states[device], [](const MemoryState& s) { return s.time; },
            [](const MemoryState& s) { return s.totalBytes; }, *sampleCount);
        keepLargest<ByteSeries::value_type>(
            held, [](const auto& s) { return s.first; }, [](const auto& s) { return s.second; }, *sampleCount);
      }
      series.addStates(states[device]);
      series.addReserved(held);
      states[device].clear();
    }
  }
  return samples;
}

}  // namespace plumb
