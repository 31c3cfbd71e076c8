// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/pooling_operators.h"

#include <algorithm>
#include <array>

#include "analyzer/analyses/operator_tensors.h"

namespace plumb {
namespace {

constexpr double kPositionBytes = 8;

// (input, kernel size, stride, padding, dilation of maxima, ceil_mode), adaptive: (input, size of the result).
struct Forward {
  std::string_view name;
  size_t dimensions;
  bool hasPositions;
  bool isAdaptive;
};
constexpr std::array kForward = std::to_array<Forward>({
    {"aten::_adaptive_avg_pool2d", 2, false, true},
    {"aten::_adaptive_avg_pool3d", 3, false, true},
    {"aten::adaptive_max_pool2d", 2, true, true},
    {"aten::adaptive_max_pool3d", 3, true, true},
    {"aten::avg_pool2d", 2, false, false},
    {"aten::avg_pool3d", 3, false, false},
    {"aten::max_pool2d_with_indices", 2, true, false},
    {"aten::max_pool3d_with_indices", 3, true, false},
});

// (gradient, input, …, positions of maxima)
struct Backward {
  std::string_view name;
  size_t positions;  // 0: none
};
constexpr std::array kBackward = std::to_array<Backward>({
    {"aten::_adaptive_avg_pool2d_backward", 0},
    {"aten::_adaptive_avg_pool3d_backward", 0},
    {"aten::adaptive_max_pool2d_backward", 2},
    {"aten::adaptive_max_pool3d_backward", 2},
    {"aten::avg_pool2d_backward", 0},
    {"aten::avg_pool3d_backward", 0},
    {"aten::max_pool2d_with_indices_backward", 7},
    {"aten::max_pool3d_with_indices_backward", 7},
});

// The value of a list of numbers for a dimension; a list of one is for all.
int64_t at(const Shape& list, size_t i) { return i < list.size() ? list[i] : list.back(); }

struct Window {
  double results = 1, elements = 1;  // per channel; of a window
};

std::optional<Window> windowOf(const Forward& entry, const OperatorArguments& arguments) {
  const auto numbers = [&](size_t place) { return shapeOf(arguments.value(place)).value_or(Shape()); };
  const Shape &input = arguments.shape(0), kernel = numbers(1), padding = numbers(3);
  Shape stride = numbers(2), dilation = entry.hasPositions ? numbers(4) : Shape{1};
  const std::string_view ceil = arguments.value(entry.hasPositions ? 5 : 4);
  if (stride.empty()) stride = kernel;
  if (kernel.empty() || padding.empty() || dilation.empty() || ceil.empty()) return std::nullopt;
  Window window;
  for (size_t d = 0; d < entry.dimensions; ++d) {
    const int64_t size = input[input.size() - entry.dimensions + d], step = std::max<int64_t>(at(stride, d), 1);
    const int64_t reach = size + 2 * at(padding, d) - at(dilation, d) * (at(kernel, d) - 1) - 1;
    if (reach < 0) return std::nullopt;
    int64_t results = reach / step + 1;
    // A last window that begins in the input or its left padding counts too.
    if (ceil == "True" && reach % step != 0 && results * step < size + at(padding, d)) ++results;
    window.results *= static_cast<double>(results);
    window.elements *= static_cast<double>(at(kernel, d));
  }
  return window;
}

std::optional<OperatorWork> workOfForward(const Forward& entry, const OperatorArguments& arguments) {
  const auto input = tensorAt(arguments, 0);
  const Shape& shape = arguments.shape(0);
  if (!input || shape.size() <= entry.dimensions) return std::nullopt;
  const double elements = product(shape), channels = elements / product(shape, shape.size() - entry.dimensions);
  if (!(elements > 0)) return std::nullopt;
  double results = channels, flops = elements, read = elements;
  if (entry.isAdaptive) {
    const Shape size = shapeOf(arguments.value(1)).value_or(Shape());
    if (size.empty()) return std::nullopt;
    for (size_t d = 0; d < entry.dimensions; ++d) results *= static_cast<double>(at(size, d));
  } else {
    const auto window = windowOf(entry, arguments);
    if (!window) return std::nullopt;
    results *= window->results;
    flops = results * window->elements;
    read = std::min(elements, flops);
  }
  const double written = results * (input->type->bytes + (entry.hasPositions ? kPositionBytes : 0));
  return memoryWork(flops, read * input->type->bytes, written, input->type);
}

std::optional<OperatorWork> workOfBackward(const Backward& entry, const OperatorArguments& arguments) {
  const auto gradient = tensorAt(arguments, 0), input = tensorAt(arguments, 1);
  if (!gradient || !input) return std::nullopt;
  double read = storedBytes(arguments, *gradient);
  if (entry.positions != 0) {
    const auto positions = tensorAt(arguments, entry.positions);
    if (!positions) return std::nullopt;
    read += storedBytes(arguments, *positions);
  }
  const double elements = product(arguments.shape(1));
  return memoryWork(entry.positions ? product(arguments.shape(0)) : elements, read, elements * gradient->type->bytes,
                    gradient->type);
}

}  // namespace

bool isPoolingOperator(std::string_view name) { return findEntry(kForward, name) || findEntry(kBackward, name); }

std::optional<OperatorWork> workOfPooling(std::string_view name, const OperatorArguments& arguments) {
  if (const auto* forward = findEntry(kForward, name)) return workOfForward(*forward, arguments);
  const auto* backward = findEntry(kBackward, name);
  const auto work = backward ? workOfBackward(*backward, arguments) : std::nullopt;
  return work && work->bytes > 0 ? work : std::nullopt;
}

}  // namespace plumb
