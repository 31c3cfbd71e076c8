// SPDX-License-Identifier: Apache-2.0
// Texts of a trace as JSON strings.
#pragma once
#include <string>
#include <string_view>

namespace plumb::exports {

// With its quotation marks; bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string jsonText(std::string_view text);
// True for one complete JSON value.
[[nodiscard]] bool isJson(std::string_view text);

}  // namespace plumb::exports
