// SPDX-License-Identifier: Apache-2.0
// Texts come from programs that may put any bytes into a name; one bad byte must not make the file unreadable to
// others.
#pragma once
#include <string>
#include <string_view>

namespace plumb::schema {

// Well-formed UTF-8 without zero bytes.
[[nodiscard]] bool isUtf8(std::string_view text) noexcept;
// The text with every byte that is not part of a well-formed character replaced by '?'.
[[nodiscard]] std::string toUtf8(std::string_view text);

}  // namespace plumb::schema
