// SPDX-License-Identifier: Apache-2.0
// What the formulas of operators (operator_work.h) have in common.
#pragma once
#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "analyzer/analyses/operator_arguments.h"
#include "analyzer/analyses/operator_work.h"

namespace plumb {

// An entry of a table by its member `name`; null: none.
template <typename Table>
auto findEntry(const Table& table, std::string_view name) -> decltype(&table[0]) {
  const auto found = std::ranges::find(table, name, [](const auto& entry) { return entry.name; });
  return found == table.end() ? nullptr : &*found;
}

// "mul" of "aten::mul" and of "aten::mul_", which works in place; "" of what is not torch's own.
[[nodiscard]] std::string_view atenStem(std::string_view name);
[[nodiscard]] bool isInPlace(std::string_view name);

// An argument.
struct Tensor {
  size_t place;
  const ElementType* type;
};

// The tensor at a place; none when its shape or type is missing.
[[nodiscard]] std::optional<Tensor> tensorAt(const OperatorArguments& arguments, size_t place);
// The tensors among the first arguments. None when one of these may be a tensor of which something is missing.
[[nodiscard]] std::optional<std::vector<Tensor>> tensorsOf(const OperatorArguments& arguments, size_t first);
// In memory: expanded dimensions count once.
[[nodiscard]] double storedBytes(const OperatorArguments& arguments, const Tensor& tensor);
[[nodiscard]] double storedBytes(const OperatorArguments& arguments, const std::vector<Tensor>& tensors);

// Of an operator that memory bounds, which computes in a type.
[[nodiscard]] OperatorWork memoryWork(double flops, double read, double written, const ElementType* computed);

// A number that an argument's value tells.
[[nodiscard]] std::optional<int64_t> integerOf(std::string_view text);

}  // namespace plumb
