// SPDX-License-Identifier: Apache-2.0
// Pooling of the last dimensions by maxima or averages, and its backward. Bytes: the input (of windows that do not
// touch the part in them) and the result once, and the positions of the maxima (int64); backward the result's gradient
// and the positions, and the input's gradient. FLOPs: one per element of each window (adaptive averages: of the input);
// backward one per element of the result's gradient for maxima, of the input's for averages. The size of the result
// follows from kernel size, stride, padding and dilation, which are values of arguments.
#pragma once
#include <optional>
#include <string_view>

#include "analyzer/analyses/operator_arguments.h"
#include "analyzer/analyses/operator_work.h"

namespace plumb {

[[nodiscard]] bool isPoolingOperator(std::string_view name);
[[nodiscard]] std::optional<OperatorWork> workOfPooling(std::string_view name, const OperatorArguments& arguments);

}  // namespace plumb
