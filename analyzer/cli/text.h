// SPDX-License-Identifier: Apache-2.0
// Numbers and foreign text as a person reads them in a terminal.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "analyzer/trace/time.h"
#include "collector/schema/result.h"

namespace plumb::cli {

// A trace's text may come from anybody: control characters, direction overrides and broken UTF-8 are shown as escapes.
[[nodiscard]] std::string escaped(std::string_view text);
// Valid UTF-8 with broken bytes replaced by U+FFFD, for JSON.
[[nodiscard]] std::string repaired(std::string_view text);

// Columns that a terminal uses; every character counts as one.
[[nodiscard]] size_t width(std::string_view text);
// At most `columns` wide, "…" in the middle of what was longer.
[[nodiscard]] std::string shortened(std::string_view text, size_t columns);

// At most `columns` wide, "…" at the end of what was longer.
[[nodiscard]] std::string begun(std::string_view text, size_t columns);
// Lines of at most `columns`, broken between words; a word that is longer stays whole.
[[nodiscard]] std::string wrapped(std::string_view text, size_t columns);

[[nodiscard]] std::string formatDuration(double nanoseconds);  // "1.234 ms"
[[nodiscard]] inline std::string formatDuration(Duration d) { return formatDuration(static_cast<double>(d.ns())); }
[[nodiscard]] std::string formatShort(Duration duration);                            // three digits: "1.23 ms"
[[nodiscard]] std::string formatBytes(double bytes);                                 // "1.50 MiB"
[[nodiscard]] std::string formatPerSecond(double perSecond, std::string_view unit);  // "1.50 GB/s": powers of 1000
[[nodiscard]] std::string formatCount(int64_t count);                                // "12,345"
[[nodiscard]] std::string formatPercent(double percent);                             // "12.3 %"

// "250000" or "250000ns", "12.5ms", "250us" (or "µs"), "1s": exact to the nanosecond; what lies between two is an
// error, and so is anything else.
[[nodiscard]] Result<int64_t> parseNanoseconds(std::string_view text);

}  // namespace plumb::cli
