// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/operator_arguments.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace plumb {
namespace {

std::string_view unquoted(std::string_view text) {
  return text.size() >= 2 && text.front() == '"' ? text.substr(1, text.size() - 2) : text;
}

std::vector<std::optional<Shape>> shapesOf(const std::vector<std::string_view>& texts) {
  std::vector<std::optional<Shape>> shapes;
  shapes.reserve(texts.size());
  for (const std::string_view text : texts) shapes.push_back(shapeOf(text));
  return shapes;
}

// Elements in memory of a tensor with these strides, if they are its.
double storedElementsOf(const Shape& dims, const std::optional<Shape>& strides) {
  if (!strides || strides->size() != dims.size()) return product(dims);
  double elements = 1;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == 0) return 0;
    if ((*strides)[d] != 0) elements *= static_cast<double>(dims[d]);
  }
  return elements;
}

}  // namespace

const ElementType* elementTypeOf(std::string_view torchName) {
  using Kind = ElementType::Kind;
  static constexpr std::array<ElementType, 18> kTypes = {{{"float", "fp32", 4, Kind::Floating},
                                                          {"double", "fp64", 8, Kind::Floating},
                                                          {"c10::Half", "fp16", 2, Kind::Floating},
                                                          {"c10::BFloat16", "bf16", 2, Kind::Floating},
                                                          {"c10::Float8_e4m3fn", "fp8", 1, Kind::Floating},
                                                          {"c10::Float8_e5m2", "fp8", 1, Kind::Floating},
                                                          {"c10::Float8_e4m3fnuz", "fp8", 1, Kind::Floating},
                                                          {"c10::Float8_e5m2fnuz", "fp8", 1, Kind::Floating},
                                                          {"signed char", "int8", 1, Kind::Integer},
                                                          {"unsigned char", "", 1, Kind::Integer},
                                                          {"short int", "", 2, Kind::Integer},
                                                          {"short", "", 2, Kind::Integer},
                                                          {"int", "", 4, Kind::Integer},
                                                          {"long int", "", 8, Kind::Integer},
                                                          {"long", "", 8, Kind::Integer},
                                                          {"long long", "", 8, Kind::Integer},
                                                          {"__int64", "", 8, Kind::Integer},
                                                          {"bool", "", 1, Kind::Bool}}};
  const auto found = std::ranges::find(kTypes, torchName, &ElementType::torch);
  return found == kTypes.end() ? nullptr : &*found;
}

std::vector<std::string_view> elementsOf(std::string_view text) {
  std::vector<std::string_view> elements;
  if (text.size() < 2 || text.front() != '[') return elements;
  int depth = 0;
  bool isQuoted = false;
  size_t begin = 1;
  for (size_t i = 1; i < text.size(); ++i) {
    const char c = text[i];
    if (isQuoted) {
      if (c == '\\') ++i;
      if (c == '"') isQuoted = false;
      continue;
    }
    if (c == '"') isQuoted = true;
    if (c == '[') ++depth;
    const bool ends = depth == 0 && (c == ',' || c == ']');
    if (c == ']') --depth;
    if (!ends) continue;
    std::string_view element = text.substr(begin, i - begin);
    while (!element.empty() && element.front() == ' ') element.remove_prefix(1);
    if (c == ',' || !element.empty() || !elements.empty()) elements.push_back(element);
    begin = i + 1;
    if (c == ']') break;
  }
  return elements;
}

std::optional<Shape> shapeOf(std::string_view text) {
  if (text.size() < 2 || text.front() != '[') return std::nullopt;
  Shape shape;
  for (const std::string_view element : elementsOf(text)) {
    int64_t value = 0;
    const char* end = element.data() + element.size();
    const auto [at, error] = std::from_chars(element.data(), end, value);
    if (error != std::errc() || at != end || value < 0) return std::nullopt;
    shape.push_back(value);
  }
  return shape;
}

double product(const Shape& shape, size_t from) {
  double result = 1;
  for (size_t i = from; i < shape.size(); ++i) result *= static_cast<double>(shape[i]);
  return result;
}

OperatorArguments::OperatorArguments(std::string_view dims, std::string_view types, std::string_view values,
                                     std::string_view strides)
    : m_dimTexts(elementsOf(dims)),
      m_strideTexts(elementsOf(strides)),
      m_types(elementsOf(types)),
      m_values(elementsOf(values)) {
  m_shapes = shapesOf(m_dimTexts);
  m_strides = shapesOf(m_strideTexts);
  for (std::string_view& type : m_types) type = unquoted(type);
}

const Shape& OperatorArguments::shape(size_t i) const {
  static const Shape kNone;
  return hasShape(i) ? *m_shapes[i] : kNone;
}

const ElementType* OperatorArguments::type(size_t i) const {
  return i < m_types.size() ? elementTypeOf(m_types[i]) : nullptr;
}

bool OperatorArguments::isPlain(size_t i) const {
  static constexpr std::array<std::string_view, 10> kPlain = {"",     "Scalar", "ScalarList", "GenericList", "Int",
                                                              "Bool", "Double", "None",       "String",      "Device"};
  return i >= m_types.size() || std::ranges::find(kPlain, m_types[i]) != kPlain.end();
}

std::string_view OperatorArguments::value(size_t i) const { return i < m_values.size() ? unquoted(m_values[i]) : ""; }

double OperatorArguments::storedElements(size_t i) const {
  return storedElementsOf(shape(i), i < m_strides.size() ? m_strides[i] : std::nullopt);
}

bool OperatorArguments::isList(size_t i) const { return i < m_types.size() && m_types[i] == "TensorList"; }

std::optional<ListElements> OperatorArguments::list(size_t i) const {
  if (!isList(i) || i >= m_dimTexts.size()) return std::nullopt;
  const std::vector<std::string_view> texts = elementsOf(m_dimTexts[i]);
  const auto strides = i < m_strideTexts.size() ? shapesOf(elementsOf(m_strideTexts[i])) : shapesOf({});
  ListElements result;
  for (size_t t = 0; t < texts.size(); ++t) {
    const std::optional<Shape> dims = shapeOf(texts[t]);
    if (!dims) return std::nullopt;
    result.elements += product(*dims);
    result.stored += storedElementsOf(*dims, t < strides.size() ? strides[t] : std::nullopt);
  }
  result.tensors = texts.size();
  return result.tensors > 0 ? std::optional(result) : std::nullopt;
}

bool OperatorArguments::hasValues() const {
  return std::ranges::any_of(m_values, [](std::string_view value) { return !unquoted(value).empty(); });
}

}  // namespace plumb
