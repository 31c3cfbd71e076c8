// SPDX-License-Identifier: Apache-2.0
// What is known of the work of kernels, before it is compared with roofs: library calls with their shapes, operators of
// a framework with the shapes of their arguments, and ranges that declare it; each with the kernels launched in it.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "analyzer/analyses/roofline.h"
#include "analyzer/trace/filter.h"
#include "analyzer/trace/trace.h"

namespace plumb {

// A library call, an operator or a declaring range.
struct Work {
  WorkSource source = WorkSource::Shape;
  ProcessId process;
  TimePoint start;     // on the host
  StringId operation;  // library function, operator, or name of the range
  std::string precision;
  bool precisionAssumed = false;
  double flops = 0, bytes = 0;
  double written = 0;  // of the bytes; 0: not known, or of no chain (operator_work.h)
  // Of its kernels:
  DeviceId device;
  int64_t kernelCount = 0;
  Duration duration, longest;
  StringId longestName;
  bool hasUntimed = false;
  int64_t blocks = 0;  // of the largest grid

  void add(DeviceId kernelDevice, Duration time, StringId name, bool isTimed, int64_t kernelBlocks) {
    blocks = std::max(blocks, kernelBlocks);
    if (kernelCount++ == 0 || time > longest) {
      longest = time;
      longestName = name;
      device = kernelDevice;
    }
    duration += time;
    hasUntimed |= !isTimed;
  }
};

// An operator of which nothing is known, and why.
struct UnknownOperator {
  StringId name;
  std::string why;
};

// By the kernel's short name, and index in CollectedWork::unknownOperators.
using UnknownTotals = std::map<std::tuple<ProcessId, DeviceId, StringId, int64_t>, UnknownWork>;
inline constexpr int64_t kNoOperator = -1;
inline constexpr int64_t kUntimed = -2;  // its work is known, but not its time

struct WorkKernel {
  size_t work;  // index
  DeviceId device;
  StreamId stream;
  TimePoint start;
  Duration duration;
  int64_t id;
};

enum class CollectKernels : bool { No, Yes };

struct CollectedWork {
  std::vector<Work> works;  // also those without a kernel in the filter
  UnknownTotals unknown;    // kernels that are not communication and of which nothing is known
  std::vector<UnknownOperator> unknownOperators;
  // With CollectKernels::Yes, every kernel whose time is usable; work is kNoWork where nothing is known of it.
  std::vector<WorkKernel> kernels;
  static constexpr size_t kNoWork = SIZE_MAX;
};

// Kernels that start in a GPU window of the filter. A kernel belongs to its library call, else its operator, else the
// innermost declaring range around its launch.
[[nodiscard]] Result<CollectedWork> collectWork(Trace& trace, const Filter& filter,
                                                CollectKernels kernels = CollectKernels::No);

// Roofs of a device: given (peaks.h), measured and of datasheets, at most one per resource and source.
class DeviceRoofs {
 public:
  [[nodiscard]] static Result<DeviceRoofs> load(Trace& trace);
  [[nodiscard]] std::vector<Roof> of(const Trace& trace, ProcessId process, DeviceId device) const;
  // What bounds the bus bandwidth of a collective of so many ranks: the network's roof, else, when the ranks share one
  // host, the link between its GPUs. hostCount 0: not told, so a host is taken to have 8 GPUs.
  [[nodiscard]] static std::optional<Roof> network(const std::vector<Roof>& roofs, int64_t rankCount,
                                                   int64_t hostCount);

 private:
  std::map<std::pair<ProcessId, int64_t>, std::vector<Roof>> m_recorded;  // by process and ordinal
  std::vector<Roof> m_given;
};

}  // namespace plumb
