// SPDX-License-Identifier: Apache-2.0
// Text for a page that is sent to somebody: nothing of a trace may become markup.
#pragma once
#include <string>
#include <string_view>

namespace plumb::exports {

// For text and for attribute values in double quotes. Control characters and broken UTF-8 become visible escapes.
[[nodiscard]] std::string html(std::string_view text);

}  // namespace plumb::exports
