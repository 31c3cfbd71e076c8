// SPDX-License-Identifier: Apache-2.0
// The trace format as data: the texts of the .sql files beside this header and the numbers that name a file's kind.
#pragma once
#include <cstdint>
#include <string_view>

namespace plumb::schema {

inline constexpr int32_t kApplicationId = 0x504C4D42;  // PRAGMA application_id, "PLMB"
inline constexpr int32_t kVersion = 1;                 // PRAGMA user_version; CHANGES.md

[[nodiscard]] std::string_view tablesSql() noexcept;
// Files of this version that are older than the table lack it, and that is no damage.
[[nodiscard]] bool isAddedTable(std::string_view name) noexcept;
[[nodiscard]] std::string_view indexesSql() noexcept;
// views.sql and nsys_views.sql: every view that a file has.
[[nodiscard]] std::string_view viewsSql() noexcept;
[[nodiscard]] std::string_view ownViewsSql() noexcept;
[[nodiscard]] std::string_view nsysViewsSql() noexcept;

}  // namespace plumb::schema
