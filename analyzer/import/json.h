// SPDX-License-Identifier: Apache-2.0
// A strict reader of JSON texts that keeps numbers as they are written, because times do not fit a double. Values are
// views into the text; nothing is allocated but decoded strings. Beyond JSON it accepts the NaN and Infinity tokens
// that profilers write, as a kind of their own.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace plumb::import {

enum class JsonKind : uint8_t { Null, Boolean, Number, NotFinite, String, Array, Object };

struct JsonValue {
  JsonKind kind = JsonKind::Null;
  std::string_view text;  // as written; of a string, what is between the quotes, with its escapes

  // The decoded string, or any other value as it is written. Lone surrogates become '?'.
  [[nodiscard]] std::string toText() const;
  // Of a number, or a string that holds one. No value when it is no integer or does not fit.
  [[nodiscard]] std::optional<int64_t> toInteger() const;
  [[nodiscard]] std::optional<double> toReal() const;

  // The value that a text is, without space around it; its kind is told by the first byte, nothing is checked.
  [[nodiscard]] static JsonValue of(std::string_view text);
};

// The key's escapes are not decoded.
using JsonMember = std::function<void(std::string_view key, const JsonValue& value)>;
using JsonElement = std::function<void(const JsonValue& value)>;

// False when the text is not exactly one valid object / array; members before the damage have been given by then.
// Members of an object that nest more than 100 deep are not given.
[[nodiscard]] bool readObject(std::string_view text, const JsonMember& take);
[[nodiscard]] bool readArray(std::string_view text, const JsonElement& take);

// Microseconds in decimal text to nanoseconds, exact; digits behind the nanosecond are rounded half up. No value when
// it is not a number or does not fit.
[[nodiscard]] std::optional<int64_t> nanosecondsOf(std::string_view microseconds);

}  // namespace plumb::import
