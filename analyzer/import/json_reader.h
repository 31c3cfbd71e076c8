// SPDX-License-Identifier: Apache-2.0
// The grammar of json.h as templates, for callers that read millions of small texts: one pass, nothing allocated, each
// string looked at 16 bytes at a time.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "analyzer/import/json.h"

namespace plumb::import {

// The first byte of [at, end) that a JSON string does not hold as it is: a quote, a backslash, a control character.
inline const char* endOfPlainText(const char* at, const char* end) noexcept {
#if defined(__SSE2__)
  const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\'), lastControl = _mm_set1_epi8(0x1F);
  for (; end - at >= 16; at += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, lastControl), bytes);
    const __m128i stop =
        _mm_or_si128(control, _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash)));
    if (const int mask = _mm_movemask_epi8(stop); mask != 0) return at + __builtin_ctz(static_cast<unsigned>(mask));
  }
#endif
  while (at != end && *at != '"' && *at != '\\' && static_cast<unsigned char>(*at) >= 0x20) ++at;
  return at;
}

class JsonReader {
 public:
  static constexpr int kMostNested = 100;

  explicit JsonReader(std::string_view text) : m_at(text.data()), m_end(text.data() + text.size()) {}

  [[nodiscard]] const char* at() const noexcept { return m_at; }
  // After a failure: the text ended where something had to follow, so that more of it could make it valid.
  [[nodiscard]] bool needsMore() const noexcept { return m_at == m_end; }

  // How many values nested deeper than kMostNested were passed over, of less than 64 KiB each: their brackets match,
  // more is not known of them.
  [[nodiscard]] uint64_t tooDeep() const noexcept { return m_tooDeep; }
  // How many escapes of texts stand for no character.
  [[nodiscard]] uint64_t zeroCharacters() const noexcept { return m_zeroCharacters; }  // \u0000
  [[nodiscard]] uint64_t loneSurrogates() const noexcept { return m_loneSurrogates; }  // half of a pair

  // take(key, value) for each member but those that are nested too deep. The key's escapes are not decoded.
  template <class Take>
  bool object(const Take& take, int depth = 0) {
    if (depth > kMostNested) return passTooDeep();
    if (!consume('{')) return false;
    if (consume('}')) return true;
    do {
      JsonValue key, member;
      const uint64_t before = m_tooDeep;
      if (!this->key(key) || !value(member, depth)) return false;
      if (m_tooDeep == before) take(key.text, member);
    } while (consume(','));
    return consume('}');
  }

  // take(element)
  template <class Take>
  bool array(const Take& take, int depth = 0) {
    if (depth > kMostNested) return passTooDeep();
    if (!consume('[')) return false;
    if (consume(']')) return true;
    do {
      JsonValue element;
      if (!value(element, depth)) return false;
      take(element);
    } while (consume(','));
    return consume(']');
  }

  // A member's name with the colon.
  bool key(JsonValue& out) {
    skipSpace();
    return m_at != m_end && *m_at == '"' && string(out) && consume(':');
  }

  bool value(JsonValue& out, int depth) {
    skipSpace();
    if (m_at == m_end) return false;
    const char* start = m_at;
    bool valid = false;
    switch (*m_at) {
      case '"':
        return string(out);
      case '{':
        out.kind = JsonKind::Object;
        valid = object([](std::string_view, const JsonValue&) {}, depth + 1);
        break;
      case '[':
        out.kind = JsonKind::Array;
        valid = array([](const JsonValue&) {}, depth + 1);
        break;
      default:
        valid = isDigit(*m_at) ? number(out) : literal(out) || number(out);
    }
    out.text = std::string_view(start, static_cast<size_t>(m_at - start));
    return valid;
  }

  bool consume(char c) {
    skipSpace();
    if (m_at == m_end || *m_at != c) return false;
    ++m_at;
    return true;
  }
  // The next byte that is no white space; '\0' at the end.
  char next() {
    skipSpace();
    return m_at == m_end ? '\0' : *m_at;
  }
  bool atEnd() {
    skipSpace();
    return m_at == m_end;
  }

