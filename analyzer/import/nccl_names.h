// SPDX-License-Identifier: Apache-2.0
// Collectives and data types under the names that frameworks and benchmarks give them, in NCCL's.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace plumb::import {

// "nccl:_all_gather_base", "all_gather_perf", "allgather" -> "AllGather"; "" for what is none of NCCL's.
[[nodiscard]] std::string_view ncclOperation(std::string_view name);

struct NcclDatatype {
  std::string name;   // "ncclBfloat16"; as given when it is not known
  int64_t bytes = 0;  // 0: not known
};
// "BFloat16", "float", "ncclFloat32" …
[[nodiscard]] NcclDatatype ncclDatatype(std::string_view name);

// What NCCL calls the size of a collective, by the elements that one rank says it sends (receives, for Recv and
// Scatter): 0 where that is too much for a number.
[[nodiscard]] int64_t ncclBytes(std::string_view operation, int64_t elements, int64_t elementBytes, int64_t ranks);

}  // namespace plumb::import
