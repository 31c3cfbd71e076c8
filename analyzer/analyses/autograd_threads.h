// SPDX-License-Identifier: Apache-2.0
// The threads on which torch runs backward passes while the thread that asked for one waits: what they launch belongs
// to the ranges of that thread.
#pragma once
#include <unordered_set>

#include "analyzer/trace/trace.h"

namespace plumb {

// Told by their names ("pt_autograd_0"), else by what they run: most of the operators and ranges that lie in no other
// are nodes of the graph. A caller that runs some nodes itself is none.
[[nodiscard]] Result<std::unordered_set<ThreadId>> findAutogradThreads(Trace& trace);

}  // namespace plumb
