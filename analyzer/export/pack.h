// SPDX-License-Identifier: Apache-2.0
// A trace file compressed, in which everything can be looked up where it lies (analyzer/trace/compressed_file.h), and
// back.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "collector/schema/result.h"

namespace plumb::exports {

struct PackResult {
  uint64_t bytesBefore = 0, bytesAfter = 0;
  bool isWhole = true;                // false: part of the input cannot be read
  std::vector<std::string> warnings;  // for the user
};

// An existing `output` is an error unless `replace`. A NAME.zst becomes a compressed file, any other name a plain one
// of a compressed `file`; a damaged one is unpacked as far as it can be read. writeFailed is set when the error is one
// of writing the output (its disk is full).
using PackProgress = std::function<void(const std::string& what, uint64_t done, uint64_t size)>;
[[nodiscard]] Result<PackResult> packTrace(const std::string& file, const std::string& output, bool replace,
                                           const PackProgress& progress = {}, bool* writeFailed = nullptr);

}  // namespace plumb::exports
