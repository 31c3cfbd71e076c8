// SPDX-License-Identifier: Apache-2.0
// NVTX of an Nsight Systems export: ranges, marks, their payloads in every form that exports have, and NCCL's calls
// among them as collectives.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/import/nsys_context.h"
#include "analyzer/import/nsys_payload.h"

namespace plumb::import {

// A call of NCCL's own functions, which it marks with ranges.
struct NcclCall {
  int64_t process = 0, thread = 0, start = 0, duration = 0;
  std::string function;  // ncclAllReduce
  std::vector<PayloadField> fields;
};

[[nodiscard]] std::vector<NcclCall> importNvtx(NsysContext& context);

// Communicators and collectives, and links from them to the kernels that they launched. After the API calls and the
// kernels. Returns what the user should know of calls that gave none.
[[nodiscard]] std::optional<std::string> importCollectives(NsysContext& context, std::vector<NcclCall> calls);

}  // namespace plumb::import
