// SPDX-License-Identifier: Apache-2.0
// Fused attention: torch's flash, memory-efficient and cuDNN kernels, and those of the package flash-attn. FLOPs: of
// its products, for each pair of a query and a key that is not masked away: 2 per element of a key's and of a value's
// head (scores and their sum of values); backward the scores again and the four products of the gradients (of values,
// probabilities, queries and keys): 2 (3 of a key's head + 2 of a value's). A causal mask leaves about half of the
// pairs; other masks are taken as leaving all. Bytes: queries, keys, values, mask and result (backward: also its
// gradient and the three gradients) once: a lower bound. The logarithms of the sums that forward leaves to backward are
// left out: they are small.
#pragma once
#include <optional>
#include <string_view>

#include "analyzer/analyses/operator_arguments.h"
#include "analyzer/analyses/operator_work.h"

namespace plumb {

[[nodiscard]] bool isAttentionOperator(std::string_view name);

// None for sequences packed one after another (their lengths are data), for windows, and where it is not told whether
// the mask is causal.
[[nodiscard]] std::optional<OperatorWork> workOfAttention(std::string_view name, const OperatorArguments& arguments);

}  // namespace plumb
