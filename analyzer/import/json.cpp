// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/json.h"

#include <array>
#include <charconv>
#include <cmath>

namespace plumb::import {
namespace {

constexpr int kMostNested = 100;

bool isDigit(char c) { return c >= '0' && c <= '9'; }

int hexDigit(char c) {
  if (isDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : m_at(text.data()), m_end(text.data() + text.size()) {}

  bool object(const JsonMember* take, int depth) {
    if (depth > kMostNested || !consume('{')) return false;
    if (consume('}')) return true;
    do {
      JsonValue key, member;
      if (!value(key, depth) || key.kind != JsonKind::String || !consume(':') || !value(member, depth)) return false;
      if (take) (*take)(key.text, member);
    } while (consume(','));
    return consume('}');
  }

  bool array(const JsonElement* take, int depth) {
    if (depth > kMostNested || !consume('[')) return false;
    if (consume(']')) return true;
    do {
      JsonValue element;
      if (!value(element, depth)) return false;
      if (take) (*take)(element);
    } while (consume(','));
    return consume(']');
  }

  bool atEnd() {
    skipSpace();
    return m_at == m_end;
  }

 private:
  void skipSpace() {
    while (m_at != m_end && (*m_at == ' ' || *m_at == '\n' || *m_at == '\r' || *m_at == '\t')) ++m_at;
  }
  bool consume(char c) {
    skipSpace();
    if (m_at == m_end || *m_at != c) return false;
    ++m_at;
    return true;
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
        valid = object(nullptr, depth + 1);
        break;
      case '[':
        out.kind = JsonKind::Array;
        valid = array(nullptr, depth + 1);
        break;
      default:
        valid = literal(out) || number(out);
    }
    out.text = std::string_view(start, static_cast<size_t>(m_at - start));
    return valid;
  }

  bool string(JsonValue& out) {
    const char* start = ++m_at;
    for (; m_at != m_end && *m_at != '"'; ++m_at) {
      if (static_cast<unsigned char>(*m_at) < 0x20) return false;
      if (*m_at != '\\') continue;
      if (++m_at == m_end) return false;
      if (*m_at == 'u') {
        if (m_end - m_at < 5) return false;
        for (int i = 1; i <= 4; ++i) {
          if (hexDigit(m_at[i]) < 0) return false;
        }
        m_at += 4;
      } else if (std::string_view("\"\\/bfnrt").find(*m_at) == std::string_view::npos) {
        return false;
      }
    }
    if (m_at == m_end) return false;
    out = {JsonKind::String, std::string_view(start, static_cast<size_t>(m_at - start))};
    ++m_at;
    return true;
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
    for (const Literal& literal : kLiterals) {
      if (rest.substr(0, literal.text.size()) != literal.text) continue;
      m_at += literal.text.size();
      out.kind = literal.kind;
      return true;
    }
    return false;
  }

  bool number(JsonValue& out) {
    out.kind = JsonKind::Number;
    if (m_at != m_end && *m_at == '-') ++m_at;
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
};

void appendUtf8(std::string& out, uint32_t point) {
  const auto push = [&](uint32_t byte) { out += static_cast<char>(byte); };
  if (point < 0x80) {
    push(point);
  } else if (point < 0x800) {
    push(0xC0 | point >> 6);
    push(0x80 | (point & 0x3F));
  } else if (point < 0x10000) {
    push(0xE0 | point >> 12);
    push(0x80 | (point >> 6 & 0x3F));
    push(0x80 | (point & 0x3F));
  } else {
    push(0xF0 | point >> 18);
    push(0x80 | (point >> 12 & 0x3F));
    push(0x80 | (point >> 6 & 0x3F));
    push(0x80 | (point & 0x3F));
  }
}

// The four hex digits at `at`.
uint32_t codeUnit(std::string_view text, size_t at) {
  uint32_t unit = 0;
  for (size_t i = at; i < at + 4; ++i) unit = unit << 4 | static_cast<uint32_t>(hexDigit(text[i]));
  return unit;
}

// `at` is at the u of \uXXXX; afterwards at the last digit.
void appendEscapedPoint(std::string& out, std::string_view text, size_t& at) {
  uint32_t point = codeUnit(text, at + 1);
  at += 4;
  if (point >= 0xD800 && point < 0xDC00 && text.substr(at + 1, 2) == "\\u") {
    const uint32_t low = codeUnit(text, at + 3);
    if (low >= 0xDC00 && low < 0xE000) {
      point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
      at += 6;
    }
  }
  const bool usable = point != 0 && (point < 0xD800 || point > 0xDFFF);
  appendUtf8(out, usable ? point : '?');
}

}  // namespace

std::string JsonValue::toText() const {
  if (kind != JsonKind::String || text.find('\\') == std::string_view::npos) return std::string(text);
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    switch (text[++i]) {
      case 'b':
        out += '\b';
        break;
      case 'f':
        out += '\f';
        break;
      case 'n':
        out += '\n';
        break;
      case 'r':
        out += '\r';
        break;
      case 't':
        out += '\t';
        break;
      case 'u':
        appendEscapedPoint(out, text, i);
        break;
      default:
        out += text[i];
    }
  }
  return out;
}

std::optional<int64_t> JsonValue::toInteger() const {
  if (kind != JsonKind::Number && kind != JsonKind::String) return std::nullopt;
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && at == end) return value;
  // 4.0 and 4e3 are integers too.
  const auto real = toReal();
  constexpr double kExact = 9007199254740992.0;
  if (!real || std::abs(*real) > kExact || std::trunc(*real) != *real) return std::nullopt;
  return static_cast<int64_t>(*real);
}

