// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/convolution_operators.h"

#include <algorithm>
#include <array>

#include "analyzer/analyses/operator_tensors.h"

namespace plumb {
namespace {

struct Counted {
  double flops, elements;  // elements: of operands and results
};

// Where an operator of convolution has its stride, padding and dilation among its arguments.
struct ConvolutionPlaces {
  std::string_view name;
  size_t stride, padding, dilation;
};
constexpr std::array<ConvolutionPlaces, 4> kConvolutions = {{{"aten::convolution", 3, 4, 5},
                                                             {"aten::_convolution", 3, 4, 5},
                                                             {"aten::cudnn_convolution", 3, 2, 4},
                                                             {"aten::miopen_convolution", 4, 3, 5}}};

// [N, C, spatial…] with weights [O, C / groups, kernel…]; not transposed.
std::optional<Counted> convolution(const OperatorArguments& arguments, const ConvolutionPlaces& places) {
  const Shape &input = arguments.shape(0), &weight = arguments.shape(1);
  if (input.size() < 3 || weight.size() != input.size()) return std::nullopt;
  const bool mayBeTransposed = places.name.ends_with("::convolution") || places.name.ends_with("_convolution");
  if (mayBeTransposed && places.stride == 3 && places.padding == 4 && arguments.value(6) == "True") return std::nullopt;
  const auto numbers = [&](size_t place) { return shapeOf(arguments.value(place)).value_or(Shape()); };
  const Shape stride = numbers(places.stride), padding = numbers(places.padding), dilation = numbers(places.dilation);
  if (stride.empty() || padding.empty() || dilation.empty()) return std::nullopt;
  const auto at = [](const Shape& shape, size_t i) { return i < shape.size() ? shape[i] : shape.back(); };
  double outputs = static_cast<double>(input[0]) * static_cast<double>(weight[0]);
  for (size_t i = 2; i < input.size(); ++i) {
    const int64_t step = std::max<int64_t>(at(stride, i - 2), 1);
    const int64_t reach = input[i] + 2 * at(padding, i - 2) - at(dilation, i - 2) * (weight[i] - 1) - 1;
    if (reach < 0) return std::nullopt;
    const int64_t results = reach / step + 1;
    outputs *= static_cast<double>(results);
  }
  return Counted{2 * outputs * product(weight, 1), product(input) + product(weight) + outputs};
}

// (grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, output_mask)
std::optional<Counted> convolutionBackward(const OperatorArguments& arguments) {
  const Shape &gradient = arguments.shape(0), &input = arguments.shape(1), &weight = arguments.shape(2);
  if (gradient.size() < 3 || weight.size() != gradient.size() || arguments.value(7) == "True") return std::nullopt;
  const auto mask = elementsOf(arguments.value(10));
  if (mask.size() < 2) return std::nullopt;
  const double count = (mask[0] == "True" ? 1 : 0) + (mask[1] == "True" ? 1 : 0);
  if (count == 0) return std::nullopt;
  const double elements = product(gradient) + product(input) + product(weight);
  return Counted{2 * product(gradient) * product(weight, 1) * count, elements * count};
}

// The result, or a gradient of the input or of the weights.
std::optional<Counted> oneProduct(const Shape& result, const Shape& input, const Shape& weight) {
  if (result.size() < 3 || input.size() != result.size() || weight.size() != result.size()) return std::nullopt;
  if (result[0] != input[0] || result[1] != weight[0]) return std::nullopt;  // transposed
  return Counted{2 * product(result) * product(weight, 1), product(result) + product(input) + product(weight)};
}

std::optional<OperatorWork> inTypeOf(const OperatorArguments& arguments, const std::optional<Counted>& counted) {
  const ElementType* type = arguments.type(1);  // of the weights or the gradient
  if (!counted || counted->flops <= 0 || !type || type->precision.empty()) return std::nullopt;
  return OperatorWork{counted->flops, counted->elements * type->bytes, std::string(type->precision),
                      type->precision == "fp32"};
}

constexpr std::string_view kBackward = "aten::convolution_backward";

}  // namespace

bool isConvolutionOperator(std::string_view name) {
  return name == kBackward || findEntry(kConvolutions, name) != nullptr;
}

std::optional<OperatorWork> workOfConvolution(std::string_view name, const OperatorArguments& arguments) {
  if (name == kBackward) return inTypeOf(arguments, convolutionBackward(arguments));
  const auto* places = findEntry(kConvolutions, name);
  return places ? inTypeOf(arguments, convolution(arguments, *places)) : std::nullopt;
}

bool isConvolutionGradient(std::string_view name) {
  static constexpr std::array<std::string_view, 4> kNames = {
      "aten::cudnn_convolution_backward_input", "aten::cudnn_convolution_backward_weight",
      "aten::miopen_convolution_backward_input", "aten::miopen_convolution_backward_weight"};
  return std::ranges::find(kNames, name) != kNames.end();
}

std::optional<OperatorWork> workOfConvolutionGradient(std::string_view name, const OperatorArguments& arguments,
                                                      const OperatorArguments& around) {
  const bool isOfInput = name.ends_with("_input");
  Shape size = shapeOf(arguments.value(0)).value_or(Shape());
  if (size.empty()) size = around.shape(isOfInput ? 0 : 2);
  const Shape &gradient = arguments.shape(1), &other = arguments.shape(2);
  return inTypeOf(arguments, isOfInput ? oneProduct(gradient, size, other) : oneProduct(gradient, other, size));
}

std::optional<ConvolutionShapes> shapesOfConvolutionBackward(std::string_view name,
                                                             const OperatorArguments& arguments) {
  if (name == "aten::cudnn_convolution_backward" || name == "aten::miopen_convolution_backward") {
    return ConvolutionShapes{arguments.shape(0), arguments.shape(2), arguments.shape(1)};
  }
  if (name != kBackward) return std::nullopt;
  return ConvolutionShapes{arguments.shape(1), arguments.shape(2), arguments.shape(0)};
}

std::optional<OperatorWork> workOfConvolution(std::string_view name, const OperatorArguments& arguments,
                                              const ConvolutionShapes& backward) {
  if (!findEntry(kConvolutions, name) || arguments.hasValues()) return std::nullopt;
  if (arguments.shape(0) != backward.input || arguments.shape(1) != backward.weights) return std::nullopt;
  return inTypeOf(arguments, oneProduct(backward.result, backward.input, backward.weights));
}

}  // namespace plumb
