// SPDX-License-Identifier: Apache-2.0
// Which kinds of records a file holds.
#pragma once
#include <string>
#include <vector>

#include "analyzer/trace/trace.h"

namespace plumb {

struct Contents {
  bool deviceWork = false;  // kernels, copies, sets
  bool kernels = false;
  bool apiCalls = false;
  bool ranges = false;  // and operators, Python calls
  bool collectives = false;
  bool allocations = false;
  bool counters = false;
  bool benchmarks = false;
  bool largerCommunicators = false;  // of more than one rank
  bool communicators = false;

  // "counters and benchmarks of collectives": those that are there; "" when none is.
  [[nodiscard]] std::string text() const;
};

// Looks at one row of each table.
[[nodiscard]] Result<Contents> findContents(Trace& trace);

}  // namespace plumb
