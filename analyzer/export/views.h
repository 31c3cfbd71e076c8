// SPDX-License-Identifier: Apache-2.0
// The public views (collector/schema/views.sql), by name.
#pragma once
#include <string>
#include <vector>

namespace plumb::exports {

[[nodiscard]] std::vector<std::string> publicViews();

}  // namespace plumb::exports
