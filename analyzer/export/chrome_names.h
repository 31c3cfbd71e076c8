// SPDX-License-Identifier: Apache-2.0
// What torch.profiler's traces call things, and how they write times.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace plumb::exports {

// Of an operation of NCCL.
[[nodiscard]] std::string_view torchOperation(std::string_view nccl);

struct TorchType {
  std::string_view name;
  int64_t bytes;
};
[[nodiscard]] TorchType torchType(std::string_view nccl);  // of an element type; 0 bytes: not known

// Of CUPTI's numbers.
[[nodiscard]] const char* memoryKindName(int64_t kind);
// "Memcpy HtoD (Pageable -> Device)"; the host's memory, where no more is known of it, is Host.
[[nodiscard]] std::string copyName(int64_t kind, int64_t source, int64_t target);
[[nodiscard]] const char* syncName(int64_t kind);

// "12.345": microseconds with all nanoseconds.
[[nodiscard]] std::string micros(int64_t ns);

}  // namespace plumb::exports
