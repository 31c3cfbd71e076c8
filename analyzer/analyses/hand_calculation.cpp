// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/hand_calculation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "analyzer/analyses/memory_history.h"
#include "analyzer/analyses/memory_inference.h"

namespace plumb {
namespace {

constexpr int64_t kFloatBytes = 4;

struct Parameters {
  int64_t bytes = 0;
  bool isSharded = false;
};

Parameters countParameters(Trace& trace, const ProcessMemory& memory, const DeviceMemory& device,
                           const TrainingPhases& phases) {
  // A region names no device; that of the block at its address does, which a view into a block has not.
  const bool isOnlyDevice = devicesOf(memory).size() == 1;
  std::vector<bool> isHere(memory.regions.size(), isOnlyDevice);
  for (const MemoryBlock& block : memory.blocks) {
    if (block.region && block.isOnDevice()) isHere[*block.region] = block.device == device.device;
  }
  const TimePoint from = phases.steps.empty() ? device.peak.time : phases.steps.front().start;
  const TimePoint to = phases.steps.empty() ? device.peak.time : phases.steps.back().end;
  Parameters parameters;
  for (size_t i = 0; i < memory.regions.size(); ++i) {
    const MemoryRegion& region = memory.regions[i];
    if (region.category != MemoryCategory::Parameter || !isHere[i]) continue;
    if (region.start > from || (region.end && *region.end < to)) continue;
    parameters.bytes += region.bytes;
    parameters.isSharded |= trace.text(region.name).find("shard") != std::string_view::npos;
  }
  return parameters;
}

void addRows(HandCalculation& hand, const DeviceMemory& device) {
  const auto measured = [&](MemoryCategory category) { return device.peak.bytes[static_cast<size_t>(category)]; };
  const int64_t p = *hand.parameterCount * kFloatBytes;
  const int64_t state = measured(MemoryCategory::OptimizerState);
  for (int64_t k = 1; k <= 2; ++k) {
    if (std::abs(state - k * p) < std::abs(state - hand.optimizerFactor * p)) hand.optimizerFactor = k;
  }
  static constexpr const char* kOptimizers[] = {"SGD", "SGD with momentum", "AdamW"};
  const int64_t k = hand.optimizerFactor;
  hand.rows.push_back({"parameter", "4 P", p, measured(MemoryCategory::Parameter)});
  hand.rows.push_back({"gradient", "4 P", p, measured(MemoryCategory::Gradient)});
  hand.rows.push_back({"optimizer_state", fmt::format("4 k P, k = {} ({})", k, kOptimizers[k]), k * p, state});
  const int64_t all = measured(MemoryCategory::Parameter) + measured(MemoryCategory::Gradient) + state;
  hand.rows.push_back({"model state, float32", fmt::format("(4 + 4 + {}) P", 4 * k), (2 + k) * p, all});
  hand.rows.push_back({"model state, mixed precision with a float32 master copy and AdamW", "(2 + 2 + 4 + 8) P",
                       16 * *hand.parameterCount, all});
  for (const MemoryCategory category :
       {MemoryCategory::Activation, MemoryCategory::Input, MemoryCategory::CommunicationBuffer,
        MemoryCategory::Workspace, MemoryCategory::Cached, MemoryCategory::Unattributed}) {
    if (measured(category) > 0) hand.rows.push_back({std::string(nameOf(category)), "", {}, measured(category)});
  }
}

}  // namespace

Result<std::vector<HandCalculation>> calculateByHand(Trace& trace, const Filter& filter) {
  auto analysis = analyzeMemory(trace, filter, MemoryDetail::PeakOnly);
  if (!analysis.ok()) return analysis.error();
  auto processes = loadMemory(trace, filter.rank);
  if (!processes.ok()) return processes.error();
  auto phases = loadPhases(trace);
  if (!phases.ok()) return phases.error();
  std::vector<HandCalculation> result;
  for (const DeviceMemory& device : analysis.value().devices) {
    const auto memory = std::ranges::find(processes.value(), device.process, &ProcessMemory::process);
    HandCalculation hand{device.process, device.rank, device.device, {}, 1, 0, {}};
    const Parameters parameters = countParameters(trace, *memory, device, phases.value()[device.process]);
    if (parameters.bytes > 0) {
      hand.parameterCount = parameters.bytes / kFloatBytes;
      const Process* process = trace.process(device.process);
      if (parameters.isSharded && process) hand.shardedOver = std::max<int64_t>(process->worldSize.value_or(1), 1);
      addRows(hand, device);
    }
    result.push_back(std::move(hand));
  }
  return result;
}

}  // namespace plumb
