// SPDX-License-Identifier: Apache-2.0
// Whether trace files that are to become one hold the same, so that it would count twice.
#pragma once
#include <string>
#include <vector>

#include "analyzer/trace/trace.h"

namespace plumb::exports {

// The first process that two of the traces hold with the same events, whatever the files are called and in which form
// they are kept, as a sentence; or two files of the same bytes. "" when there is none.
[[nodiscard]] Result<std::string> heldTwice(const std::vector<Trace*>& traces);

// The first two traces of which one ends before the other begins, as a question to the user; "" when all overlap.
// Traces that do not say when they began are passed over.
[[nodiscard]] std::string notAtOneTime(const std::vector<Trace*>& traces);

}  // namespace plumb::exports
