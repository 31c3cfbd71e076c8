// SPDX-License-Identifier: Apache-2.0
// Writes the files that compressed_file.h reads.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "collector/schema/result.h"

namespace plumb {

// Told now and then, by the thread that called, how much of what is being read has been.
using CompressProgress = std::function<void(uint64_t bytes, uint64_t size)>;

// Whether an output of this name is to be compressed: NAME.zst.
[[nodiscard]] bool isCompressedName(const std::string& path);

// The SQL that writes a database's present state, without gaps and with every table in one piece, into the empty file
// `to`.
[[nodiscard]] std::string copyStatement(const std::string& to);

// The file `from`, compressed, into the existing file `to`. On all cores; needs about 2 MB for each. The errors are
// clauses that say what the system says.
[[nodiscard]] Status compressFile(const std::string& from, const std::string& to,
                                  const CompressProgress& progress = {});

// The same into a file `path`, which gets its name when it is complete; one of that name is replaced only when
// `replace`.
[[nodiscard]] Status publishCompressed(const std::string& from, const std::string& path, bool replace,
                                       const CompressProgress& progress = {});

struct Unpacked {
  std::vector<std::string> problems;  // sentences: what is missing, not what can be done
};
// The compressed file `from`, decompressed, into the existing file `to`. A frame that is damaged becomes zeros. Fails
// when nothing of it can be read.
[[nodiscard]] Result<Unpacked> unpackFile(const std::string& from, const std::string& to,
                                          const CompressProgress& progress = {});

}  // namespace plumb
