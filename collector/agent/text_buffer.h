// SPDX-License-Identifier: Apache-2.0
// Builds a short text in the caller's memory; what does not fit is cut, and ok() says so.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace plumb::agent {

// The part of text from an offset on. Not substr: that one throws, and brings half of libstdc++ into the target.
constexpr std::string_view tail(std::string_view text, size_t from) noexcept {
  return from < text.size() ? std::string_view{text.data() + from, text.size() - from} : std::string_view{};
}
constexpr std::string_view head(std::string_view text, size_t count) noexcept {
  return {text.data(), std::min(count, text.size())};
}

class TextBuffer {
 public:
  TextBuffer(char* bytes, size_t size) noexcept : m_bytes(bytes), m_size(size) { m_bytes[0] = '\0'; }
  template <size_t Size>
  explicit TextBuffer(char (&bytes)[Size]) noexcept : TextBuffer(bytes, Size) {}

  TextBuffer& add(std::string_view text) noexcept {
    const size_t count = std::min(text.size(), m_size - 1 - m_length);
    m_ok = m_ok && count == text.size();
    std::memcpy(m_bytes + m_length, text.data(), count);
    m_length += count;
    m_bytes[m_length] = '\0';
    return *this;
  }
  TextBuffer& addNumber(uint64_t number, unsigned base = 10) noexcept {
    char digits[20];
    size_t at = sizeof digits;
    do {
      digits[--at] = "0123456789abcdef"[number % base];
      number /= base;
    } while (number != 0 && at > 0);
    return add({digits + at, sizeof digits - at});
  }
  [[nodiscard]] bool ok() const noexcept { return m_ok; }
  [[nodiscard]] std::string_view view() const noexcept { return {m_bytes, m_length}; }

 private:
  char* m_bytes;
  size_t m_size;
  size_t m_length = 0;
  bool m_ok = true;
};

}  // namespace plumb::agent
