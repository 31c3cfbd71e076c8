// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/fbgemm_operators.h"

#include <array>

#include "analyzer/analyses/operator_tensors.h"

namespace plumb {
namespace {

constexpr double kFloat = 4;
constexpr int64_t kScaleAndBias = 8;
constexpr int64_t kAlignment = 4;

std::optional<OperatorWork> conversion(const OperatorArguments& arguments, double flops, double written) {
  const auto input = tensorAt(arguments, 0);
  return memoryWork(flops, storedBytes(arguments, *input), written, elementTypeOf("float"));
}

std::optional<OperatorWork> toRows(const OperatorArguments& arguments) {
  const Shape& shape = arguments.shape(0);
  if (!tensorAt(arguments, 0) || shape.empty() || shape.back() == 0) return std::nullopt;
  const double elements = product(shape), rows = elements / static_cast<double>(shape.back());
  const int64_t padded = (shape.back() + kAlignment - 1) / kAlignment * kAlignment;
  return conversion(arguments, 2 * elements, rows * static_cast<double>(padded + kScaleAndBias));
}

// The third argument, if any, is the type of the result: 0 float.
std::optional<OperatorWork> fromRows(const OperatorArguments& arguments) {
  const Shape& shape = arguments.shape(0);
  if (!tensorAt(arguments, 0) || shape.empty() || shape.back() <= kScaleAndBias) return std::nullopt;
  if (arguments.count() > 2 && arguments.value(2) != "0") return std::nullopt;
  const double elements =
      product(shape) / static_cast<double>(shape.back()) * static_cast<double>(shape.back() - kScaleAndBias);
  return conversion(arguments, 2 * elements, elements * kFloat);
}

std::optional<OperatorWork> elementwise(const OperatorArguments& arguments, double bytes) {
  if (!tensorAt(arguments, 0)) return std::nullopt;
  const double elements = product(arguments.shape(0));
  return conversion(arguments, 2 * elements, elements * bytes);
}

// (tensor, offsets, permutation, …): an entry of the permutation for each of the slices between the offsets. Backward
// has the tensor only.
std::optional<OperatorWork> permutation(const OperatorArguments& arguments) {
  const auto tensors = tensorsOf(arguments, arguments.count());
  if (!tensors || tensors->empty() || tensors->front().place != 0) return std::nullopt;
  const bool isForward = tensors->size() > 2;
  if (isForward && product(arguments.shape(1)) != product(arguments.shape(2)) + 1) return std::nullopt;
  const double written = product(arguments.shape(0)) * tensors->front().type->bytes;
  return memoryWork(0, storedBytes(arguments, *tensors), written, elementTypeOf("long int"));
}

// (rows of each table, indices, offsets): writes where an index is wrong only.
std::optional<OperatorWork> check(const OperatorArguments& arguments) {
  const auto tensors = tensorsOf(arguments, 3);
  if (!tensors || tensors->size() != 3) return std::nullopt;
  return memoryWork(0, storedBytes(arguments, *tensors), 0, elementTypeOf("long int"));
}

std::optional<OperatorWork> cumulativeSum(const OperatorArguments& arguments, double more) {
  const auto lengths = tensorAt(arguments, 0);
  if (!lengths) return std::nullopt;
  const double written = (product(arguments.shape(0)) + more) * lengths->type->bytes;
  return memoryWork(0, storedBytes(arguments, *lengths), written, lengths->type);
}

using Formula = std::optional<OperatorWork> (*)(const OperatorArguments&);
struct Entry {
  std::string_view name;
  Formula work;
};
constexpr std::array kOperators = std::to_array<Entry>({
    {"fbgemm::FP8RowwiseQuantizedToFloat", fromRows},
    {"fbgemm::FloatToFP8RowwiseQuantized", toRows},
    {"fbgemm::FloatToFused8BitRowwiseQuantized", toRows},
    {"fbgemm::FloatToHFP8Quantized", [](const OperatorArguments& a) { return elementwise(a, 1); }},
    {"fbgemm::Fused8BitRowwiseQuantizedToFloat", fromRows},
    {"fbgemm::HFP8QuantizedToFloat", [](const OperatorArguments& a) { return elementwise(a, kFloat); }},
    {"fbgemm::asynchronous_complete_cumsum", [](const OperatorArguments& a) { return cumulativeSum(a, 1); }},
    {"fbgemm::asynchronous_exclusive_cumsum", [](const OperatorArguments& a) { return cumulativeSum(a, 0); }},
    {"fbgemm::asynchronous_inclusive_cumsum", [](const OperatorArguments& a) { return cumulativeSum(a, 0); }},
    {"fbgemm::bounds_check_indices", check},
    {"fbgemm::permute_pooled_embs", permutation},
    {"fbgemm::permute_pooled_embs_auto_grad", permutation},
});

bool isPermutationBackward(std::string_view name) {
  return name.starts_with("torch::autograd::CppNode<fbgemm_gpu::PermutePooledEmbsFunction");
}

}  // namespace

bool isFbgemmOperator(std::string_view name) { return findEntry(kOperators, name) || isPermutationBackward(name); }

std::optional<OperatorWork> workOfFbgemm(std::string_view name, const OperatorArguments& arguments) {
  const auto* entry = findEntry(kOperators, name);
  std::optional<OperatorWork> work;
  if (entry) {
    work = entry->work(arguments);
  } else if (isPermutationBackward(name)) {
    work = permutation(arguments);
  }
  return work && work->bytes > 0 ? work : std::nullopt;
}

}  // namespace plumb
