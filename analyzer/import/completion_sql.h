// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

namespace plumb::import {

// The text of completion.sql.
[[nodiscard]] std::string_view completionSql() noexcept;

}  // namespace plumb::import
