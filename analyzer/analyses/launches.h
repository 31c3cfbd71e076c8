// SPDX-License-Identifier: Apache-2.0
// The host-side call that launched a piece of GPU work, found by (process, correlation).
#pragma once
#include <unordered_map>
#include <vector>

#include "analyzer/trace/trace.h"

namespace plumb {

struct Launch {
  Correlation correlation;
  ThreadId thread;
  TimePoint start;
};

class LaunchIndex {
 public:
  // Keeps the calls that launched something; of nested calls with one correlation the outermost.
  [[nodiscard]] static Result<LaunchIndex> load(Trace& trace);
  [[nodiscard]] const Launch* find(ProcessId process,
                                   Correlation correlation) const;  // null: no such call in the trace
  [[nodiscard]] bool empty() const { return m_launches.empty(); }

 private:
  std::unordered_map<ProcessId, std::vector<Launch>> m_launches;  // by correlation
};

}  // namespace plumb
