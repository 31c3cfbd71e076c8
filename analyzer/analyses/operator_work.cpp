// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/operator_work.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "analyzer/analyses/attention_operators.h"
#include "analyzer/analyses/convolution_operators.h"
#include "analyzer/analyses/fbgemm_operators.h"
#include "analyzer/analyses/list_operators.h"
#include "analyzer/analyses/lookup_operators.h"
#include "analyzer/analyses/memory_operators.h"
#include "analyzer/analyses/operator_arguments.h"
#include "analyzer/analyses/pooling_operators.h"

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

// The vector counts as a matrix of one column.
std::optional<Counted> matrixVector(const Shape& matrix, const Shape& vector) {
  if (matrix.size() != 2 || vector.size() != 1) return std::nullopt;
  return matrixProduct(matrix, {vector[0], 1});
}

std::optional<Counted> countFor(std::string_view name, const OperatorArguments& arguments) {
  if (name == "aten::mm" || name == "aten::bmm" || name == "aten::_scaled_mm") {
    return matrixProduct(arguments.shape(0), arguments.shape(1));
  }
  if (name.starts_with("aten::addmv")) return matrixVector(arguments.shape(1), arguments.shape(2));
  if (name == "aten::linear") return linear(arguments.shape(0), arguments.shape(1));
  return matrixProduct(arguments.shape(1), arguments.shape(2));
}

bool isProduct(std::string_view name) {
  static constexpr std::array<std::string_view, 9> kNames = {
      "aten::mm",      "aten::bmm",    "aten::_scaled_mm", "aten::addmm", "aten::_addmm_activation",
      "aten::baddbmm", "aten::linear", "aten::addmv",      "aten::addmv_"};
  return std::ranges::find(kNames, name) != kNames.end();
}

std::optional<OperatorWork> workOfProduct(std::string_view name, const OperatorArguments& arguments) {
  const auto counted = countFor(name, arguments);
  if (!counted || counted->flops <= 0) return std::nullopt;
  // Of the operands the first may be a bias; the second is one of the product.
  const ElementType* type = arguments.type(1);
  if (!type || type->precision.empty()) return std::nullopt;
  return OperatorWork{counted->flops, counted->elements * type->bytes, std::string(type->precision),
                      type->precision == "fp32"};
}

struct Family {
  bool (*has)(std::string_view name);
  std::optional<OperatorWork> (*work)(std::string_view name, const OperatorArguments& arguments);
};
constexpr Family kFamilies[] = {
    {isProduct, workOfProduct},
    {isConvolutionOperator, workOfConvolution},
    {isAttentionOperator, workOfAttention},
    {isMemoryOperator, workOfMemoryOperator},
    {isLookupOperator, workOfLookup},
    {isPoolingOperator, workOfPooling},
    {isFbgemmOperator, workOfFbgemm},
};

const Family* familyOf(std::string_view name) {
  const auto* found = std::ranges::find_if(kFamilies, [&](const Family& family) { return family.has(name); });
  return found == std::end(kFamilies) ? nullptr : found;
}

// What shapes cannot tell. A name that ends with * stands for all that begin so.
struct Undetermined {
  std::string_view name, why;
};
constexpr std::string_view kIndexShapes =
    "the shapes of its indices, which say how many elements it moves, are not recorded";
constexpr std::string_view kResultIsData = "the size of its result follows from its data";
constexpr std::string_view kRowsAreData = "how many different rows of its tables it touches is in its indices";
constexpr std::string_view kCopiesAreData = "how much its permutation repeats or leaves out is data";
constexpr Undetermined kUndetermined[] = {
    {"aten::_index_put_impl_", kIndexShapes},
    {"aten::_unique2", kResultIsData},
    {"aten::index", kIndexShapes},
    {"aten::index_put_", kIndexShapes},
    {"aten::masked_scatter*", kResultIsData},
    {"aten::masked_select", kResultIsData},
    {"aten::nonzero", kResultIsData},
    {"aten::repeat_interleave", kResultIsData},
    {"fbgemm::dense_embedding*", kRowsAreData},
    {"fbgemm::permute_1D_sparse_data", kCopiesAreData},
    {"fbgemm::permute_2D_sparse_data", kCopiesAreData},
    {"fbgemm::permute_sparse_features", kCopiesAreData},
    {"fbgemm::split_embedding*", kRowsAreData},
    {"torch::autograd::CppNode<SplitLookup*", kRowsAreData},
    {"triton_*", "what a generated kernel reads of its arguments is in its code"},
};

bool matches(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return name == pattern;
  pattern.remove_suffix(1);
  return name.starts_with(pattern);
}

}  // namespace

bool hasWorkFormula(std::string_view name) {
  return familyOf(name) != nullptr || isConvolutionGradient(name) || isListOperator(name);
}

std::optional<OperatorWork> workOfOperator(std::string_view name, std::string_view dims, std::string_view types,
                                           std::string_view values, std::string_view strides) {
  const OperatorArguments arguments(dims, types, values, strides);
  if (isConvolutionGradient(name)) return workOfConvolutionGradient(name, arguments, OperatorArguments({}, {}, {}, {}));
  const Family* family = familyOf(name);
  return family ? family->work(name, arguments) : std::nullopt;
}

std::string whyWorkIsUnknown(std::string_view name, std::string_view dims, std::string_view types,
                             std::string_view values) {
  const auto* found = std::ranges::find_if(kUndetermined, [&](const Undetermined& u) { return matches(u.name, name); });
  if (found != std::end(kUndetermined)) return std::string(found->why);
  if (!hasWorkFormula(name)) return "no formula is known for this operator";
  const OperatorArguments arguments(dims, types, values, {});
  if (arguments.count() == 0) return "the types of its arguments are not recorded";
  size_t list = 0;
  while (list < arguments.count() && !arguments.isList(list)) ++list;
  if (list < arguments.count()) {
    if (!arguments.list(list)) {
      return "the shapes of its lists of tensors are not recorded (newer versions of torch do, of lists of up to "
             "30 tensors)";
    }
    return "the types of its lists of tensors are not recorded, and no kernel's name tells them";
  }
  if (!arguments.hasValues()) {
    return "the values of its arguments (strides, dimensions, masks), which its work depends on, are not recorded "
           "(newer versions of torch do)";
  }
  return "shapes, types or values of its arguments are missing, or of a kind that its formula does not cover";
}

}  // namespace plumb
