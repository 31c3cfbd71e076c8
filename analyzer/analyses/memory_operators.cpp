// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/memory_operators.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "analyzer/analyses/operator_tensors.h"

namespace plumb {
namespace {

enum class Result : uint8_t {
  Promoted,  // the type that torch's promotion of the inputs gives
  Float,     // the same, and fp32 for integers
  Bool,
  Index,  // int64
};

struct Elementwise {
  std::string_view name;  // without aten:: and without the _ of those in place
  size_t inputs;          // the first of its arguments, of which some may be numbers; what follows them is not read
  double flops;           // per element of the result
  Result result = Result::Promoted;
};
constexpr std::array kElementwise = std::to_array<Elementwise>({
    // one tensor
    {"abs", 1, 1},
    {"bitwise_not", 1, 0},
    {"ceil", 1, 1},
    {"celu", 1, 1},
    {"clamp", 3, 1},
    {"clamp_max", 2, 1},
    {"clamp_min", 2, 1},
    {"cos", 1, 1, Result::Float},
    {"cumprod", 1, 1},
    {"cumsum", 1, 1},
    {"elu", 1, 1},
    {"erf", 1, 1, Result::Float},
    {"erfc", 1, 1, Result::Float},
    {"erfinv", 1, 1, Result::Float},
    {"exp", 1, 1, Result::Float},
    {"exp2", 1, 1, Result::Float},
    {"expm1", 1, 1, Result::Float},
    {"floor", 1, 1},
    {"gelu", 1, 1},
    {"hardsigmoid", 1, 1},
    {"hardswish", 1, 1},
    {"hardtanh", 1, 1},
    {"isfinite", 1, 0, Result::Bool},
    {"isinf", 1, 0, Result::Bool},
    {"isnan", 1, 0, Result::Bool},
    {"leaky_relu", 1, 1},
    {"log", 1, 1, Result::Float},
    {"log10", 1, 1, Result::Float},
    {"log1p", 1, 1, Result::Float},
    {"log2", 1, 1, Result::Float},
    {"log_sigmoid", 1, 1},
    {"log_sigmoid_forward", 1, 1},
    {"logical_not", 1, 0, Result::Bool},
    {"logit", 1, 1, Result::Float},
    {"mish", 1, 1},
    {"nan_to_num", 1, 0},
    {"neg", 1, 1},
    {"reciprocal", 1, 1, Result::Float},
    {"relu", 1, 1},
    {"round", 1, 1},
    {"rsqrt", 1, 1, Result::Float},
    {"sgn", 1, 0},
    {"sigmoid", 1, 1, Result::Float},
    {"sign", 1, 0},
    {"silu", 1, 1},
    {"sin", 1, 1, Result::Float},
    {"softplus", 1, 1},
    {"sqrt", 1, 1, Result::Float},
    {"tan", 1, 1, Result::Float},
    {"tanh", 1, 1, Result::Float},
    {"threshold", 1, 1},
    {"tril", 1, 0},
    {"triu", 1, 0},
    {"trunc", 1, 1},
    // two
    {"_masked_scale", 2, 2},
    {"_prelu_kernel", 2, 1},
    {"add", 2, 1},
    {"atan2", 2, 1, Result::Float},
    {"binary_cross_entropy", 2, 6},  // the reduction is an operator of its own, as of the other losses
    {"bitwise_and", 2, 0},
    {"bitwise_or", 2, 0},
    {"bitwise_xor", 2, 0},
    {"copysign", 2, 0, Result::Float},
    {"div", 2, 1, Result::Float},
    {"elu_backward", 6, 1},
    {"eq", 2, 0, Result::Bool},
    {"floor_divide", 2, 1},
    {"fmod", 2, 1},
    {"ge", 2, 0, Result::Bool},
    {"gelu_backward", 2, 1},
    {"gt", 2, 0, Result::Bool},
    {"hardsigmoid_backward", 2, 1},
    {"hardswish_backward", 2, 1},
    {"hardtanh_backward", 2, 1},
    {"huber_loss", 2, 3},
    {"le", 2, 0, Result::Bool},
    {"leaky_relu_backward", 2, 1},
    {"log_sigmoid_backward", 2, 1},
    {"logaddexp", 2, 4, Result::Float},
    {"logical_and", 2, 0, Result::Bool},
    {"logical_or", 2, 0, Result::Bool},
    {"logical_xor", 2, 0, Result::Bool},
    {"logit_backward", 2, 3},
    {"lt", 2, 0, Result::Bool},
    {"masked_fill", 2, 0},
    {"maximum", 2, 1},
    {"minimum", 2, 1},
    {"mish_backward", 2, 1},
    {"mse_loss", 2, 2},
    {"mul", 2, 1},
    {"native_dropout_backward", 2, 2},
    {"ne", 2, 0, Result::Bool},
    {"pow", 2, 1},
    {"remainder", 2, 1},
    {"rsub", 2, 1},
    {"sigmoid_backward", 2, 1},
    {"silu_backward", 2, 1},
    {"smooth_l1_loss", 2, 3},
    {"softplus_backward", 2, 1},
    {"sub", 2, 1},
    {"tanh_backward", 2, 1},
    {"threshold_backward", 2, 1},
    {"xlogy", 2, 2, Result::Float},
    // three
    {"_s_where", 3, 0},
    {"addcdiv", 3, 3},
    {"addcmul", 3, 3},
    {"binary_cross_entropy_backward", 3, 5},
    {"huber_loss_backward", 3, 3},
    {"lerp", 3, 3},
    {"mse_loss_backward", 3, 3},
    {"smooth_l1_loss_backward", 3, 3},
    {"where", 3, 0},
    // Per element: the maximum, the difference to it, exp, the sum, and the quotient (or the difference of logarithms);
    // backward: the product of gradient and result, its sum, and the product with the difference.
    {"_log_softmax", 1, 5},
    {"_log_softmax_backward_data", 2, 4},
    {"_softmax", 1, 5},
    {"_softmax_backward_data", 2, 4},
});

struct Reduction {
  std::string_view name;
  size_t dimensions;  // which argument says what is reduced
  double flops;       // per element that is read
  Result result = Result::Promoted;
};
constexpr std::array kReductions = std::to_array<Reduction>({
    {"all", 1, 0, Result::Bool},
    {"amax", 1, 1},
    {"amin", 1, 1},
    {"any", 1, 0, Result::Bool},
    {"argmax", 1, 1, Result::Index},
    {"argmin", 1, 1, Result::Index},
    {"linalg_vector_norm", 2, 2},
    {"logsumexp", 1, 4},
    {"max", 1, 1},
    {"mean", 1, 1},
    {"min", 1, 1},
    {"norm", 2, 2},
    {"prod", 1, 1},
    {"std", 1, 4},
    {"sum", 1, 1},
    {"var", 1, 4},
    {"var_mean", 1, 4},
});

// Per element forward: sum, difference to the mean, its square, their sum, scale, weight and bias (RMS: without mean
// and bias); backward: the two sums that the gradient of the input needs, that gradient, and those of weight and bias.
// Normalization over ranks has these parts in operators of their own (batch_norm_stats …).
struct Normalization {
  std::string_view name;
  size_t weight;  // which argument
  bool isBackward;
  double flops;
  bool writesResult = true;  // else only statistics
};
constexpr std::array kNormalizations = std::to_array<Normalization>({
    {"_batch_norm_with_update", 1, false, 7},
    {"_fused_rms_norm", 2, false, 4},
    {"_fused_rms_norm_backward", 4, true, 9},
    {"_native_batch_norm_legit", 1, false, 7},
    {"_native_batch_norm_legit_no_training", 1, false, 4},
    {"batch_norm_backward", 2, true, 13},
    {"batch_norm_backward_elemt", 4, false, 5},
    {"batch_norm_backward_reduce", 4, false, 4, false},
    {"batch_norm_elemt", 1, false, 4},
    {"batch_norm_stats", 1, false, 4, false},
    {"cudnn_batch_norm", 1, false, 7},
    {"cudnn_batch_norm_backward", 2, true, 13},
    {"miopen_batch_norm", 1, false, 7},
    {"miopen_batch_norm_backward", 2, true, 13},
    {"native_batch_norm", 1, false, 7},
    {"native_batch_norm_backward", 2, true, 13},
    {"native_group_norm", 1, false, 7},
    {"native_group_norm_backward", 4, true, 13},
    {"native_layer_norm", 2, false, 7},
    {"native_layer_norm_backward", 5, true, 13},
});

// The shape that broadcasting gives; none when they do not fit.
std::optional<Shape> broadcast(const OperatorArguments& arguments, const std::vector<Tensor>& tensors) {
  Shape result;
  for (const Tensor& tensor : tensors) {
    const Shape& shape = arguments.shape(tensor.place);
    if (shape.size() > result.size()) result.insert(result.begin(), shape.size() - result.size(), 1);
    const size_t offset = result.size() - shape.size();
    for (size_t i = 0; i < shape.size(); ++i) {
      int64_t& size = result[offset + i];
      if (size == 1) {
        size = shape[i];
      } else if (shape[i] != 1 && shape[i] != size) {
        return std::nullopt;
      }
    }
  }
  return result;
}

// torch's promotion: the widest of the highest kind; tensors without dimensions count only when their kind is higher.
const ElementType* promoted(const OperatorArguments& arguments, const std::vector<Tensor>& tensors) {
  const auto higher = [](const ElementType* a, const ElementType* b) {
    if (!a || !b) return a ? a : b;
    if (a->kind != b->kind) return a->kind > b->kind ? a : b;
    if (a->bytes == 2 && b->bytes == 2 && a->torch != b->torch && a->kind == ElementType::Kind::Floating) {
      return elementTypeOf("float");  // fp16 with bf16
    }
    return a->bytes >= b->bytes ? a : b;
  };
  const ElementType *dimensioned = nullptr, *numbers = nullptr;
  for (const Tensor& tensor : tensors) {
    const ElementType*& group = arguments.shape(tensor.place).empty() ? numbers : dimensioned;
    group = higher(group, tensor.type);
  }
  if (!dimensioned || (numbers && numbers->kind > dimensioned->kind)) return numbers;
  return dimensioned;
}

const ElementType* resultType(Result result, const ElementType* input) {
  switch (result) {
    case Result::Promoted:
      return input;
    case Result::Float:
      return input->kind == ElementType::Kind::Floating ? input : elementTypeOf("float");
    case Result::Bool:
      return elementTypeOf("bool");
    case Result::Index:
      return elementTypeOf("long int");
  }
  return input;
}

std::optional<OperatorWork> workOfElementwise(const Elementwise& entry, std::string_view name,
                                              const OperatorArguments& arguments) {
  const auto tensors = tensorsOf(arguments, entry.inputs);
  if (!tensors || tensors->empty()) return std::nullopt;
  const ElementType* input = promoted(arguments, *tensors);
  const ElementType* output = resultType(entry.result, input);
  const ElementType* computed = entry.result == Result::Float ? output : input;
  std::optional<Shape> shape = broadcast(arguments, *tensors);
  if (!shape) return std::nullopt;
  if (isInPlace(name)) {
    if (tensors->front().place != 0) return std::nullopt;
    output = tensors->front().type;
    shape = arguments.shape(0);
  } else if (entry.name.ends_with("_softmax") && arguments.value(2) == "True") {
    output = elementTypeOf("float");  // half_to_float
  }
  const double elements = product(*shape);
  return memoryWork(entry.flops * elements, storedBytes(arguments, *tensors), elements * output->bytes, computed);
}

// copy_(self, source): the source is read.
std::optional<OperatorWork> workOfCopy(const OperatorArguments& arguments) {
  const auto self = tensorAt(arguments, 0), source = tensorAt(arguments, 1);
  if (!self || !source) return std::nullopt;
  const double written = storedBytes(arguments, *self);
  return OperatorWork{0, written + storedBytes(arguments, *source), "", false, written};
}

// Also of random numbers; bernoulli_ may read their probabilities.
std::optional<OperatorWork> workOfFill(std::string_view name, const OperatorArguments& arguments) {
  const auto self = tensorAt(arguments, 0);
  if (!self) return std::nullopt;
  const double written = storedBytes(arguments, *self);
  const auto probabilities = name == "aten::bernoulli_" ? tensorAt(arguments, 1) : std::nullopt;
  return OperatorWork{0, written + (probabilities ? storedBytes(arguments, *probabilities) : 0), "", false, written};
}

// The result and a mask of it: native_dropout(input, p, train), _fused_dropout(self, p).
std::optional<OperatorWork> workOfDropout(const OperatorArguments& arguments) {
  const auto input = tensorAt(arguments, 0);
  if (!input || arguments.value(2) == "False") return std::nullopt;
  const double elements = product(arguments.shape(0));
  return memoryWork(2 * elements, storedBytes(arguments, *input), elements * (input->type->bytes + 1), input->type);
}

// arange(start, end, step, out).
std::optional<OperatorWork> workOfRange(const OperatorArguments& arguments) {
  const auto result = tensorAt(arguments, 3);
  const auto start = integerOf(arguments.value(0)), end = integerOf(arguments.value(1)),
             step = integerOf(arguments.value(2));
  if (!result || !start || !end || !step || *step == 0) return std::nullopt;
  const double count = (static_cast<double>(*end) - static_cast<double>(*start)) / static_cast<double>(*step);
  const double written = std::ceil(std::max(count, 0.0)) * result->type->bytes;
  return OperatorWork{0, written, "", false, written};
}

// What remains of a shape when the dimensions of a text ("[-1]", "1") are reduced; none when it names no dimension.
std::optional<double> remaining(const Shape& shape, std::string_view text) {
  const std::vector<std::string_view> list =
      text.starts_with('[') ? elementsOf(text) : std::vector<std::string_view>{text};
  const auto count = static_cast<int64_t>(shape.size());
  double elements = product(shape);
  if (list.empty()) return std::nullopt;
  for (const std::string_view element : list) {
    const std::optional<int64_t> place = integerOf(element);
    if (!place || *place < -count || *place >= count) return std::nullopt;
    const int64_t size = shape[static_cast<size_t>(*place < 0 ? *place + count : *place)];
    if (size == 0) return 0;
    elements /= static_cast<double>(size);
  }
  return elements;
}

// Where the text does not say which dimensions, the result counts as one element: no more than a lower bound.
std::optional<OperatorWork> workOfReduction(const Reduction& entry, const OperatorArguments& arguments) {
  const auto tensors = tensorsOf(arguments, 1);
  if (!tensors || tensors->empty()) return std::nullopt;
  const ElementType* input = tensors->front().type;
  const double elements = product(arguments.shape(0));
  const double written = remaining(arguments.shape(0), arguments.value(entry.dimensions)).value_or(1);
  return memoryWork(entry.flops * elements, storedBytes(arguments, *tensors),
                    written * resultType(entry.result, input)->bytes, input);
}

// All tensors are read; the result or the input's gradient, and the gradients of weight and bias, are written. The
// statistics that a forward operator keeps are left out: they are small.
std::optional<OperatorWork> workOfNormalization(const Normalization& entry, const OperatorArguments& arguments) {
  const auto tensors = tensorsOf(arguments, arguments.count());
  if (!tensors || tensors->empty() || tensors->front().place != 0) return std::nullopt;
  const ElementType* input = tensors->front().type;
  const double elements = product(arguments.shape(0));
  double written = entry.writesResult ? elements * input->bytes : 0;
  if (const ElementType* weight = arguments.type(entry.weight); entry.isBackward && weight) {
    written += 2 * product(arguments.shape(entry.weight)) * weight->bytes;
  }
  return memoryWork(entry.flops * elements, storedBytes(arguments, *tensors), written, input);
}

bool isFill(std::string_view name) {
  static constexpr std::array<std::string_view, 8> kFills = {"aten::bernoulli_", "aten::cauchy_", "aten::exponential_",
                                                             "aten::fill_",      "aten::normal_", "aten::random_",
                                                             "aten::uniform_",   "aten::zero_"};
  return std::ranges::find(kFills, name) != kFills.end();
}

bool isDropout(std::string_view name) { return name == "aten::native_dropout" || name == "aten::_fused_dropout"; }

constexpr std::string_view kRange = "aten::arange";

}  // namespace

bool isMemoryOperator(std::string_view name) {
  const std::string_view plain = atenStem(name);
  return name == "aten::copy_" || isFill(name) || isDropout(name) || name == kRange || findEntry(kElementwise, plain) ||
         findEntry(kReductions, plain) || findEntry(kNormalizations, plain);
}

std::optional<OperatorWork> workOfMemoryOperator(std::string_view name, const OperatorArguments& arguments) {
  std::optional<OperatorWork> work;
  const std::string_view plain = atenStem(name);
  if (name == "aten::copy_") {
    work = workOfCopy(arguments);
  } else if (isFill(name)) {
    work = workOfFill(name, arguments);
  } else if (isDropout(name)) {
    work = workOfDropout(arguments);
  } else if (name == kRange) {
    work = workOfRange(arguments);
  } else if (const auto* elementwise = findEntry(kElementwise, plain)) {
    work = workOfElementwise(*elementwise, name, arguments);
  } else if (const auto* reduction = findEntry(kReductions, plain)) {
    work = workOfReduction(*reduction, arguments);
  } else if (const auto* normalization = findEntry(kNormalizations, plain)) {
    work = workOfNormalization(*normalization, arguments);
  }
  return work && work->bytes > 0 ? work : std::nullopt;
}

}  // namespace plumb
