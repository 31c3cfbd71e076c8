// SPDX-License-Identifier: Apache-2.0
// SQLite's way to a compressed file: a VFS that opens one for reading, by its content, and hands every other file to
// the default VFS. Programs with SQLite name it in the URI: file:run.sqlite.zst?vfs=plumb_zstd.
#pragma once
#include <string>

struct sqlite3;

namespace plumb {

inline constexpr char kZstdVfs[] = "plumb_zstd";

// For the whole process; again is no error. SQLite's result code.
[[nodiscard]] int registerZstdVfs() noexcept;

// Whether the main file is compressed.
[[nodiscard]] bool isCompressed(sqlite3* database);
// Why its last piece could not be read; "" when all could, and for other files.
[[nodiscard]] std::string compressedFileProblem(sqlite3* database);

}  // namespace plumb
