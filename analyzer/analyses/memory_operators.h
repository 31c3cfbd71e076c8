// SPDX-License-Identifier: Apache-2.0
// Operators that move much more than they compute: elementwise ones, losses, copies and casts, fills (also with random
// numbers), dropout, reductions, softmax and normalizations. Bytes: each tensor that is read counts once (its expanded
// dimensions, of stride 0, not at all), and so does each that is written; what an operator writes in place is read and
// written. A lower bound where the kernel passes over its input more than once (large reductions, softmax and
// normalizations) or its memory is not contiguous; more than what moves where a cache already holds the tensor. FLOPs:
// one per element of an elementwise operator's result (more where its formula has more operations), one per element
// that is reduced, and for softmax and normalizations the operations of their formulas; for dropout two per element
// (scale and mask); copies, casts, fills, comparisons, selections, random numbers and integers: none. torch computes
// those of halves in fp32.
#pragma once
#include <optional>
#include <string_view>

#include "analyzer/analyses/operator_arguments.h"
#include "analyzer/analyses/operator_work.h"

namespace plumb {

[[nodiscard]] bool isMemoryOperator(std::string_view name);

// None when a shape or a type that it needs is missing.
[[nodiscard]] std::optional<OperatorWork> workOfMemoryOperator(std::string_view name,
                                                               const OperatorArguments& arguments);

}  // namespace plumb
