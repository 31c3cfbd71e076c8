// SPDX-License-Identifier: Apache-2.0
// Operators of FBGEMM (recommendation models) whose traffic follows from shapes: conversions to 8 bits and back, row by
// row (each row of integers is padded to four and followed by its scale and bias, two floats) or element by element,
// permutations of pooled embeddings, checks of indices and cumulative sums of lengths. Bytes: what is read and what is
// written, once. FLOPs: of a conversion two per element (scale and bias). Its lookups and updates of tables have none:
// how many different rows they touch is data.
#pragma once
#include <optional>
#include <string_view>

#include "analyzer/analyses/operator_arguments.h"
#include "analyzer/analyses/operator_work.h"

namespace plumb {

[[nodiscard]] bool isFbgemmOperator(std::string_view name);
[[nodiscard]] std::optional<OperatorWork> workOfFbgemm(std::string_view name, const OperatorArguments& arguments);

}  // namespace plumb
