// SPDX-License-Identifier: Apache-2.0
// Where a damaged element of the event array may end, told byte by byte without asking for valid JSON.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace plumb::import {

// The brackets of one element. Line ends and other bytes that a string must not hold do not end the string.
class ElementEnd {
 public:
  explicit ElementEnd(bool isScalar = false) noexcept : m_isScalar(isScalar) {}

  // The next byte, from the element's first one. True when the element ends: behind its closing bracket or quote, or
  // before the byte that follows a number or word.
  bool step(char c) noexcept;
  // It has ended, or closed more than it opened.
  [[nodiscard]] bool isLost() const noexcept { return m_isLost; }
  [[nodiscard]] bool isScalar() const noexcept { return m_isScalar; }

 private:
  uint64_t m_depth = 0;
  bool m_isScalar, m_inString = false, m_isEscaped = false, m_isLost = false;
};

enum class Start : uint8_t {
  None,
  Object,  // with a member, whatever it is called
  Event,   // its first member is called like an event's
};
// What text, at a '{', is the start of. 256 bytes are enough.
[[nodiscard]] Start startOf(std::string_view text);

// What tells the events when the data before them is damaged.
// The place behind the first `"traceEvents": [` in text.
[[nodiscard]] std::optional<size_t> eventArrayIn(std::string_view text);
// The place of the first event when text holds several objects that cannot be anything else.
[[nodiscard]] std::optional<size_t> severalEventsIn(std::string_view text);
// "traceEvents" with at most one wrong character.
[[nodiscard]] bool isNearlyEventKey(std::string_view key);
// Text begins with "{ {", as an array does whose bracket is damaged.
[[nodiscard]] bool isObjectOfObjects(std::string_view text);

// Whether the ']' that text begins with can only be the end of the event array: what follows it is the end of the
// data, the root's end and then the end of the data, or a member that profilers write beside the events. isAll: text
// is all that there is.
[[nodiscard]] bool isArrayEnd(std::string_view text, bool isBareArray, bool isAll);

// The closing brackets, commas and blanks that text begins with. isCut: it holds nothing else.
struct BracketRun {
  size_t length = 0;
  bool hasBrace = false, hasComma = false, isCut = false;
};
[[nodiscard]] BracketRun bracketRun(std::string_view text);

// Whether the ']' that text begins with, where the event array could end, cannot be its end: behind it, and any other
// brackets that nothing opened, more events follow, or members that only events have.
[[nodiscard]] bool isStrayBracket(std::string_view text);

}  // namespace plumb::import
