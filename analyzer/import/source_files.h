// SPDX-License-Identifier: Apache-2.0
// What can be said of the files of an import before any is read.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/import/import.h"
#include "collector/schema/result.h"

namespace plumb::import {

// Options that cannot be: ranks that are none, one file named twice, an output that is no file.
[[nodiscard]] Status checkOptions(const ImportOptions& options);

// Files of one content under different names, as pairs of places in the list: the later one first. Reads only files of
// equal size, and those as far as they are equal.
[[nodiscard]] std::vector<std::pair<size_t, size_t>> equalFiles(const std::vector<std::string>& files);

// Whether two files hold the same data, compressed or not. False where one cannot be read twice, as a pipe.
[[nodiscard]] bool holdSameData(const std::string& first, const std::string& second);

}  // namespace plumb::import
