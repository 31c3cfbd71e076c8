// SPDX-License-Identifier: Apache-2.0
// Where the program ran out of device memory: an allocator's history says so, or a call that allocates failed with the
// API's error for that.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "analyzer/analyses/memory.h"
#include "analyzer/trace/trace.h"

namespace plumb {

struct OutOfMemory {
  ProcessId process;
  TimePoint time;  // of a call: its end
  // "3.00 GiB were asked for, 1.00 MiB were free on device 0, at model.py:44 attention", "cudaMalloc failed (error 2)"
  std::string what;
  std::optional<DeviceId> device;  // none: not said
  std::optional<int64_t> call;     // id of the api_call that failed
};

// In order of time.
[[nodiscard]] Result<std::vector<OutOfMemory>> findOutOfMemory(Trace& trace);

// Whether it is that device's memory that was not enough; true where the history does not say which.
[[nodiscard]] bool isOf(const OutOfMemory& moment, const DeviceMemory& memory);

// The bytes that were live then on each device that it may be of, where that is known.
[[nodiscard]] std::vector<int64_t> liveAt(const OutOfMemory& moment, const std::vector<DeviceMemory>& devices);

}  // namespace plumb