std::optional<double> JsonValue::toReal() const {
  if (kind != JsonKind::Number && kind != JsonKind::String) return std::nullopt;
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

bool readObject(std::string_view text, const JsonMember& take) {
  Reader reader(text);
  return reader.object(&take, 0) && reader.atEnd();
}

bool readArray(std::string_view text, const JsonElement& take) {
  Reader reader(text);
  return reader.array(&take, 0) && reader.atEnd();
}

std::optional<int64_t> nanosecondsOf(std::string_view microseconds) {
  const bool negative = !microseconds.empty() && microseconds[0] == '-';
  std::string_view digits = microseconds.substr(negative ? 1 : 0);
  const size_t point = digits.find('.');
  const std::string_view whole = digits.substr(0, point);
  const std::string_view fraction = point == std::string_view::npos ? std::string_view() : digits.substr(point + 1);
  if (whole.empty() || whole.find_first_not_of("0123456789") != std::string_view::npos ||
      fraction.find_first_not_of("0123456789") != std::string_view::npos) {
    // An exponent: such times have no nanosecond digits to lose.
    long double value = 0;
    const char* end = microseconds.data() + microseconds.size();
    const auto [at, error] = std::from_chars(microseconds.data(), end, value);
    if (error != std::errc() || at != end || !(std::abs(value) < 9.2e15L)) return std::nullopt;
    return static_cast<int64_t>(std::llround(value * 1000));
  }
  int64_t value = 0;
  const auto append = [&](char digit) {
    return !__builtin_mul_overflow(value, int64_t{10}, &value) &&
           !__builtin_add_overflow(value, int64_t{digit - '0'}, &value);
  };
  for (const char digit : whole) {
    if (!append(digit)) return std::nullopt;
  }
  for (size_t i = 0; i < 3; ++i) {
    if (!append(i < fraction.size() ? fraction[i] : '0')) return std::nullopt;
  }
  if (fraction.size() > 3 && fraction[3] >= '5' && __builtin_add_overflow(value, int64_t{1}, &value)) {
    return std::nullopt;
  }
  return negative ? -value : value;
}

}  // namespace plumb::import
