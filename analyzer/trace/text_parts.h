// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace plumb {

// Without the blanks, tabs and carriage returns around it.
[[nodiscard]] std::string_view trimmed(std::string_view text);

// The values of a list "a, b" without the blanks around them; empty ones are left out.
[[nodiscard]] std::vector<std::string> commaList(std::string_view text);

}  // namespace plumb
