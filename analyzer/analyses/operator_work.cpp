// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/operator_work.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "analyzer/analyses/memory_operators.h"
#include "analyzer/analyses/operator_arguments.h"

namespace plumb {
namespace {

struct Counted {
  double flops, elements;  // elements: of operands and result
};

// [.., m, k] x [.., k, n]
std::optional<Counted> matrixProduct(const Shape& a, const Shape& b) {
  if (a.size() < 2 || b.size() != a.size() || a.back() != b[b.size() - 2]) return std::nullopt;
  const double batchedM = product(a) / std::max(static_cast<double>(a.back()), 1.0);
  const double n = static_cast<double>(b.back());
  if (a.back() == 0) return std::nullopt;
  return Counted{2 * batchedM * n * static_cast<double>(a.back()), product(a) + product(b) + batchedM * n};
}

std::optional<Counted> linear(const Shape& input, const Shape& weight) {
  if (input.empty() || weight.size() != 2 || input.back() != weight[1] || input.back() == 0) return std::nullopt;
  const double rows = product(input) / static_cast<double>(input.back());
  const double n = static_cast<double>(weight[0]);
  return Counted{2 * rows * n * static_cast<double>(weight[1]), product(input) + product(weight) + rows * n};
}

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
    outputs *= static_cast<double>(reach / step + 1);
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

std::optional<Counted> countFor(std::string_view name, const OperatorArguments& arguments) {
  if (name == "aten::mm" || name == "aten::bmm" || name == "aten::_scaled_mm") {
    return matrixProduct(arguments.shape(0), arguments.shape(1));
  }
  if (name == "aten::addmm" || name == "aten::baddbmm" || name == "aten::_addmm_activation") {
    return matrixProduct(arguments.shape(1), arguments.shape(2));
  }
  if (name == "aten::linear") return linear(arguments.shape(0), arguments.shape(1));
  if (name == "aten::convolution_backward") return convolutionBackward(arguments);
  const auto places = std::ranges::find(kConvolutions, name, &ConvolutionPlaces::name);
  return places == kConvolutions.end() ? std::nullopt : convolution(arguments, *places);
}

bool isProduct(std::string_view name) {
  static constexpr std::array<std::string_view, 8> kNames = {
      "aten::mm",      "aten::bmm",    "aten::_scaled_mm",          "aten::addmm", "aten::_addmm_activation",
      "aten::baddbmm", "aten::linear", "aten::convolution_backward"};
  return std::ranges::find(kNames, name) != kNames.end() ||
         std::ranges::find(kConvolutions, name, &ConvolutionPlaces::name) != kConvolutions.end();
}

}  // namespace

bool hasWorkFormula(std::string_view name) { return isProduct(name) || isMemoryOperator(name); }

std::optional<OperatorWork> workOfOperator(std::string_view name, std::string_view dims, std::string_view types,
                                           std::string_view values, std::string_view strides) {
  const OperatorArguments arguments(dims, types, values, strides);
  if (!isProduct(name)) return workOfMemoryOperator(name, arguments);
  const auto counted = countFor(name, arguments);
  if (!counted || counted->flops <= 0) return std::nullopt;
  // Of the operands the first may be a bias; the second is one of the product.
  const ElementType* type = arguments.type(1);
  if (!type || type->precision.empty()) return std::nullopt;
  return OperatorWork{counted->flops, counted->elements * type->bytes, std::string(type->precision),
                      type->precision == "fp32"};
}

}  // namespace plumb
