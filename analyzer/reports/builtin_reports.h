// SPDX-License-Identifier: Apache-2.0
// The .sql files of analyzer/reports, as they were when the program was built.
#pragma once
#include <span>
#include <string_view>

namespace plumb {

struct BuiltinReport {
  std::string_view name;
  std::string_view text;
};
[[nodiscard]] std::span<const BuiltinReport> builtinReports() noexcept;

}  // namespace plumb
