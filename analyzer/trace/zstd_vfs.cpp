// SPDX-License-Identifier: Apache-2.0
#include "analyzer/trace/zstd_vfs.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>

#include "analyzer/trace/compressed_file.h"
#include "analyzer/trace/sqlite_api.h"
#include "analyzer/trace/vfs_beside.h"

namespace plumb {
namespace {

constexpr int kProblemControl = 0x504C5A;  // a file control of our own: puts problem() into a std::string

// As SQLite sees it: a struct whose first member is its own, in memory that it gives.
struct OpenFile {
  sqlite3_file base{};
  std::shared_ptr<CompressedFile> file;
  CompressedFile::Piece last;  // pages of a scan come one after the other
};

OpenFile& own(sqlite3_file* file) { return *reinterpret_cast<OpenFile*>(file); }

int close(sqlite3_file* file) {
  own(file).~OpenFile();
  return SQLITE_OK;
}

int readBytes(OpenFile& open, char* to, uint64_t count, uint64_t offset) {
  while (count > 0) {
    if (offset >= open.file->size()) {
      std::memset(to, 0, count);
      return SQLITE_IOERR_SHORT_READ;
    }
    CompressedFile::Piece& piece = open.last;
    if (!piece.bytes || offset < piece.start || offset - piece.start >= piece.bytes->size()) {
      piece = open.file->pieceAt(offset);
      if (!piece.bytes) return SQLITE_IOERR_READ;
    }
    const uint64_t from = offset - piece.start;
    const uint64_t step = std::min<uint64_t>(count, piece.bytes->size() - from);
    std::memcpy(to, piece.bytes->data() + from, step);
    to += step;
    offset += step;
    count -= step;
  }
  return SQLITE_OK;
}

int read(sqlite3_file* file, void* to, int count, sqlite3_int64 offset) {
  try {
    return readBytes(own(file), static_cast<char*>(to), static_cast<uint64_t>(count), static_cast<uint64_t>(offset));
  } catch (const std::exception&) {
    return SQLITE_IOERR_NOMEM;
  }
}

int fileSize(sqlite3_file* file, sqlite3_int64* size) {
  *size = static_cast<sqlite3_int64>(own(file).file->size());
  return SQLITE_OK;
}

int control(sqlite3_file* file, int what, void* argument) {
  try {
    if (what == kProblemControl) {
      *static_cast<std::string*>(argument) = own(file).file->problem();
      return SQLITE_OK;
    }
  } catch (const std::exception&) {
    return SQLITE_NOMEM;
  }
  if (what == SQLITE_FCNTL_VFSNAME) {
    *static_cast<char**>(argument) = sqlite3_mprintf("%s", kZstdVfs);
    return SQLITE_OK;
  }
  return SQLITE_NOTFOUND;
}

sqlite3_io_methods makeMethods() {
  sqlite3_io_methods methods{};
  methods.iVersion = 1;
  methods.xClose = close;
  methods.xRead = read;
  methods.xWrite = [](sqlite3_file*, const void*, int, sqlite3_int64) { return SQLITE_READONLY; };
  methods.xTruncate = [](sqlite3_file*, sqlite3_int64) { return SQLITE_READONLY; };
  methods.xSync = [](sqlite3_file*, int) { return SQLITE_OK; };
  methods.xFileSize = fileSize;
  methods.xLock = [](sqlite3_file*, int) { return SQLITE_OK; };
  methods.xUnlock = [](sqlite3_file*, int) { return SQLITE_OK; };
  methods.xCheckReservedLock = [](sqlite3_file*, int* isReserved) { return *isReserved = 0, SQLITE_OK; };
  methods.xFileControl = control;
  methods.xSectorSize = [](sqlite3_file*) { return 4096; };
  // Nobody writes it: SQLite then looks for no journal and no log beside it.
  methods.xDeviceCharacteristics = [](sqlite3_file*) { return SQLITE_IOCAP_IMMUTABLE; };
  return methods;
}
const sqlite3_io_methods kMethods = makeMethods();

int open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* given) {
  file->pMethods = nullptr;
  sqlite3_vfs* usual = usualOf(vfs);
  try {
    if (!path || !(flags & SQLITE_OPEN_MAIN_DB) || !startsAsZstd(path)) {
      return usual->xOpen(usual, path, file, flags, given);
    }
    auto opened = CompressedFile::open(path);
    if (!opened.ok()) {
      sqlite3_log(SQLITE_CANTOPEN, "%s", opened.error().message.c_str());
      return SQLITE_CANTOPEN;
    }
    auto* made = new (file) OpenFile;
    made->file = std::move(opened).value();
    made->base.pMethods = &kMethods;
  } catch (const std::exception&) {
    return SQLITE_NOMEM;
  }
  if (given) *given = (flags & ~(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)) | SQLITE_OPEN_READONLY;
  return SQLITE_OK;
}

}  // namespace

int registerZstdVfs() noexcept {
  if (sqlite3_vfs_find(kZstdVfs)) return SQLITE_OK;
  sqlite3_vfs* usual = sqlite3_vfs_find(nullptr);
  if (!usual) return SQLITE_ERROR;
  static sqlite3_vfs vfs = vfsBeside(usual, kZstdVfs, sizeof(OpenFile), open);
  return sqlite3_vfs_register(&vfs, 0);
}

bool isCompressed(sqlite3* database) {
  std::string ignored;
  return sqlite3_file_control(database, "main", kProblemControl, &ignored) == SQLITE_OK;
}

std::string compressedFileProblem(sqlite3* database) {
  std::string problem;
  (void)sqlite3_file_control(database, "main", kProblemControl, &problem);
  return problem;
}

}  // namespace plumb
