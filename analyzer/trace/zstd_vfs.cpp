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
sqlite3_vfs* defaultOf(sqlite3_vfs* vfs) { return static_cast<sqlite3_vfs*>(vfs->pAppData); }

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
  sqlite3_vfs* usual = defaultOf(vfs);
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

// Everything but xOpen is the default's.
sqlite3_vfs vfsBeside(sqlite3_vfs* usual) {
  using Vfs = sqlite3_vfs*;
  sqlite3_vfs vfs{};
  vfs.iVersion = 2;
  vfs.szOsFile = std::max(usual->szOsFile, static_cast<int>(sizeof(OpenFile)));
  vfs.mxPathname = usual->mxPathname;
  vfs.zName = kZstdVfs;
  vfs.pAppData = usual;
  vfs.xOpen = open;
  vfs.xDelete = [](Vfs v, const char* path, int sync) { return defaultOf(v)->xDelete(defaultOf(v), path, sync); };
  vfs.xAccess = [](Vfs v, const char* path, int what, int* result) {
    return defaultOf(v)->xAccess(defaultOf(v), path, what, result);
  };
  vfs.xFullPathname = [](Vfs v, const char* path, int size, char* full) {
    return defaultOf(v)->xFullPathname(defaultOf(v), path, size, full);
  };
  vfs.xDlOpen = [](Vfs v, const char* path) { return defaultOf(v)->xDlOpen(defaultOf(v), path); };
  vfs.xDlError = [](Vfs v, int size, char* text) { defaultOf(v)->xDlError(defaultOf(v), size, text); };
  vfs.xDlSym = [](Vfs v, void* library, const char* name) { return defaultOf(v)->xDlSym(defaultOf(v), library, name); };
  vfs.xDlClose = [](Vfs v, void* library) { defaultOf(v)->xDlClose(defaultOf(v), library); };
  vfs.xRandomness = [](Vfs v, int size, char* bytes) { return defaultOf(v)->xRandomness(defaultOf(v), size, bytes); };
  vfs.xSleep = [](Vfs v, int microseconds) { return defaultOf(v)->xSleep(defaultOf(v), microseconds); };
  vfs.xCurrentTime = [](Vfs v, double* now) { return defaultOf(v)->xCurrentTime(defaultOf(v), now); };
  vfs.xGetLastError = [](Vfs v, int size, char* text) { return defaultOf(v)->xGetLastError(defaultOf(v), size, text); };
  vfs.xCurrentTimeInt64 = [](Vfs v, sqlite3_int64* now) {
    Vfs other = defaultOf(v);
    if (other->iVersion >= 2 && other->xCurrentTimeInt64) return other->xCurrentTimeInt64(other, now);
    double days = 0;
    const int result = other->xCurrentTime(other, &days);
    *now = static_cast<sqlite3_int64>(days * 86'400'000.0);
    return result;
  };
  return vfs;
}

}  // namespace

int registerZstdVfs() noexcept {
  if (sqlite3_vfs_find(kZstdVfs)) return SQLITE_OK;
  sqlite3_vfs* usual = sqlite3_vfs_find(nullptr);
  if (!usual) return SQLITE_ERROR;
  static sqlite3_vfs vfs = vfsBeside(usual);
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
