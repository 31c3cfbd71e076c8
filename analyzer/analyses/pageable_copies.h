// SPDX-License-Identifier: Apache-2.0
// Copies from or to pageable memory: their asynchronous calls can wait until the copy is done.
#pragma once
#include <unordered_map>

#include "analyzer/trace/trace.h"

namespace plumb {

class PageableCopies {
 public:
  [[nodiscard]] static Result<PageableCopies> load(Trace& trace);
  [[nodiscard]] bool contains(ProcessId process, Correlation correlation) const;
  // The call returned only after its copy had ended.
  [[nodiscard]] bool waited(ProcessId process, Correlation correlation, TimePoint callEnd) const;

 private:
  std::unordered_map<ProcessId, std::unordered_map<Correlation, TimePoint>> m_ends;
};

}  // namespace plumb
