// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/memory_growth.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "analyzer/analyses/windows.h"

namespace plumb {
namespace {

using Name = std::tuple<StringId, int64_t>;  // text, or the size of what has none

struct NumberedStep {
  int64_t number;
  TimePoint end;
};

Result<std::map<ProcessId, std::vector<NumberedStep>>> loadStepEnds(Trace& trace, const Filter& filter) {
  auto windows = findWindows(trace, filter);
  if (!windows.ok()) return windows.error();
  auto rows = trace.query("SELECT process_id, start_ns, duration_ns, step FROM steps");
  if (!rows.ok()) return rows.error();
  std::map<ProcessId, std::vector<NumberedStep>> steps;
  Statement& row = rows.value();
  while (row.next()) {
    const auto window = std::ranges::find(windows.value(), row.id<ProcessId>(0), &ProcessWindows::process);
    if (window == windows.value().end() || row.isNull(2) || !isUsableTime(row.integer(1), row.integer(2))) continue;
    if (!window->host.contains(row.time(1))) continue;
    steps[window->process].push_back({row.integer(3), TimePoint(row.integer(1) + row.integer(2))});
  }
  if (const Status status = row.status(); !status.ok()) return status.error();
  for (auto& [process, list] : steps) std::ranges::sort(list, {}, &NumberedStep::end);
  return steps;
}

// How many steps had ended by then: an event at the very end of a step belongs to the next.
size_t stepsEndedBy(const std::vector<NumberedStep>& steps, TimePoint time) {
  return static_cast<size_t>(std::ranges::upper_bound(steps, time, {}, &NumberedStep::end) - steps.begin());
}

struct NameState {
  NameGrowth growth;
  // Change of live bytes between the ends of steps, by the number of the step's end; few names change in each.
  std::map<size_t, int64_t> changes;
  std::vector<int64_t> livesOfFreed;                   // in steps
  std::vector<std::pair<int64_t, int64_t>> stillLive;  // age in steps, bytes; born after the first step
};

class DeviceCount {
 public:
  DeviceCount(Trace& trace, const ProcessMemory& memory, const std::vector<NumberedStep>& steps)
      : m_trace(trace), m_memory(memory), m_steps(steps), m_changes(steps.size(), 0) {}

  void add(const MemoryBlock& block) {
    const size_t born = stepsEndedBy(m_steps, block.start);
    const size_t freed = block.end ? stepsEndedBy(m_steps, *block.end) : m_steps.size();
    if (born == m_steps.size()) return;  // after the last step
    NameState& state = stateOf(block);
    const auto age = static_cast<int64_t>(freed - born);
    const bool isLiveAtLast = freed == m_steps.size();
    if (born < freed) {
      m_changes[born] += block.bytes;
      state.changes[born] += block.bytes;
      if (freed < m_steps.size()) {
        m_changes[freed] -= block.bytes;
        state.changes[freed] -= block.bytes;
      }
    }
    if (isLiveAtLast && born > 0) {
      state.stillLive.emplace_back(age, block.bytes);
    } else if (!isLiveAtLast) {
      state.livesOfFreed.push_back(age);
    }
  }

  DeviceGrowth finish(std::optional<DeviceId> device) {
    DeviceGrowth result{m_memory.process, m_memory.rank, device, {}, {}};
    int64_t live = 0;
    for (size_t i = 0; i < m_steps.size(); ++i) {
      live += m_changes[i];
      result.steps.push_back({m_steps[i].number, m_steps[i].end, live});
    }
    for (auto& [name, state] : m_names) {
      NameGrowth growth = finished(state);
      if (growth.growth() == 0 && growth.survivorCount == 0) continue;
      const auto& [text, bytes] = name;
      growth.name = text == StringId() ? fmt::format("unnamed, {} bytes", bytes) : std::string(m_trace.text(text));
      result.names.push_back(std::move(growth));
    }
    std::ranges::stable_sort(result.names, std::greater{}, &NameGrowth::growth);
    return result;
  }

 private:
  NameState& stateOf(const MemoryBlock& block) {
    const StringId text = block.region ? m_memory.regions[*block.region].name : block.place;
    NameState& state = m_names[{text, text == StringId() ? block.bytes : 0}];
    if (block.region && m_memory.regions[*block.region].category != MemoryCategory::Unattributed) {
      state.growth.category = m_memory.regions[*block.region].category;
    }
    return state;
  }

  static NameGrowth finished(NameState& state) {
    NameGrowth& growth = state.growth;
    int64_t live = 0;
    for (const auto& [step, change] : state.changes) {
      live += change;
      if (step == 0) growth.firstBytes = live;
      if (step > 0 && change > 0) ++growth.grewCount;
    }
    growth.lastBytes = live;
    int64_t usual = 0;
    if (!state.livesOfFreed.empty()) {
      const auto middle = state.livesOfFreed.begin() + static_cast<std::ptrdiff_t>(state.livesOfFreed.size() / 2);
      std::ranges::nth_element(state.livesOfFreed, middle);
      usual = *middle;
    }
    for (const auto& [age, bytes] : state.stillLive) {
      if (age <= usual + kSurvivorSteps) continue;
      ++growth.survivorCount;
      growth.survivorBytes += bytes;
    }
    return std::move(growth);
  }

  Trace& m_trace;
  const ProcessMemory& m_memory;
  const std::vector<NumberedStep>& m_steps;
  std::vector<int64_t> m_changes;  // of live bytes, by the step at whose end it first shows
  std::map<Name, NameState> m_names;
};

}  // namespace

Result<std::vector<DeviceGrowth>> memoryGrowth(Trace& trace, const Filter& filter) {
  auto steps = loadStepEnds(trace, filter);
  if (!steps.ok()) return steps.error();
  auto processes = loadMemory(trace, filter.rank);
  if (!processes.ok()) return processes.error();
  std::vector<DeviceGrowth> result;
  for (const ProcessMemory& memory : processes.value()) {
    const auto mine = steps.value().find(memory.process);
    if (mine == steps.value().end() || mine->second.size() < 2) continue;
    std::map<std::optional<DeviceId>, DeviceCount> devices;
    for (const MemoryBlock& block : memory.blocks) {
      if (!block.isOnDevice()) continue;
      devices.try_emplace(block.device, trace, memory, mine->second).first->second.add(block);
    }
    for (auto& [id, device] : devices) result.push_back(device.finish(id));
  }
  return result;
}

}  // namespace plumb
