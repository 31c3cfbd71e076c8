// SPDX-License-Identifier: Apache-2.0
// What becomes of the rules' findings before people see them.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/advice/advice.h"

namespace plumb {

// In the steps first, then the largest gain; those without an estimate last. Stable.
void sortFindings(std::vector<Finding>& findings);

// One finding of those that say the same, up to a first semicolon, of several ranks or processes: that with the largest
// gain. Sorted before and after. Sets `whom`, for which the number of the trace's processes is needed.
[[nodiscard]] std::vector<Finding> groupFindings(std::vector<Finding> findings, size_t processCount);

// Of two rules' findings about the same events of the same ranks, whose gains are within 2 %, one with both sentences
// and remedies: the one with the smaller gain says more exactly what it is. Sorted before and after.
[[nodiscard]] std::vector<Finding> foldSame(std::vector<Finding> findings);

// Times in ms in the unit that suits them, as elsewhere: "12853.75 ms" is "12.854 s", "0.02 ms" is "20 µs". What stands
// in quotes stays.
[[nodiscard]] std::string withSeconds(std::string_view sentence);

// The sentence with # for its numbers; what stands in quotes keeps its own: "device # idle in 'block 3'".
[[nodiscard]] std::string wordsOf(std::string_view sentence);

}  // namespace plumb
