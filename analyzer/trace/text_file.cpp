// SPDX-License-Identifier: Apache-2.0
#include "analyzer/trace/text_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace plumb {
namespace {

// Lengths of sequences only: whether it is text, not whether it is good text.
bool isUtf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const auto lead = static_cast<unsigned char>(text[at++]);
    const size_t more = lead < 0x80 ? 0 : lead >> 5 == 6 ? 1 : lead >> 4 == 14 ? 2 : lead >> 3 == 30 ? 3 : SIZE_MAX;
    if (more > text.size() - at) return false;
    for (size_t i = 0; i < more; ++i) {
      if ((static_cast<unsigned char>(text[at++]) & 0xc0) != 0x80) return false;
    }
  }
  return true;
}

}  // namespace

Result<std::string> readTextFile(std::string_view what, const std::string& path, uintmax_t mostBytes) {
  namespace fs = std::filesystem;
  std::error_code failed;
  // Opening anything else may wait for ever.
  if (fs::exists(path, failed) && !fs::is_regular_file(path, failed)) {
    return Error{fmt::format("{} {} is not a regular file.", what, path)};
  }
  if (const uintmax_t bytes = fs::file_size(path, failed); !failed && bytes > mostBytes) {
    return Error{fmt::format("{} {} has {} bytes: at most {} are read.", what, path, bytes, mostBytes)};
  }
  std::ifstream file(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file.is_open() || file.bad()) return Error{fmt::format("{} {} cannot be read.", what, path)};
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) return Error{fmt::format("{} {} is empty.", what, path)};
  if (text.find('\0') != std::string::npos || !isUtf8(text)) {
    return Error{fmt::format("{} {} is not text.", what, path)};
  }
  return text;
}

}  // namespace plumb
