// SPDX-License-Identifier: Apache-2.0
// Convolutions: 2 FLOPs per multiply-add of each element of the result (forward) or of the result's gradient (backward,
// for each of the two gradients that is computed: of the input, of the weights). Bytes: input, weights and result once
// per product. Not transposed ones. The size of the result follows from strides, paddings and dilations, which are
// values of arguments; where values are not recorded, it is that of its gradient, in the backward operator of the same
// sequence number.
#pragma once
#include <optional>
#include <string_view>

#include "analyzer/analyses/operator_arguments.h"
#include "analyzer/analyses/operator_work.h"

namespace plumb {

[[nodiscard]] bool isConvolutionOperator(std::string_view name);
[[nodiscard]] std::optional<OperatorWork> workOfConvolution(std::string_view name, const OperatorArguments& arguments);

// cudnn_convolution_backward_input(size, gradient, weights, …) and …_backward_weight(size, gradient, input, …) of older
// versions of torch: the size is a value; where values are not recorded, the operator around it tells it:
// …_convolution_backward(input, gradient, weights, …).
[[nodiscard]] bool isConvolutionGradient(std::string_view name);
[[nodiscard]] std::optional<OperatorWork> workOfConvolutionGradient(std::string_view name,
                                                                    const OperatorArguments& arguments,
                                                                    const OperatorArguments& around);

// The shapes that a backward operator, …convolution_backward, tells; none of others.
struct ConvolutionShapes {
  Shape input, weights, result;
};
[[nodiscard]] std::optional<ConvolutionShapes> shapesOfConvolutionBackward(std::string_view name,
                                                                           const OperatorArguments& arguments);
// Of a forward operator whose values are not recorded, with the result's size from its backward. None if that is of
// another input or other weights.
[[nodiscard]] std::optional<OperatorWork> workOfConvolution(std::string_view name, const OperatorArguments& arguments,
                                                            const ConvolutionShapes& backward);

}  // namespace plumb
