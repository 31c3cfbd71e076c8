// SPDX-License-Identifier: Apache-2.0
// Rows of a computed table in one buffer: many rows take little more than their values, and a text that repeats is
// mostly there once.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "analyzer/trace/database.h"

namespace plumb {

using Cell = std::variant<std::nullptr_t, int64_t, double, std::string>;
using CellRow = std::vector<Cell>;

class RowStore {
 public:
  struct Value {
    ValueType type = ValueType::Null;
    int64_t integer = 0;
    double real = 0;
    std::string_view bytes;  // of a text or blob; as long as the store
  };

  void add(const Statement& row);  // its current row
  void add(const CellRow& row);
  // A row value by value: startRow(), then a call per column.
  void startRow();
  void add(const Cell& cell);
  void addInteger(int64_t value);
  void addReal(double value);
  void addNull();
  void addText(std::string_view text) { addBytes(ValueType::Text, text); }
  [[nodiscard]] size_t size() const { return m_rows.size(); }
  // Replaces `values` by the row's.
  void read(size_t row, std::vector<Value>& values) const;

 private:
  // Stands for a text that an earlier value has: names repeat from row to row.
  struct Kept {
    size_t at = 0;  // of the text's length in m_bytes
    size_t length = 0;
  };
  template <class T>
  void addPlain(T value);
  void addBytes(ValueType type, std::string_view bytes);
  [[nodiscard]] std::string_view textAt(size_t at) const;
  [[nodiscard]] Value readValue(size_t& at) const;

  std::string m_bytes;
  std::vector<size_t> m_rows;  // where each begins
  std::vector<Kept> m_kept;    // texts by a hash of them, the last one of each
};

}  // namespace plumb