 private:
  static bool isDigit(char c) { return c >= '0' && c <= '9'; }
  static bool isHexDigit(char c) { return isDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

  void skipSpace() {
    while (m_at != m_end && (*m_at == ' ' || *m_at == '\n' || *m_at == '\r' || *m_at == '\t')) ++m_at;
  }

  bool string(JsonValue& out) {
    const char* start = ++m_at;
    while (true) {
      m_at = endOfPlainText(m_at, m_end);
      if (m_at == m_end) return false;
      if (*m_at == '"') break;
      if (*m_at != '\\' || !escape()) return false;
    }
    out = {JsonKind::String, std::string_view(start, static_cast<size_t>(m_at - start))};
    ++m_at;
    return true;
  }

  bool escape() {
    if (++m_at == m_end) return false;
    const char c = *m_at++;
    if (c != 'u') return std::string_view("\"\\/bfnrt").find(c) != std::string_view::npos;
    const char* digits = m_at;
    for (int i = 0; i < 4; ++i, ++m_at) {
      if (m_at == m_end || !isHexDigit(*m_at)) return false;
    }
    countUnusable(std::string_view(digits, 4));
    return true;
  }

  // The escape of these four digits, which ends at the current byte, is counted when it stands for no character.
  void countUnusable(std::string_view digits) {
    if (digits == "0000") ++m_zeroCharacters;
    const auto isHalf = [](std::string_view four, std::string_view third) {
      return (four[0] | 0x20) == 'd' && third.find(four[1]) != std::string_view::npos;
    };
    constexpr std::string_view kFirst = "89abAB", kSecond = "cdefCDEF";
    const auto isEscape = [](std::string_view text) { return text.size() == 6 && text.substr(0, 2) == "\\u"; };
    if (isHalf(digits, kFirst)) {
      const std::string_view next(m_at, std::min<size_t>(6, static_cast<size_t>(m_end - m_at)));
      if (!isEscape(next) || !isHalf(next.substr(2), kSecond)) ++m_loneSurrogates;
    } else if (isHalf(digits, kSecond)) {
      m_loneSurrogates += m_pairEnd == m_at ? 0 : 1;
    }
    m_pairEnd = isHalf(digits, kFirst) ? m_at + 6 : nullptr;
  }

  // Goes behind the bracket that closes the one at hand, however many are open in between; not far, because a bracket
  // that nothing closes looks the same.
  bool passTooDeep() {
    constexpr std::ptrdiff_t kFarthest = 64 << 10;
    std::string closers;
    for (const char* start = m_at; m_at != m_end && m_at - start < kFarthest; ++m_at) {
      const char c = *m_at;
      if (c == '"') {
        JsonValue text;
        if (!string(text)) return false;
        --m_at;  // at its closing quote
      } else if (c == '{' || c == '[') {
        closers += c == '{' ? '}' : ']';
      } else if (c == '}' || c == ']') {
        if (closers.empty() || closers.back() != c) return false;
        closers.pop_back();
        if (!closers.empty()) continue;
        ++m_at;
        ++m_tooDeep;
        return true;
      }
    }
    return false;
  }

  bool literal(JsonValue& out) {
    struct Literal {
      std::string_view text;
      JsonKind kind;
    };
    static constexpr std::array<Literal, 11> kLiterals = {{{"true", JsonKind::Boolean},
                                                           {"false", JsonKind::Boolean},
                                                           {"null", JsonKind::Null},
                                                           {"NaN", JsonKind::NotFinite},
                                                           {"Infinity", JsonKind::NotFinite},
                                                           {"-Infinity", JsonKind::NotFinite},
                                                           {"nan", JsonKind::NotFinite},
                                                           {"-nan", JsonKind::NotFinite},
                                                           {"inf", JsonKind::NotFinite},
                                                           {"-inf", JsonKind::NotFinite},
                                                           {"-NaN", JsonKind::NotFinite}}};
    const std::string_view rest(m_at, static_cast<size_t>(m_end - m_at));
    for (const Literal& known : kLiterals) {
      if (rest.substr(0, known.text.size()) == known.text) {
        m_at += known.text.size();
        out.kind = known.kind;
        return true;
      }
      if (known.text.substr(0, rest.size()) == rest) {  // cut within the word
        m_at = m_end;
        return false;
      }
    }
    return false;
  }

  bool number(JsonValue& out) {
    out.kind = JsonKind::Number;
    if (*m_at == '-') ++m_at;
    if (!digits()) return false;
    if (m_at != m_end && *m_at == '.') {
      ++m_at;
      if (!digits()) return false;
    }
    if (m_at != m_end && (*m_at == 'e' || *m_at == 'E')) {
      ++m_at;
      if (m_at != m_end && (*m_at == '-' || *m_at == '+')) ++m_at;
      if (!digits()) return false;
    }
    return true;
  }
  bool digits() {
    const char* start = m_at;
    while (m_at != m_end && isDigit(*m_at)) ++m_at;
    return m_at != start;
  }

  const char* m_at;
  const char* m_end;
  const char* m_pairEnd = nullptr;  // where the second half of a pair ends whose first half was the last escape
  uint64_t m_tooDeep = 0, m_zeroCharacters = 0, m_loneSurrogates = 0;
};

}  // namespace plumb::import
