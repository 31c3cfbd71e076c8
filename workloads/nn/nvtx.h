// SPDX-License-Identifier: Apache-2.0
// What the workloads tell a profiler through NVTX: ranges, the work of a kernel, names of device memory. Everything is
// in the default domain and costs next to nothing without a tool.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace plumb::nn {

// A push/pop range of the calling thread; ends with the scope.
class Range {
 public:
  explicit Range(const char* name);
  explicit Range(const std::string& name) : Range(name.c_str()) {}
  Range(const char* name, uint64_t payload);  // with a plain 64-bit payload
  ~Range();
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
};

// The range around the launch of one kernel, with an extended payload of the fields "flops" (floating-point operations)
// and "bytes" (moved to and from device memory, each operand once).
class OperationRange {
 public:
  OperationRange(const char* name, uint64_t flops, uint64_t bytes);
  ~OperationRange();
  OperationRange(const OperationRange&) = delete;
  OperationRange& operator=(const OperationRange&) = delete;
};

// Names a piece of device memory "category/tensor"; category is one of the trace format's memory categories.
void nameMemory(const void* address, size_t bytes, const std::string& name);
// Takes the name back; call before the memory is freed.
void unnameMemory(const void* address);

}  // namespace plumb::nn
