// SPDX-License-Identifier: Apache-2.0
// The source files of the checkout and what they include, for the tests that hold the dependency rules.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace plumb::test {

struct SourceFile {
  std::string path;                   // from the top of the checkout, "collector/api/records.h"
  std::vector<std::string> includes;  // as written between the quotes or brackets
  std::string text;
};

// All .h .hpp .cpp .cu .cuh .c files of the product's folders, in path order.
[[nodiscard]] std::vector<SourceFile> readSourceTree();

// What a shell command prints on its standard output.
[[nodiscard]] std::string outputOf(const std::string& command);

}  // namespace plumb::test
