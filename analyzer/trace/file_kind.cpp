// SPDX-License-Identifier: Apache-2.0
#include "analyzer/trace/file_kind.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>
#include <vector>

#include "analyzer/trace/compressed_file.h"
#include "analyzer/trace/foreign_file.h"
#include "analyzer/trace/sqlite_api.h"

namespace plumb {
namespace {

constexpr std::string_view kMagic("SQLite format 3\0", 16);
constexpr size_t kHeaderBytes = 100;
constexpr size_t kWriteVersionOffset = 18;  // 2: write-ahead log

struct FreeName {
  void operator()(const char* name) const { sqlite3_free_filename(name); }
};

// The file's first bytes, as many as there are. Through SQLite: closing a file drops all locks that the process has on
// it, those of other connections too, and SQLite alone puts it off until these are done.
Result<std::string> beginOf(const std::string& path) {
  if (faccessat(AT_FDCWD, path.c_str(), R_OK, AT_EACCESS) != 0)
    return Error{fmt::format("{} cannot be opened ({}).", path, std::strerror(errno))};
  const Error unreadable{fmt::format("{} cannot be read.", path)};
  sqlite3_vfs* vfs = sqlite3_vfs_find(nullptr);
  if (!vfs) return unreadable;
  const std::unique_ptr<const char, FreeName> name(sqlite3_create_filename(path.c_str(), "", "", 0, nullptr));
  std::vector<std::max_align_t> memory(static_cast<size_t>(vfs->szOsFile) / sizeof(std::max_align_t) + 1);
  auto* file = reinterpret_cast<sqlite3_file*>(memory.data());
  int flags = 0;
  if (!name || vfs->xOpen(vfs, name.get(), file, SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB, &flags) != SQLITE_OK)
    return unreadable;
  sqlite3_int64 size = 0;
  std::string begin(kHeaderBytes, '\0');
  const bool isSized = file->pMethods->xFileSize(file, &size) == SQLITE_OK;
  const int read = file->pMethods->xRead(file, begin.data(), static_cast<int>(begin.size()), 0);
  file->pMethods->xClose(file);
  if (!isSized || (read != SQLITE_OK && read != SQLITE_IOERR_SHORT_READ)) return unreadable;
  begin.resize(static_cast<size_t>(std::min<sqlite3_int64>(size, kHeaderBytes)));
  return begin;
}

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

  const auto begin = beginOf(path);
  if (!begin.ok()) return begin.error();
  const std::string& header = begin.value();
  const size_t length = header.size();
  if (length == 0) return Error{fmt::format("{} is empty (0 bytes): nothing was recorded into it.", path)};
  if (isZstdData(header)) {
    auto compressed = CompressedFile::open(path);
    return compressed.ok() ? Result<FileKind>(FileKind::Compressed) : compressed.error();
  }
  if (header.substr(0, kMagic.size()) != kMagic.substr(0, length)) {
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
