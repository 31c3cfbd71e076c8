// SPDX-License-Identifier: Apache-2.0
// The arguments of a framework's operator, read from the texts of an operator_argument_set: JSON arrays with an element
// per argument. A text that says something else is taken as saying nothing.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace plumb {

using Shape = std::vector<int64_t>;

// Of a tensor.
struct ElementType {
  enum class Kind : uint8_t { Bool, Integer, Floating };
  std::string_view torch;      // as torch writes it
  std::string_view precision;  // "fp32" "bf16" …; "" of integers
  double bytes = 0;
  Kind kind = Kind::Floating;
};
[[nodiscard]] const ElementType* elementTypeOf(std::string_view torchName);  // null: not known, or no tensor

// The elements of an array's text, split at its own commas, and their shapes: "[64, 3]"; none for anything else, lists
// of tensors included.
[[nodiscard]] std::vector<std::string_view> elementsOf(std::string_view text);
[[nodiscard]] std::optional<Shape> shapeOf(std::string_view text);
[[nodiscard]] double product(const Shape& shape, size_t from = 0);

// Of a list of tensors, whose types are not recorded. Stored elements: as OperatorArguments::storedElements().
struct ListElements {
  size_t tensors = 0;
  double elements = 0, stored = 0;
};

// The texts must outlive it.
class OperatorArguments {
 public:
  OperatorArguments(std::string_view dims, std::string_view types, std::string_view values, std::string_view strides);

  [[nodiscard]] size_t count() const { return m_types.size(); }
  [[nodiscard]] const Shape& shape(size_t i) const;  // empty: a number, or not told
  [[nodiscard]] bool hasShape(size_t i) const { return i < m_shapes.size() && m_shapes[i].has_value(); }
  [[nodiscard]] const ElementType* type(size_t i) const;  // null: not known, or no tensor
  // Whether it is told to be no tensor: a number, a list of them, text or nothing.
  [[nodiscard]] bool isPlain(size_t i) const;
  [[nodiscard]] std::string_view value(size_t i) const;
  // Elements in memory: those of a dimension that was expanded (stride 0) count once.
  [[nodiscard]] double storedElements(size_t i) const;
  [[nodiscard]] bool isList(size_t i) const;                       // of tensors
  [[nodiscard]] std::optional<ListElements> list(size_t i) const;  // none: its shapes are not told
  [[nodiscard]] bool hasValues() const;                            // of any argument: newer versions of torch tell them

 private:
  std::vector<std::optional<Shape>> m_shapes, m_strides;
  std::vector<std::string_view> m_dimTexts, m_strideTexts, m_types, m_values;
};

}  // namespace plumb
