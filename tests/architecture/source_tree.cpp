// SPDX-License-Identifier: Apache-2.0
#include "tests/architecture/source_tree.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
#include <regex>
#include <set>
#include <sstream>

namespace plumb::test {
namespace fs = std::filesystem;

std::vector<SourceFile> readSourceTree() {
  static const std::set<std::string> kExtensions = {".h", ".hpp", ".cpp", ".cu", ".cuh", ".c", ".def"};
  static const std::regex kInclude(R"re(^\s*#\s*include\s*["<]([^">]+)[">])re");
  const fs::path top = PLUMB_SOURCE_DIR;
  std::vector<SourceFile> files;
  for (const char* folder : {"collector", "plugins", "analyzer", "gui", "workloads", "tests"}) {
    if (!fs::exists(top / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(top / folder)) {
      if (!entry.is_regular_file() || !kExtensions.contains(entry.path().extension().string())) continue;
      SourceFile file;
      file.path = fs::relative(entry.path(), top).generic_string();
      std::ifstream in(entry.path());
      std::string line;
      while (std::getline(in, line)) {
        std::smatch match;
        if (std::regex_search(line, match, kInclude)) file.includes.push_back(match[1]);
        file.text += line;
        file.text += '\n';
      }
      files.push_back(std::move(file));
    }
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return files;
}

std::string outputOf(const std::string& command) {
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string text;
  std::array<char, 4096> buffer{};
  while (size_t n = fread(buffer.data(), 1, buffer.size(), pipe.get())) text.append(buffer.data(), n);
  return text;
}

}  // namespace plumb::test
