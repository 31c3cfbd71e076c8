// SPDX-License-Identifier: Apache-2.0
// What is to be said, wherever ranks' times are compared, of the clocks that they were taken by.
#pragma once
#include <string>
#include <vector>

#include "analyzer/analyses/collectives.h"

namespace plumb {

enum class ClockState : uint8_t {
  Corrected,    // another host's clock, whose offset is known and taken off
  Apart,        // nothing says how far it is from the reference: times are not compared with it
  Unchecked,    // hosts are not named and nothing shows whether their clocks agree: taken as one
  Contradicted  // taken as one clock, but some collectives are impossible on one
};

struct ClockStatement {
  ClockState state = ClockState::Unchecked;
  std::vector<ProcessId> processes;
  std::string message;  // one sentence
};

// Empty when all processes are of one clock that nothing contradicts.
[[nodiscard]] Result<std::vector<ClockStatement>> sayClocks(Trace& trace, const std::vector<ClockOffset>& clocks);

}  // namespace plumb
