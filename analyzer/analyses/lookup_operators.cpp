// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/lookup_operators.h"

#include <algorithm>
#include <array>

#include "analyzer/analyses/operator_tensors.h"

namespace plumb {
namespace {

double elementsOf(const OperatorArguments& arguments, const Tensor& tensor) {
  return product(arguments.shape(tensor.place));
}

// Elements of a slice of one index.
std::optional<double> sliceOf(const OperatorArguments& arguments, const Tensor& tensor, std::string_view dimension) {
  const Shape& shape = arguments.shape(tensor.place);
  const auto count = static_cast<int64_t>(shape.size());
  const std::optional<int64_t> told = count == 1 ? 0 : integerOf(dimension);
  if (!told || *told < -count || *told >= count) return std::nullopt;
  const int64_t size = shape[static_cast<size_t>(*told < 0 ? *told + count : *told)];
  return size > 0 ? std::optional(product(shape) / static_cast<double>(size)) : std::nullopt;
}

// As many elements as the result has, of a table.
OperatorWork lookedUp(const OperatorArguments& arguments, const Tensor& table, const Tensor& index, double result) {
  const double read = std::min(result, elementsOf(arguments, table)) * table.type->bytes;
  return memoryWork(0, storedBytes(arguments, index) + read, result * table.type->bytes, table.type);
}

// index_select(self, dimension, index)
std::optional<OperatorWork> indexSelect(const OperatorArguments& arguments) {
  const auto table = tensorAt(arguments, 0), index = tensorAt(arguments, 2);
  const auto slice = table ? sliceOf(arguments, *table, arguments.value(1)) : std::nullopt;
  if (!slice || !index) return std::nullopt;
  return lookedUp(arguments, *table, *index, *slice * elementsOf(arguments, *index));
}

// gather(self, dimension, index)
std::optional<OperatorWork> gather(const OperatorArguments& arguments) {
  const auto table = tensorAt(arguments, 0), index = tensorAt(arguments, 2);
  if (!table || !index) return std::nullopt;
  return lookedUp(arguments, *table, *index, elementsOf(arguments, *index));
}

// embedding(weight, indices)
std::optional<OperatorWork> embedding(const OperatorArguments& arguments) {
  const auto table = tensorAt(arguments, 0), index = tensorAt(arguments, 1);
  if (!table || !index || arguments.shape(0).size() != 2) return std::nullopt;
  return lookedUp(arguments, *table, *index,
                  elementsOf(arguments, *index) * static_cast<double>(arguments.shape(0)[1]));
}

// _embedding_bag(weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset):
// the sum of each bag's rows.
std::optional<OperatorWork> embeddingBag(const OperatorArguments& arguments) {
  const auto table = tensorAt(arguments, 0), index = tensorAt(arguments, 1), offsets = tensorAt(arguments, 2);
  const std::string_view includesLast = arguments.value(7);
  if (!table || !index || !offsets || arguments.shape(0).size() != 2 || includesLast.empty()) return std::nullopt;
  const auto width = static_cast<double>(arguments.shape(0)[1]);
  const double rows = elementsOf(arguments, *index), added = rows * width;
  const double bags = elementsOf(arguments, *offsets) - (includesLast == "True" ? 1 : 0);
  double read = storedBytes(arguments, *index) + storedBytes(arguments, *offsets) +
                std::min(added, elementsOf(arguments, *table)) * table->type->bytes;
  if (const auto weights = tensorAt(arguments, 6)) read += storedBytes(arguments, *weights);
  return memoryWork(added, read, std::max(bags, 0.0) * width * table->type->bytes, table->type);
}

// embedding_dense_backward(gradient, indices, rows): added to a gradient that another operator filled with zeros.
std::optional<OperatorWork> embeddingBackward(const OperatorArguments& arguments) {
  const auto gradient = tensorAt(arguments, 0), index = tensorAt(arguments, 1);
  if (!gradient || !index || arguments.shape(0).empty()) return std::nullopt;
  double rows = elementsOf(arguments, *index);
  if (const auto all = integerOf(arguments.value(2))) rows = std::min(rows, static_cast<double>(*all));
  const double written = rows * static_cast<double>(arguments.shape(0).back()) * gradient->type->bytes;
  return memoryWork(elementsOf(arguments, *gradient),
                    storedBytes(arguments, *gradient) + storedBytes(arguments, *index), written, gradient->type);
}

// (self, dimension, index, source or a number): as many elements as the index has are put into self, or the slices of
// the source.
std::optional<OperatorWork> scatter(const OperatorArguments& arguments, bool adds, bool ofSlices) {
  const auto self = tensorAt(arguments, 0), index = tensorAt(arguments, 2);
  if (!self || !index) return std::nullopt;
  const auto source = tensorAt(arguments, 3);
  if (!source && (ofSlices || !arguments.isPlain(3))) return std::nullopt;
  const double count = elementsOf(arguments, ofSlices ? *source : *index);
  const double target = std::min(count, elementsOf(arguments, *self)) * self->type->bytes;
  const double read = storedBytes(arguments, *index) + (source ? count * source->type->bytes : 0);
  return memoryWork(adds ? count : 0, read + (adds ? target : 0), target, self->type);
}

// (self, target, weight, reduction): one element of self per target.
std::optional<OperatorWork> classLoss(const OperatorArguments& arguments) {
  const auto self = tensorAt(arguments, 0), target = tensorAt(arguments, 1);
  if (!self || !target) return std::nullopt;
  const double count = elementsOf(arguments, *target);
  const double read = storedBytes(arguments, *target) + count * self->type->bytes;
  const double results = arguments.value(3) == "0" ? count : 1;  // 0: no reduction
  return memoryWork(count, read, results * self->type->bytes, self->type);
}

// (gradient, self, target): one element of self's gradient per target; another operator fills the rest with zeros.
std::optional<OperatorWork> classLossBackward(const OperatorArguments& arguments) {
  const auto gradient = tensorAt(arguments, 0), self = tensorAt(arguments, 1), target = tensorAt(arguments, 2);
  if (!gradient || !self || !target) return std::nullopt;
  const double count = elementsOf(arguments, *target);
  return memoryWork(count, storedBytes(arguments, *gradient) + storedBytes(arguments, *target),
                    count * self->type->bytes, self->type);
}

using Formula = std::optional<OperatorWork> (*)(const OperatorArguments&);
struct Lookup {
  std::string_view name;  // without aten:: and without the _ of those in place
  Formula work;
};
constexpr std::array kLookups = std::to_array<Lookup>({
    {"_embedding_bag", embeddingBag},
    {"_embedding_bag_forward_only", embeddingBag},
    {"embedding", embedding},
    {"embedding_dense_backward", embeddingBackward},
    {"gather", gather},
    {"index_add", [](const OperatorArguments& a) { return scatter(a, true, true); }},
    {"index_copy", [](const OperatorArguments& a) { return scatter(a, false, true); }},
    {"index_select", indexSelect},
    {"nll_loss2d_backward", classLossBackward},
    {"nll_loss2d_forward", classLoss},
    {"nll_loss_backward", classLossBackward},
    {"nll_loss_forward", classLoss},
    {"scatter", [](const OperatorArguments& a) { return scatter(a, false, false); }},
    {"scatter_add", [](const OperatorArguments& a) { return scatter(a, true, false); }},
    {"scatter_reduce", [](const OperatorArguments& a) { return scatter(a, true, false); }},
});

}  // namespace

bool isLookupOperator(std::string_view name) { return findEntry(kLookups, atenStem(name)) != nullptr; }

std::optional<OperatorWork> workOfLookup(std::string_view name, const OperatorArguments& arguments) {
  const auto* lookup = findEntry(kLookups, atenStem(name));
  const auto work = lookup ? lookup->work(arguments) : std::nullopt;
  return work && work->bytes > 0 ? work : std::nullopt;
}

}  // namespace plumb
