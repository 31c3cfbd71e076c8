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
  // Why a file whose source recorded allocations has none, as what follows "because"; else empty.
  std::string whyNoAllocation;

  // "counters and benchmarks of collectives": those that are there; "" when none is.
  [[nodiscard]] std::string text() const;
};

// Looks at one row of each table, and for the reasons among the diagnostics.
[[nodiscard]] Result<Contents> findContents(Trace& trace);

}  // namespace plumb
