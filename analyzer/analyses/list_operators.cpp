// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/list_operators.h"

#include <algorithm>
#include <array>

#include "analyzer/analyses/operator_tensors.h"

namespace plumb {
namespace {

constexpr std::string_view kForeach = "aten::_foreach_";
constexpr std::string_view kUnscale = "aten::_amp_foreach_non_finite_check_and_unscale_";

// Of those that have more or less than one FLOP per element, or do not read the first list.
struct Foreach {
  std::string_view name;  // without the prefix and without the _ of those in place
  double flops;
  bool readsFirst = true;
  bool writes = true;  // else a number per tensor
};
constexpr std::array kForeachOperators = std::to_array<Foreach>({
    {"addcdiv", 3},
    {"addcmul", 3},
    {"copy", 0, false},
    {"lerp", 3},
    {"max", 1, true, false},
    {"norm", 2, true, false},
    {"zero", 0, false},
});

// The first lists are parameters, gradients and states; empty ones (no momentum) follow.
struct Optimizer {
  std::string_view name;
  size_t lists;      // parameters, gradients and as many states at most
  double flops;      // with as few states as it can have
  double moreFlops;  // with one more
  size_t leastLists;
};
constexpr std::array kOptimizers = std::to_array<Optimizer>({
    {"aten::_fused_adagrad_", 3, 7, 7, 3},
    {"aten::_fused_adam_", 5, 13, 14, 4},  // more: the maximum of amsgrad
    {"aten::_fused_adamw_", 5, 13, 14, 4},
    {"aten::_fused_sgd_", 3, 2, 5, 2},
});

std::optional<ListWork> workOfForeach(std::string_view stem, const OperatorArguments& arguments) {
  const auto* entry = findEntry(kForeachOperators, stem);
  ListWork work;
  bool isFirst = true;
  for (size_t i = 0; i < arguments.count(); ++i) {
    if (!arguments.isList(i)) continue;
    const auto list = arguments.list(i);
    if (!list) return std::nullopt;
    if (isFirst) {
      work.flops = (entry ? entry->flops : 1) * list->elements;
      work.written = entry && !entry->writes ? 0 : list->elements;
    }
    if (!isFirst || !entry || entry->readsFirst) work.read += list->stored;
    isFirst = false;
  }
  return isFirst ? std::nullopt : std::optional(work);
}

std::optional<ListWork> workOfOptimizer(const Optimizer& entry, const OperatorArguments& arguments) {
  const auto parameters = arguments.list(0);
  if (!parameters) return std::nullopt;
  ListWork work;
  work.isFused = true;
  size_t lists = 0;
  for (size_t i = 0; i < entry.lists; ++i) {
    const auto list = arguments.list(i);
    if (!list && i < entry.leastLists) return std::nullopt;
    if (!list || list->tensors != parameters->tensors) break;
    ++lists;
    work.read += list->elements;
    if (i != 1) work.written += list->elements;  // 1: gradients
  }
  work.flops = (lists > entry.leastLists ? entry.moreFlops : entry.flops) * parameters->elements;
  return work;
}

// cat(tensors, dimension); older versions of torch call it with the result, of which even the type is told.
std::optional<ListWork> workOfCat(const OperatorArguments& arguments) {
  for (size_t i = 0; i < arguments.count(); ++i) {
    if (const auto list = arguments.list(i)) return ListWork{0, list->stored, list->elements};
    const double elements = arguments.type(i) ? product(arguments.shape(i)) : 0;
    if (elements > 0 && !arguments.shape(i).empty()) return ListWork{0, elements, elements};
  }
  return std::nullopt;
}

// The arguments of the first template whose name has this part, as one text.
std::string_view templateArguments(std::string_view text, std::string_view part) {
  const size_t at = text.find(part);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + part.size());
  const size_t begin = text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
  if (begin == std::string_view::npos || text[begin] != '<') return {};
  return text.substr(begin + 1);
}

// The first of these arguments, which is taken away.
std::string_view takeArgument(std::string_view& text) {
  size_t depth = 0, end = 0;
  for (; end < text.size(); ++end) {
    if (depth == 0 && (text[end] == ',' || text[end] == '>')) break;
    if (text[end] == '<') ++depth;
    if (text[end] == '>') --depth;
  }
  const std::string_view argument = text.substr(0, end);
  text.remove_prefix(std::min(text.size(), end + 1));
  while (text.starts_with(' ')) text.remove_prefix(1);
  return argument;
}

std::optional<KernelElement> elementOf(std::string_view argument) {
  constexpr std::string_view kOpaque = "OpaqueType<";
  if (const size_t at = argument.find(kOpaque); at != std::string_view::npos) {
    std::string_view size = argument.substr(at + kOpaque.size());
    size = size.substr(0, size.find_first_not_of("0123456789"));
    const auto bytes = integerOf(size);
    constexpr int64_t kMost = 16;
    if (!bytes || *bytes < 1 || *bytes > kMost) return std::nullopt;
    const auto count = static_cast<double>(*bytes);
    return KernelElement{count, count, ""};
  }
  const ElementType* type = elementTypeOf(argument);
  const bool isFloating = type && type->kind == ElementType::Kind::Floating;
  return type ? std::optional(KernelElement{type->bytes, type->bytes, isFloating ? type->precision : ""})
              : std::nullopt;
}

}  // namespace

std::optional<KernelElement> listElementOf(std::string_view kernelName) {
  std::string_view text = templateArguments(kernelName, "CatArrayBatchedCopy");
  if (text.empty()) text = templateArguments(kernelName, "Functor");
  std::optional<KernelElement> element = elementOf(takeArgument(text));
  if (element && kernelName.find("CopyFunctor<") != std::string_view::npos) {
    if (const auto source = elementOf(takeArgument(text))) element->sourceBytes = source->bytes;
  }
  return element;
}

OperatorWork ListWork::of(const KernelElement& element) const {
  const bool computes = flops > 0 && !element.precision.empty();
  const std::string precision = !computes ? "" : element.precision == "fp64" ? "fp64" : "fp32";
  const double writtenBytes = written * element.bytes;
  return {computes ? flops : 0, read * element.sourceBytes + writtenBytes, precision, false,
          isFused ? 0 : writtenBytes};
}

bool isListOperator(std::string_view name) {
  return name == "aten::cat" || name == "aten::_cat" || name == kUnscale || name.starts_with(kForeach) ||
         findEntry(kOptimizers, name) != nullptr;
}

std::optional<ListWork> workOfListOperator(std::string_view name, const OperatorArguments& arguments) {
  if (name == "aten::cat" || name == "aten::_cat") return workOfCat(arguments);
  if (const auto* optimizer = findEntry(kOptimizers, name)) return workOfOptimizer(*optimizer, arguments);
  if (name == kUnscale) return workOfForeach("unscale", arguments);
  std::string_view stem = name.substr(kForeach.size());
  if (isInPlace(name)) stem.remove_suffix(1);
  return workOfForeach(stem, arguments);
}

}  // namespace plumb
