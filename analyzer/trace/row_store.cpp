// SPDX-License-Identifier: Apache-2.0
#include "analyzer/trace/row_store.h"

#include <cstring>

namespace plumb {

template <class T>
void RowStore::addPlain(T value) {
  m_bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void RowStore::addText(ValueType type, std::string_view text) {
  m_bytes += static_cast<char>(type);
  addPlain(static_cast<uint64_t>(text.size()));
  m_bytes += text;
}

void RowStore::add(const Statement& row) {
  m_rows.push_back(m_bytes.size());
  for (int i = 0; i < row.columnCount(); ++i) {
    const ValueType type = row.type(i);
    if (type == ValueType::Text || type == ValueType::Blob) {
      addText(type, type == ValueType::Text ? row.text(i) : row.blob(i));
      continue;
    }
    m_bytes += static_cast<char>(type);
    if (type == ValueType::Integer) addPlain(row.integer(i));
    if (type == ValueType::Real) addPlain(row.real(i));
  }
}

void RowStore::add(const CellRow& row) {
  m_rows.push_back(m_bytes.size());
  for (const Cell& cell : row) {
    if (const auto* text = std::get_if<std::string>(&cell)) {
      addText(ValueType::Text, *text);
    } else if (const auto* integer = std::get_if<int64_t>(&cell)) {
      m_bytes += static_cast<char>(ValueType::Integer);
      addPlain(*integer);
    } else if (const auto* real = std::get_if<double>(&cell)) {
      m_bytes += static_cast<char>(ValueType::Real);
      addPlain(*real);
    } else {
      m_bytes += static_cast<char>(ValueType::Null);
    }
  }
}

RowStore::Value RowStore::readValue(size_t& at) const {
  Value value;
  value.type = static_cast<ValueType>(m_bytes[at++]);
  if (value.type == ValueType::Null) return value;
  uint64_t word = 0;
  std::memcpy(&word, m_bytes.data() + at, sizeof word);
  at += sizeof word;
  if (value.type == ValueType::Integer) {
    std::memcpy(&value.integer, &word, sizeof word);
  } else if (value.type == ValueType::Real) {
    std::memcpy(&value.real, &word, sizeof word);
  } else {
    value.bytes = std::string_view(m_bytes).substr(at, word);
    at += word;
  }
  return value;
}

void RowStore::read(size_t row, std::vector<Value>& values) const {
  const size_t end = row + 1 < m_rows.size() ? m_rows[row + 1] : m_bytes.size();
  values.clear();
  for (size_t at = m_rows[row]; at < end;) values.push_back(readValue(at));
}

}  // namespace plumb
