// SPDX-License-Identifier: Apache-2.0
// The memory of training by hand, beside what was measured at the peak. In float32, of P parameters that this rank
// holds:
//   parameter        4 P
//   gradient         4 P
//   optimizer state  4 k P, k = 0 (SGD), 1 (momentum), 2 (AdamW): the k nearest to what was measured
//   mixed precision with a float32 master copy and AdamW: 2 + 2 + 4 + 8 = 16 P in all
// P is counted from the regions of category parameter that live through all steps (at the peak, in a trace without
// steps), taken as float32. Where their names say 'shard', P is the rank's part of a model of P x N over N ranks, and
// beside it are the whole layers in flight (LayersInFlight), at a peak inside a backward pass.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/analyses/memory.h"

namespace plumb {

struct HandRow {
  std::string component;                 // category, or "model state, float32", "model state, mixed precision"
  std::string formula;                   // "4 P"; "" where there is none
  std::optional<int64_t> expectedBytes;  // none: depends on the model's shape
  std::optional<int64_t> measuredBytes;  // declared, at the peak
  std::string note;                      // what the bytes of the formula are, or why nothing is expected
};

// What a sharded rank holds whole during a backward pass, by the collectives of its last step. The root is the layer
// whose gradients are reduced last (embedding and head, which live as long as the pass); the others come and go.
struct LayersInFlight {
  int64_t rankCount = 0;               // that share a layer
  std::vector<int64_t> gradientBytes;  // the largest reduce-scatter, and the root's
  std::vector<int64_t> weightBytes;    // the root's all-gather and the two largest (in use, prefetched); all of them
                                       // when none is gathered a second time for the backward pass
  bool keepsWeights = false;
  std::string problem;  // why they are not known; "": they are
};
struct LayerCollective {
  bool isReduceScatter = false;  // else an all-gather
  int64_t bytes = 0;             // of the whole layer
  int64_t rankCount = 0;
};
// Pure; of one step, in order of time.
[[nodiscard]] LayersInFlight layersInFlight(const std::vector<LayerCollective>& collectives);

struct HandCalculation {
  ProcessId process;
  std::optional<int64_t> rank;
  std::optional<DeviceId> device;
  std::optional<int64_t> parameterCount;  // P; none: nothing was declared as a parameter
  int64_t shardedOver = 1;                // N
  int64_t optimizerFactor = 0;            // k
  std::vector<HandRow> rows;              // empty without P
};

// Devices with memory, in order of rank. The filter's time limits what is measured, at the peak in it; P is what lives
// through all steps.
[[nodiscard]] Result<std::vector<HandCalculation>> calculateByHand(Trace& trace, const Filter& filter = {});

}  // namespace plumb
