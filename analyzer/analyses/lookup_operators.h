// SPDX-License-Identifier: Apache-2.0
// Operators that look elements up by indices, or put them there: index_select, gather, scatter, index_add, embeddings,
// and the loss of the likelihood of given classes. Bytes: the indices and what is read or written next to them once; of
// the tensor that is looked up as much as the result has, and of the one that is written as much as is put there (read
// too where it is added), either not more than all of it: fewer move where indices repeat. FLOPs: one per element that
// is added. What is in the indices is data, so the operators whose result has a size of its own for it (index with
// masks, nonzero, repeat_interleave) have no formula.
#pragma once
#include <optional>
#include <string_view>

#include "analyzer/analyses/operator_arguments.h"
#include "analyzer/analyses/operator_work.h"

namespace plumb {

[[nodiscard]] bool isLookupOperator(std::string_view name);
[[nodiscard]] std::optional<OperatorWork> workOfLookup(std::string_view name, const OperatorArguments& arguments);

}  // namespace plumb
