// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace plumb {

// SQLite's settings for a whole program; a library in somebody else's has no right to them. Before the first Database.
void configureSqlite() noexcept;

}  // namespace plumb
