// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/json.h"

#include <charconv>
#include <cmath>

#include "analyzer/import/json_reader.h"

namespace plumb::import {
namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }

int hexDigit(char c) {
  if (isDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

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

JsonValue JsonValue::of(std::string_view text) {
  const char first = text.empty() ? 'n' : text.front();
  switch (first) {
    case '"':
      return {JsonKind::String, text.size() < 2 ? std::string_view() : text.substr(1, text.size() - 2)};
    case '{':
      return {JsonKind::Object, text};
    case '[':
      return {JsonKind::Array, text};
    case 't':
    case 'f':
      return {JsonKind::Boolean, text};
    case 'n':
      return {JsonKind::Null, text};
    default:
      return {JsonKind::Number, text};
  }
}

bool readObject(std::string_view text, const JsonMember& take) {
  JsonReader reader(text);
  return reader.object(take) && reader.atEnd();
}

bool readArray(std::string_view text, const JsonElement& take) {
  JsonReader reader(text);
  return reader.array(take) && reader.atEnd();
}

namespace {

// The usual form, "1712195495519689.047": up to 16 digits, then up to three more. No value for any other.
std::optional<int64_t> plainNanoseconds(std::string_view text) {
  constexpr size_t kMostDigits = 16;
  constexpr int64_t kMostMicroseconds = INT64_MAX / 1000 - 1;
  int64_t value = 0;
  size_t i = 0;
  for (; i < text.size() && i <= kMostDigits && isDigit(text[i]); ++i) value = value * 10 + (text[i] - '0');
  if (i == 0 || i > kMostDigits || value > kMostMicroseconds) return std::nullopt;
  if (i == text.size()) return value * 1000;
  const size_t fraction = text.size() - i - 1;
  if (text[i] != '.' || fraction == 0 || fraction > 3) return std::nullopt;
  for (++i; i < text.size(); ++i) {
    if (!isDigit(text[i])) return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  constexpr int64_t kScale[4] = {1000, 100, 10, 1};
  return value * kScale[fraction];
}

}  // namespace

std::optional<int64_t> nanosecondsOf(std::string_view microseconds) {
  if (const auto plain = plainNanoseconds(microseconds)) return plain;
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
