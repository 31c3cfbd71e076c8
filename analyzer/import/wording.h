// SPDX-License-Identifier: Apache-2.0
// Sentences that count something, and agree with their number.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace plumb::import {

// "[event|events] … [is|are]": what stands before the bar for one, what stands behind it for others.
[[nodiscard]] std::string agreeing(std::string_view text, uint64_t count);

// The message for a source: {0} is the count, {1} the file, {2} the place of the first; it agrees with the count.
[[nodiscard]] std::string worded(std::string_view message, uint64_t count, const std::string& file, uint64_t place = 0);

}  // namespace plumb::import
