// SPDX-License-Identifier: Apache-2.0
// How a run is distributed: what is sharded over which ranks, what is kept, gathered and reduced, when, and in which
// type.
#pragma once
#include <cstddef>

#include "workloads/fsdp/model.h"
#include "workloads/nn/tensor.h"

namespace plumb::fsdp {

struct Policy {
  nn::Dtype parameterDtype = nn::Dtype::kBfloat16;  // of gathered weights, activations and matrix products
  nn::Dtype reduceDtype = nn::Dtype::kFloat32;      // in which gradients are summed over the ranks
  bool reshardAfterForward = true;                  // else a block's weights are kept until its backward pass is done
  int prefetch = 1;                                 // blocks that are gathered ahead of the one that computes
  int accumulate = 1;                               // micro steps of a step; only the last one reduces
  bool checkpointActivations = false;               // keep a block's input only and run its forward pass again
  int replicas = 1;                                 // of the sharded model (HSDP): shards over ranks / replicas ranks
  bool ddp = false;                                 // nothing is sharded; gradients are all-reduced in buckets
  size_t bucketBytes = size_t{1} << 20;             // of these buckets

  // Ranks over which a group is sharded, of all the ranks.
  int shards(int ranks) const { return ddp ? 1 : ranks / replicas; }
  bool keepsWeights() const { return ddp || !reshardAfterForward; }
  // fp16 gradients are computed and summed this much larger, so that small ones do not become 0.
  float lossScale() const {
    return parameterDtype == nn::Dtype::kFloat16 || reduceDtype == nn::Dtype::kFloat16 ? 1024.0f : 1.0f;
  }
};

// Collectives of one rank in one step, without the all-reduce of the loss.
struct StepCollectives {
  int forwardGathers = 0;
  int backwardGathers = 0;
  int reduceScatters = 0;
  int gradientAllReduces = 0;

  bool operator==(const StepCollectives&) const = default;
};

// What a step must do by the policy.
StepCollectives plannedCollectives(const ModelShape& shape, const Policy& policy);

// Elements of the flat gradients that DDP cuts into buckets, and of one bucket.
size_t ddpGradients(const ModelShape& shape);
inline size_t bucketElements(const Policy& policy) { return policy.bucketBytes / sizeof(float); }

}  // namespace plumb::fsdp
