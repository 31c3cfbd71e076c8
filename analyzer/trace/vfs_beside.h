// SPDX-License-Identifier: Apache-2.0
// What a VFS of ours has in common with the default one: all but how it opens files.
#pragma once
#include "analyzer/trace/sqlite_api.h"

namespace plumb {

// A VFS that hands everything but xOpen to `usual`, which is its pAppData. `fileBytes`: of the object that its xOpen
// puts into the memory of a file; files of `usual` fit there too. Both names must live as long as the VFS.
[[nodiscard]] sqlite3_vfs vfsBeside(sqlite3_vfs* usual, const char* name, int fileBytes,
                                    decltype(sqlite3_vfs::xOpen) open) noexcept;

[[nodiscard]] inline sqlite3_vfs* usualOf(sqlite3_vfs* vfs) { return static_cast<sqlite3_vfs*>(vfs->pAppData); }

}  // namespace plumb
