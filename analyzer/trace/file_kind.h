// SPDX-License-Identifier: Apache-2.0
// What can be said of a trace file before SQLite is asked.
#pragma once
#include <cstdint>
#include <string>

#include "collector/schema/result.h"

namespace plumb {

enum class FileKind : uint8_t { Plain, Log, Compressed };  // Log: an SQLite file with a write-ahead log

// An error is a sentence: there is no such file, it is a folder, it is something else …
[[nodiscard]] Result<FileKind> fileKindOf(const std::string& path);
// False also when there is no such file.
[[nodiscard]] bool hasContent(const std::string& path);
// Whether a file can be made beside this one.
[[nodiscard]] bool folderIsWritable(const std::string& path);

}  // namespace plumb
