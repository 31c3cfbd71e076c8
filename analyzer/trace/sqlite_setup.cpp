// SPDX-License-Identifier: Apache-2.0
#include "analyzer/trace/sqlite_setup.h"

#include <sqlite3.h>

namespace plumb {

void configureSqlite() noexcept {
  // Counting the memory takes a lock of the whole program at each allocation; nobody asks for the count.
  (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

}  // namespace plumb
