// SPDX-License-Identifier: Apache-2.0
#include "analyzer/trace/file_kind.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "analyzer/trace/compressed_file.h"
#include "analyzer/trace/foreign_file.h"

namespace plumb {
namespace {

constexpr std::string_view kMagic("SQLite format 3\0", 16);
constexpr size_t kHeaderBytes = 100;
constexpr size_t kWriteVersionOffset = 18;  // 2: write-ahead log

}  // namespace

Result<FileKind> fileKindOf(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code failed;
  const fs::file_status status = fs::status(path, failed);
  if (status.type() == fs::file_type::not_found) return Error{fmt::format("There is no file {}.", path)};
  if (status.type() == fs::file_type::directory) {
    return Error{fmt::format("{} is a folder: name a trace file in it.", path)};
  }
  if (failed) return Error{fmt::format("{} cannot be opened ({}).", path, failed.message())};
  if (status.type() != fs::file_type::regular) return Error{fmt::format("{} is not a regular file.", path)};

  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{fmt::format("{} cannot be opened ({}).", path, std::strerror(errno))};
  std::array<char, kHeaderBytes> header{};
  file.read(header.data(), header.size());
  const auto length = static_cast<size_t>(file.gcount());
  if (length == 0) return Error{fmt::format("{} is empty (0 bytes): nothing was recorded into it.", path)};
  if (isZstdData(std::string_view(header.data(), length))) {
    auto compressed = CompressedFile::open(path);
    return compressed.ok() ? Result<FileKind>(FileKind::Compressed) : compressed.error();
  }
  if (std::string_view(header.data(), std::min(length, kMagic.size())) != kMagic.substr(0, length)) {
    return Error{fmt::format("{} is not a Plumbline file: it is not an SQLite database.{}", path, kImportFirst)};
  }
  if (length < kHeaderBytes) return Error{fmt::format("{} is damaged: it ends after {} bytes.", path, length)};
  return header[kWriteVersionOffset] == 2 ? FileKind::Log : FileKind::Plain;
}

bool hasContent(const std::string& path) {
  std::error_code failed;
  const auto size = std::filesystem::file_size(path, failed);
  return !failed && size > 0;
}

bool folderIsWritable(const std::string& path) {
  const auto folder = std::filesystem::path(path).parent_path();
  return faccessat(AT_FDCWD, folder.empty() ? "." : folder.c_str(), W_OK, AT_EACCESS) == 0;
}

}  // namespace plumb
