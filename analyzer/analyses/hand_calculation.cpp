// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/hand_calculation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <numeric>
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

std::string plusBytes(const std::string& formula, const std::vector<int64_t>& bytes) {
  return fmt::format("{} + {}", formula, fmt::join(bytes, " + "));
}

int64_t sumOf(const std::vector<int64_t>& bytes) { return std::accumulate(bytes.begin(), bytes.end(), int64_t{0}); }

// Adds to the rows of the model's state what is whole in flight.
void addFlight(HandCalculation& hand, const LayersInFlight& flight) {
  for (HandRow& row : hand.rows) {
    const bool isGradient = row.component == nameOf(MemoryCategory::Gradient);
    if (!isGradient && !row.component.starts_with("model state")) continue;
    if (!flight.problem.empty()) {
      row.formula += " + whole gradients";
      row.expectedBytes.reset();
      row.note = "cannot say, because " + flight.problem;
      continue;
    }
    row.formula = plusBytes(row.formula, flight.gradientBytes);
    *row.expectedBytes += sumOf(flight.gradientBytes);
    row.note = "during a backward pass: whole gradients of the largest layer and of the root, by their reduce-scatters";
  }
  if (!flight.problem.empty() || flight.weightBytes.empty()) return;
  const auto buffers = std::ranges::find(hand.rows, nameOf(MemoryCategory::CommunicationBuffer), &HandRow::component);
  if (buffers == hand.rows.end()) return;
  buffers->formula = fmt::format("{}", fmt::join(flight.weightBytes, " + "));
  buffers->expectedBytes = sumOf(flight.weightBytes);
  buffers->note =
      flight.keepsWeights
          ? "whole weights of all layers, by their all-gathers: none is gathered again"
          : "during a backward pass: whole weights of the root, the layer in use and the one prefetched, by "
            "their all-gathers";
}

// The collectives of layers, by process, of its last step.
Result<std::map<ProcessId, std::vector<LayerCollective>>> loadLayerCollectives(
    Trace& trace, const std::unordered_map<ProcessId, TrainingPhases>& phases) {
  auto rows = trace.query(
      "SELECT c.process_id, c.start_ns, o.text, c.bytes, coalesce(m.n_ranks, 0) FROM main.collective c"
      " JOIN main.string o ON o.id = c.operation_id LEFT JOIN main.communicator m ON m.id = c.communicator_id"
      " WHERE o.text IN ('AllGather', 'ReduceScatter') AND c.bytes > 0 ORDER BY c.start_ns, c.id");
  if (!rows.ok()) return rows.error();
  std::map<ProcessId, std::vector<LayerCollective>> result;
  Statement& row = rows.value();
  while (row.next()) {
    const auto mine = phases.find(row.id<ProcessId>(0));
    if (mine == phases.end() || mine->second.steps.empty() || !mine->second.steps.back().contains(row.time(1)))
      continue;
    result[mine->first].push_back({row.text(2) == "ReduceScatter", row.integer(3), row.integer(4)});
  }
  if (const Status status = row.status(); !status.ok()) return status.error();
  return result;
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
  hand.rows.push_back({"parameter", "4 P", p, measured(MemoryCategory::Parameter), ""});
  hand.rows.push_back({"gradient", "4 P", p, measured(MemoryCategory::Gradient), ""});
  hand.rows.push_back({"optimizer_state", fmt::format("4 k P, k = {} ({})", k, kOptimizers[k]), k * p, state, ""});
  const int64_t all = measured(MemoryCategory::Parameter) + measured(MemoryCategory::Gradient) + state;
  hand.rows.push_back({"model state, float32", fmt::format("(4 + 4 + {}) P", 4 * k), (2 + k) * p, all, ""});
  hand.rows.push_back({"model state, mixed precision with a float32 master copy and AdamW", "(2 + 2 + 4 + 8) P",
                       16 * *hand.parameterCount, all, ""});
  for (const MemoryCategory category :
       {MemoryCategory::Activation, MemoryCategory::Input, MemoryCategory::CommunicationBuffer,
        MemoryCategory::Workspace, MemoryCategory::Cached, MemoryCategory::Unattributed}) {
    if (measured(category) > 0) hand.rows.push_back({std::string(nameOf(category)), "", {}, measured(category), ""});
  }
}

}  // namespace

LayersInFlight layersInFlight(const std::vector<LayerCollective>& collectives) {
  LayersInFlight flight;
  std::vector<int64_t> gathered, reduced;
  for (const LayerCollective& one : collectives) {
    (one.isReduceScatter ? reduced : gathered).push_back(one.bytes);
    if (one.isReduceScatter) flight.rankCount = std::max(flight.rankCount, one.rankCount);
  }
  if (reduced.empty()) {
    flight.problem = "the last step has no reduce-scatter whose bytes are known";
    return flight;
  }
  const int64_t root = reduced.back();
  reduced.pop_back();
  if (!reduced.empty()) flight.gradientBytes.push_back(std::ranges::max(reduced));
  flight.gradientBytes.push_back(root);
  if (gathered.empty()) return flight;
  flight.keepsWeights = gathered.size() <= reduced.size() + 1;
  if (flight.keepsWeights) {
    flight.weightBytes = std::move(gathered);
    return flight;
  }
  flight.weightBytes.push_back(gathered.front());  // the root is gathered first
  const size_t layers = reduced.size();            // each is gathered twice
  gathered.erase(gathered.begin());
  std::ranges::sort(gathered, std::greater{});
  for (size_t i = 0; i < std::min<size_t>({2, layers, gathered.size() / 2}); ++i) {
    flight.weightBytes.push_back(gathered[2 * i]);
  }
  return flight;
}

Result<std::vector<HandCalculation>> calculateByHand(Trace& trace, const Filter& filter) {
  auto analysis = analyzeMemory(trace, filter, MemoryDetail::PeakOnly);
  if (!analysis.ok()) return analysis.error();
  auto processes = loadMemory(trace, filter.rank);
  if (!processes.ok()) return processes.error();
  auto phases = loadPhases(trace);
  if (!phases.ok()) return phases.error();
  auto collectives = loadLayerCollectives(trace, phases.value());
  if (!collectives.ok()) return collectives.error();
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
      if (hand.shardedOver > 1) {
        LayersInFlight flight = layersInFlight(collectives.value()[device.process]);
        if (phases.value()[device.process].steps.empty()) flight.problem = "no steps are marked";
        if (flight.rankCount > 1) hand.shardedOver = flight.rankCount;
        addFlight(hand, flight);
      }
    }
    result.push_back(std::move(hand));
  }
  return result;
}

}  // namespace plumb
