// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/operator_tensors.h"

#include <charconv>

namespace plumb {

bool isInPlace(std::string_view name) { return name.ends_with('_') && !name.ends_with("__"); }

std::string_view atenStem(std::string_view name) {
  constexpr std::string_view kPrefix = "aten::";
  if (!name.starts_with(kPrefix)) return {};
  name.remove_prefix(kPrefix.size());
  if (isInPlace(name)) name.remove_suffix(1);
  return name;
}

std::optional<Tensor> tensorAt(const OperatorArguments& arguments, size_t place) {
  const ElementType* type = arguments.type(place);
  return type && arguments.hasShape(place) ? std::optional(Tensor{place, type}) : std::nullopt;
}

std::optional<std::vector<Tensor>> tensorsOf(const OperatorArguments& arguments, size_t first) {
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < std::min(first, arguments.count()); ++i) {
    if (arguments.isPlain(i)) continue;
    const auto tensor = tensorAt(arguments, i);
    if (!tensor) return std::nullopt;
    tensors.push_back(*tensor);
  }
  return tensors;
}

double storedBytes(const OperatorArguments& arguments, const Tensor& tensor) {
  return arguments.storedElements(tensor.place) * tensor.type->bytes;
}

double storedBytes(const OperatorArguments& arguments, const std::vector<Tensor>& tensors) {
  double bytes = 0;
  for (const Tensor& tensor : tensors) bytes += storedBytes(arguments, tensor);
  return bytes;
}

OperatorWork memoryWork(double flops, double read, double written, const ElementType* computed) {
  if (computed->kind != ElementType::Kind::Floating) return {0, read + written, "", false, written};
  return {flops, read + written, computed->precision == "fp64" ? "fp64" : "fp32", false, written};
}

std::optional<int64_t> integerOf(std::string_view text) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && at == end && !text.empty() ? std::optional(value) : std::nullopt;
}

}  // namespace plumb
