// SPDX-License-Identifier: Apache-2.0
#include "analyzer/trace/row_store.h"

#include <cstring>
#include <functional>

namespace plumb {
namespace {

constexpr char kKeptText = 'k';  // in place of a ValueType: the text of an earlier value
constexpr size_t kKeptTexts = 1024, kShortest = 4, kRowsBefore = 16;

}  // namespace

template <class T>
void RowStore::addPlain(T value) {
  m_bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void RowStore::addBytes(ValueType type, std::string_view bytes) {
  if (type == ValueType::Text && bytes.size() >= kShortest && m_rows.size() > kRowsBefore) {
    if (m_kept.empty()) m_kept.resize(kKeptTexts);
    Kept& kept = m_kept[std::hash<std::string_view>{}(bytes) % kKeptTexts];
    if (kept.length == bytes.size() && textAt(kept.at) == bytes) {
      m_bytes += kKeptText;
      addPlain(uint64_t{kept.at});
      return;
    }
    kept = {m_bytes.size() + 1, bytes.size()};
  }
  m_bytes += static_cast<char>(type);
  addPlain(uint64_t{bytes.size()});
  m_bytes += bytes;
}

void RowStore::startRow() { m_rows.push_back(m_bytes.size()); }

void RowStore::addInteger(int64_t value) {
  m_bytes += static_cast<char>(ValueType::Integer);
  addPlain(value);
}

void RowStore::addReal(double value) {
  m_bytes += static_cast<char>(ValueType::Real);
  addPlain(value);
}

void RowStore::addNull() { m_bytes += static_cast<char>(ValueType::Null); }

void RowStore::add(const Statement& row) {
  startRow();
  for (int i = 0; i < row.columnCount(); ++i) {
    switch (row.type(i)) {
      case ValueType::Text:
        addText(row.text(i));
        break;
      case ValueType::Blob:
        addBytes(ValueType::Blob, row.blob(i));
        break;
      case ValueType::Integer:
        addInteger(row.integer(i));
        break;
      case ValueType::Real:
        addReal(row.real(i));
        break;
      case ValueType::Null:
        addNull();
        break;
    }
  }
}

void RowStore::add(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) {
    addText(*text);
  } else if (const auto* integer = std::get_if<int64_t>(&cell)) {
    addInteger(*integer);
  } else if (const auto* real = std::get_if<double>(&cell)) {
    addReal(*real);
  } else {
    addNull();
  }
}

void RowStore::add(const CellRow& row) {
  startRow();
  for (const Cell& cell : row) add(cell);
}

// Requires the place of a text's or blob's length.
std::string_view RowStore::textAt(size_t at) const {
  uint64_t length = 0;
  std::memcpy(&length, m_bytes.data() + at, sizeof length);
  return std::string_view(m_bytes).substr(at + sizeof length, length);
}

RowStore::Value RowStore::readValue(size_t& at) const {
  Value value;
  const char type = m_bytes[at++];
  value.type = type == kKeptText ? ValueType::Text : static_cast<ValueType>(type);
  if (value.type == ValueType::Null) return value;
  uint64_t word = 0;
  std::memcpy(&word, m_bytes.data() + at, sizeof word);
  if (type == kKeptText) {
    value.bytes = textAt(word);
  } else if (value.type == ValueType::Integer) {
    std::memcpy(&value.integer, &word, sizeof word);
  } else if (value.type == ValueType::Real) {
    std::memcpy(&value.real, &word, sizeof word);
  } else {
    value.bytes = textAt(at);
    at += word;
  }
  at += sizeof word;
  return value;
}

void RowStore::read(size_t row, std::vector<Value>& values) const {
  const size_t end = row + 1 < m_rows.size() ? m_rows[row + 1] : m_bytes.size();
  values.clear();
  for (size_t at = m_rows[row]; at < end;) values.push_back(readValue(at));
}

}  // namespace plumb
