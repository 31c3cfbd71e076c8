// SPDX-License-Identifier: Apache-2.0
// Files that users write: rules and reports.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "collector/schema/result.h"

namespace plumb {

// The file's text. An error when it is no regular file, cannot be read, is empty, larger than `mostBytes` or not text
// (a NUL byte, or not UTF-8); `what` begins the sentence: "The rule", so "The rule PATH is empty."
[[nodiscard]] Result<std::string> readTextFile(std::string_view what, const std::string& path, uintmax_t mostBytes);

}  // namespace plumb
