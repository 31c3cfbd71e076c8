// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <utility>

namespace plumb::cli {
namespace {

constexpr uint32_t kBroken = 0xFFFFFFFF;

// The code point at `at`, and how many bytes it takes; kBroken and 1 for what is not UTF-8.
struct Decoded {
  uint32_t codePoint;
  size_t length;
};
Decoded decode(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(text[i])); };
  const uint32_t first = byte(at);
  if (first < 0x80) return {first, 1};
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || at + length > text.size()) return {kBroken, 1};
  uint32_t codePoint = first & (0x7Fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return {kBroken, 1};
    codePoint = codePoint << 6 | (byte(at + i) & 0x3F);
  }
  const bool tooLong = (length == 3 && codePoint < 0x800) || (length == 4 && codePoint < 0x10000);
  const bool notACharacter = codePoint > 0x10FFFF || (codePoint >= 0xD800 && codePoint <= 0xDFFF);
  if (tooLong || notACharacter) return {kBroken, 1};
  return {codePoint, length};
}

bool isDangerous(uint32_t c) {
  const bool isControl = c < 0x20 || (c >= 0x7F && c <= 0x9F);
  const bool isDirection =
      (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) || c == 0x200E || c == 0x200F || c == 0x061C;
  const bool isLineBreak = c == 0x2028 || c == 0x2029;
  return isControl || isDirection || isLineBreak;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const auto [codePoint, length] = decode(text, at);
    if (codePoint == kBroken) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at]));
    } else if (codePoint == '\n') {
      result += "\\n";
    } else if (codePoint == '\t') {
      result += "\\t";
    } else if (isDangerous(codePoint)) {
      result += codePoint < 0x100 ? fmt::format("\\x{:02x}", codePoint) : fmt::format("\\u{:04x}", codePoint);
    } else {
      result += text.substr(at, length);
    }
    at += length;
  }
  return result;
}

std::string repaired(std::string_view text) {
  const auto plain = std::ranges::find_if(text, [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
  size_t at = static_cast<size_t>(plain - text.begin());
  std::string result(text.substr(0, at));
  while (at < text.size()) {
    const auto [codePoint, length] = decode(text, at);
    result += codePoint == kBroken ? std::string_view("\xEF\xBF\xBD") : text.substr(at, length);
    at += length;
  }
  return result;
}

size_t width(std::string_view text) {
  size_t columns = 0;
  for (const char c : text) columns += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return columns;
}

std::string shortened(std::string_view text, size_t columns) {
  if (width(text) <= columns) return std::string(text);
  // Both ends of a kernel's name tell it apart from others.
  const size_t head = (columns - 1) * 2 / 3, tail = columns - 1 - head, all = width(text);
  std::string result;
  size_t position = 0;
  for (size_t at = 0; at < text.size(); ++position) {
    const size_t length = decode(text, at).length;
    if (position == head) result += "…";
    if (position < head || position >= all - tail) result += text.substr(at, length);
    at += length;
  }
  return result;
}

std::string begun(std::string_view text, size_t columns) {
  if (width(text) <= columns || columns == 0) return std::string(text);
  size_t end = 0;
  for (size_t characters = 0; end < text.size(); ++end) {
    const bool isStart = (static_cast<unsigned char>(text[end]) & 0xC0) != 0x80;
    if (isStart && ++characters == columns) break;
  }
  return std::string(text.substr(0, end)) + "…";
}

std::string wrapped(std::string_view text, size_t columns) {
  std::string result, line;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find_first_of(" \n", at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (!line.empty() && width(line) + 1 + width(word) > columns) {
      result += line + "\n";
      line.clear();
    }
    if (!line.empty() && !word.empty()) line += ' ';
    line += word;
    if (end < text.size() && text[end] == '\n') {
      result += line + "\n";
      line.clear();
    }
    at = end + 1;
  }
  return result + line;
}

std::string formatDuration(double nanoseconds) {
  const double size = std::fabs(nanoseconds);
  if (size < 999.5) return fmt::format("{:.0f} ns", nanoseconds);
  if (size < 999.95e3) return fmt::format("{:.1f} µs", nanoseconds / 1e3);
  if (size < 999.995e6) return fmt::format("{:.2f} ms", nanoseconds / 1e6);
  return fmt::format("{:.3f} s", nanoseconds / 1e9);
}

std::string formatShort(Duration duration) {
  static constexpr const char* kUnits[] = {"ns", "µs", "ms", "s"};
  double value = static_cast<double>(duration.ns());
  size_t unit = 0;
  while (std::fabs(value) >= 999.5 && unit + 1 < std::size(kUnits)) {
    value /= 1000;
    ++unit;
  }
  const double size = std::fabs(value);
  const int decimals = unit == 0 || size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", value, decimals, kUnits[unit]);
}

std::string formatBytes(double bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t unit = 0;
  while (std::fabs(bytes) >= 1023.995 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.2f} {}", bytes, kUnits[unit]);
}

std::string formatPerSecond(double perSecond, std::string_view unit) {
  static constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P"};
  size_t prefix = 0;
  while (std::fabs(perSecond) >= 999.995 && prefix + 1 < std::size(kPrefixes)) {
    perSecond /= 1000;
    ++prefix;
  }
  return fmt::format("{:.2f} {}{}/s", perSecond, kPrefixes[prefix], unit);
}

std::string formatCount(int64_t count) {
  std::string digits = fmt::format("{}", count);
  const size_t first = count < 0 ? 1 : 0;
  for (size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string formatPercent(double percent) { return fmt::format("{:.1f} %", percent); }

Result<int64_t> parseNanoseconds(std::string_view text) {
  static constexpr std::pair<std::string_view, int> kUnits[] = {{"", 0},   {"ns", 0}, {"us", 3}, {"µs", 3},
                                                                {"μs", 3}, {"ms", 6}, {"s", 9}};
  const auto wrong = [&] {
    return Error{
        fmt::format("'{}' is not a time: give nanoseconds, or a number with ns, us, ms or s, as in 12.5ms.", text)};
  };
  const bool isNegative = text.starts_with('-');
  std::string_view rest = text.substr(isNegative || text.starts_with('+') ? 1 : 0);
  const size_t end = std::min(rest.find_first_not_of("0123456789."), rest.size());
  const std::string_view number = rest.substr(0, end);
  std::string_view unit = rest.substr(end);
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  const auto known = std::ranges::find(kUnits, unit, &std::pair<std::string_view, int>::first);
  const size_t point = std::min(number.find('.'), number.size());
  std::string digits(number.substr(0, point));
  std::string decimals(number.substr(std::min(point + 1, number.size())));
  if (known == std::end(kUnits) || digits.size() + decimals.size() == 0 || decimals.find('.') != std::string::npos)
    return wrong();
  while (decimals.ends_with('0')) decimals.pop_back();
  if (decimals.size() > static_cast<size_t>(known->second))
    return Error{fmt::format("'{}' is no whole number of nanoseconds.", text)};
  decimals.resize(static_cast<size_t>(known->second), '0');
  digits += decimals;
  int64_t value = 0;
  const auto [stop, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (failed != std::errc()) return Error{fmt::format("The time '{}' is too far away.", text)};
  return isNegative ? -value : value;
}

}  // namespace plumb::cli
