// SPDX-License-Identifier: Apache-2.0
// Memory that grows from step to step. Live bytes are compared at the ends of steps, where a training loop that leaks
// nothing has the same again; the first step, which allocates what stays, is where the comparison begins.
//   growth     live at the end of the last step - at the end of the first
//   survivors  allocated after the first step, still live at the end of the last, and older in steps than the median
//              life of those of the same name that were freed, by more than kSurvivorSteps; where none was freed, older
//              than kSurvivorSteps
// A name is the declared one, else the place in the code that allocated it, else the size.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/analyses/memory_history.h"
#include "analyzer/trace/filter.h"

namespace plumb {

inline constexpr int64_t kSurvivorSteps = 2;

struct StepMemory {
  int64_t step = 0;
  TimePoint end;
  int64_t liveBytes = 0;
};

struct NameGrowth {
  std::string name;
  std::optional<MemoryCategory> category;  // declared; none: not declared
  int64_t firstBytes = 0, lastBytes = 0;   // live at the end of the first and last step
  int64_t grewCount = 0;                   // steps after the first at whose end more was live than before
  int64_t survivorCount = 0, survivorBytes = 0;
  [[nodiscard]] int64_t growth() const { return lastBytes - firstBytes; }
};

struct DeviceGrowth {
  ProcessId process;
  std::optional<int64_t> rank;
  std::optional<DeviceId> device;
  std::vector<StepMemory> steps;
  std::vector<NameGrowth> names;  // those that grew, shrank or have survivors; largest growth first
};

// Device memory of processes with at least two steps, of those that begin in the filter's windows.
[[nodiscard]] Result<std::vector<DeviceGrowth>> memoryGrowth(Trace& trace, const Filter& filter = {});

}  // namespace plumb
