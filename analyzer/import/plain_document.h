// SPDX-License-Identifier: Apache-2.0
// Plain data as Python writes it: None, booleans, integers, floats, texts, bytes, lists, tuples, sets and dictionaries.
// Nothing in it can be anything else. Values are handles of 16 bytes; a container that the source refers to twice is
// here once, so a document is never larger than a small multiple of its source, and may contain itself: whoever walks
// through it goes to a depth that he knows, never to the end.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plumb::import {

enum class PlainKind : uint8_t {
  None,
  Boolean,
  Integer,
  LongInteger,  // more than 63 bits: only its lowest 64 are kept
  Real,
  Text,
  Bytes,
  List,
  Tuple,
  Set,
  Dict,
};

struct PlainValue {
  PlainKind kind = PlainKind::None;
  uint32_t length = 0;  // of a text or bytes
  union {
    int64_t integer = 0;  // Boolean, Integer; of a container its number
    double real;
    const char* text;
  };

  [[nodiscard]] bool isContainer() const noexcept { return kind >= PlainKind::List; }
  [[nodiscard]] std::string_view view() const noexcept {
    const bool isText = kind == PlainKind::Text || kind == PlainKind::Bytes;
    return isText ? std::string_view(text, length) : std::string_view();
  }
  [[nodiscard]] std::optional<int64_t> toInteger() const noexcept;  // also of a float without a fraction
  [[nodiscard]] std::optional<double> toReal() const noexcept;
};

class PlainDocument {
 public:
  PlainDocument() = default;
  PlainDocument(PlainDocument&&) noexcept = default;
  PlainDocument& operator=(PlainDocument&&) noexcept = default;

  [[nodiscard]] const PlainValue& root() const noexcept { return m_root; }
  // Of a list, tuple or set its items; of a dictionary keys and values in turn; of anything else nothing.
  [[nodiscard]] std::span<const PlainValue> items(const PlainValue& container) const noexcept;
  // Null when it is no dictionary or lacks the key; the last of several of one name.
  [[nodiscard]] const PlainValue* find(const PlainValue& dict, std::string_view key) const noexcept;
  [[nodiscard]] std::optional<int64_t> integer(const PlainValue& dict, std::string_view key) const noexcept;
  [[nodiscard]] std::string_view text(const PlainValue& dict, std::string_view key) const noexcept;  // else ""
  // Names the container, the same for each reference to it; -1 for other values.
  [[nodiscard]] static int64_t identity(const PlainValue& value) noexcept {
    return value.isContainer() ? value.integer : -1;
  }
  // The source ended, or was damaged, while this was being built.
  [[nodiscard]] bool isCut(const PlainValue& value) const noexcept;
  // Where in the source it began.
  [[nodiscard]] uint64_t offset(const PlainValue& container) const noexcept;
  // What ended the reading too early, with the place; none: it is complete.
  [[nodiscard]] const std::optional<std::string>& problem() const noexcept { return m_problem; }
  // The offset of that place, where the reader knows it.
  [[nodiscard]] const std::optional<uint64_t>& problemAt() const noexcept { return m_problemAt; }
  // Characters of texts that stood for none and became '?'; the offset of the first.
  [[nodiscard]] uint64_t mendedCharacters() const noexcept { return m_mended; }
  [[nodiscard]] uint64_t firstMended() const noexcept { return m_firstMended; }

  // For readers of formats.
  [[nodiscard]] PlainValue makeContainer(PlainKind kind, uint64_t offset);
  [[nodiscard]] std::vector<PlainValue>& mutableItems(const PlainValue& container);
  [[nodiscard]] PlainValue makeText(std::string text);  // copied into the document
  // The bytes that texts may point into.
  [[nodiscard]] std::string_view keep(std::string bytes);
  void setRoot(const PlainValue& root) noexcept { m_root = root; }
  void setProblem(std::string problem, std::optional<uint64_t> at = std::nullopt) {
    m_problem = std::move(problem);
    m_problemAt = at;
  }
  void restoreProblem(std::optional<std::string> problem, std::optional<uint64_t> at) {
    m_problem = std::move(problem);
    m_problemAt = at;
  }
  void noteMended(uint64_t offset) noexcept {
    if (m_mended++ == 0) m_firstMended = offset;
  }
  void markCut(const PlainValue& container) noexcept;
  [[nodiscard]] uint64_t containerCount() const noexcept { return m_containers.size(); }

 private:
  struct Container {
    std::vector<PlainValue> items;
    uint64_t offset = 0;
    bool isCut = false;
  };
  std::deque<Container> m_containers;
  std::deque<std::string> m_texts;
  std::unique_ptr<std::string> m_bytes;
  PlainValue m_root;
  std::optional<std::string> m_problem;
  std::optional<uint64_t> m_problemAt;
  uint64_t m_mended = 0, m_firstMended = 0;
};

}  // namespace plumb::import
