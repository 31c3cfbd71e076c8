// SPDX-License-Identifier: Apache-2.0
// Texts as pickles of protocol 0 write them.
#pragma once
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

namespace plumb::import {

inline std::optional<int> hexDigits(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

inline void appendUtf8(std::string& out, int code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code >= 0xD800 && code < 0xE000) {
    out += '?';  // half of a pair
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x110000) {
    out += static_cast<char>(0xF0 | (code >> 18));
    out += static_cast<char>(0x80 | ((code >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += '?';
  }
}

// The texts of protocol 0: \xHH, \uHHHH, \UHHHHHHHH and the one-letter escapes.
inline std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char kind = text[++i];
    const size_t digits = kind == 'x' ? 2 : kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
    if (digits > 0 && i + digits < text.size()) {
      if (const auto code = hexDigits(text.substr(i + 1, digits))) {
        appendUtf8(out, *code);
        i += digits;
        continue;
      }
    }
    switch (kind) {
      case 'n':
        out += '\n';
        break;
      case 't':
        out += '\t';
        break;
      case 'r':
        out += '\r';
        break;
      default:
        out += kind;
    }
  }
  return out;
}

}  // namespace plumb::import
