// SPDX-License-Identifier: Apache-2.0
// The hand calculation: how many bytes of device memory a rank holds at the moments that can be its peak, from the
// dimensions alone. What NCCL and cuBLAS allocate for themselves is not in it.
#pragma once
#include <string>
#include <vector>

#include "workloads/fsdp/model.h"
#include "workloads/fsdp/policy.h"
#include "workloads/nn/memory.h"

namespace plumb::fsdp {

struct MemoryMoment {
  std::string name;
  nn::CategoryBytes bytes;
};

// shape: of one micro step of one rank.
std::vector<MemoryMoment> memoryMoments(const ModelShape& shape, int ranks, const Policy& policy = {});

// The moment with the largest total.
MemoryMoment peakMoment(const std::vector<MemoryMoment>& moments);
// Each category's own maximum.
nn::CategoryBytes categoryPeaks(const std::vector<MemoryMoment>& moments);

}  // namespace plumb::fsdp
