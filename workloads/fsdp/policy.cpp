// SPDX-License-Identifier: Apache-2.0
#include "workloads/fsdp/policy.h"

namespace plumb::fsdp {

size_t ddpGradients(const ModelShape& shape) {
  return rootLayout(shape).padded(1) + static_cast<size_t>(shape.layers) * blockLayout(shape, 0).padded(1);
}

StepCollectives plannedCollectives(const ModelShape& shape, const Policy& policy) {
  if (policy.ddp) {
    const size_t bucket = bucketElements(policy);
    return {0, 0, 0, static_cast<int>((ddpGradients(shape) + bucket - 1) / bucket)};
  }
  const int groups = shape.layers + 1;
  StepCollectives planned;
  planned.forwardGathers = policy.accumulate * groups;
  planned.backwardGathers = policy.keepsWeights() ? 0 : policy.accumulate * shape.layers;
  planned.reduceScatters = groups;
  planned.gradientAllReduces = policy.replicas > 1 ? groups : 0;
  return planned;
}

}  // namespace plumb::fsdp
