// SPDX-License-Identifier: Apache-2.0
#include "analyzer/trace/vfs_beside.h"

#include <algorithm>

namespace plumb {

sqlite3_vfs vfsBeside(sqlite3_vfs* usual, const char* name, int fileBytes, decltype(sqlite3_vfs::xOpen) open) noexcept {
  using Vfs = sqlite3_vfs*;
  sqlite3_vfs vfs{};
  vfs.iVersion = 2;
  vfs.szOsFile = std::max(usual->szOsFile, fileBytes);
  vfs.mxPathname = usual->mxPathname;
  vfs.zName = name;
  vfs.pAppData = usual;
  vfs.xOpen = open;
  vfs.xDelete = [](Vfs v, const char* path, int sync) { return usualOf(v)->xDelete(usualOf(v), path, sync); };
  vfs.xAccess = [](Vfs v, const char* path, int what, int* result) {
    return usualOf(v)->xAccess(usualOf(v), path, what, result);
  };
  vfs.xFullPathname = [](Vfs v, const char* path, int size, char* full) {
    return usualOf(v)->xFullPathname(usualOf(v), path, size, full);
  };
  vfs.xDlOpen = [](Vfs v, const char* path) { return usualOf(v)->xDlOpen(usualOf(v), path); };
  vfs.xDlError = [](Vfs v, int size, char* text) { usualOf(v)->xDlError(usualOf(v), size, text); };
  vfs.xDlSym = [](Vfs v, void* library, const char* name) { return usualOf(v)->xDlSym(usualOf(v), library, name); };
  vfs.xDlClose = [](Vfs v, void* library) { usualOf(v)->xDlClose(usualOf(v), library); };
  vfs.xRandomness = [](Vfs v, int size, char* bytes) { return usualOf(v)->xRandomness(usualOf(v), size, bytes); };
  vfs.xSleep = [](Vfs v, int microseconds) { return usualOf(v)->xSleep(usualOf(v), microseconds); };
  vfs.xCurrentTime = [](Vfs v, double* now) { return usualOf(v)->xCurrentTime(usualOf(v), now); };
  vfs.xGetLastError = [](Vfs v, int size, char* text) { return usualOf(v)->xGetLastError(usualOf(v), size, text); };
  vfs.xCurrentTimeInt64 = [](Vfs v, sqlite3_int64* now) {
    Vfs other = usualOf(v);
    if (other->iVersion >= 2 && other->xCurrentTimeInt64) return other->xCurrentTimeInt64(other, now);
    double days = 0;
    const int result = other->xCurrentTime(other, &days);
    *now = static_cast<sqlite3_int64>(days * 86'400'000.0);
    return result;
  };
  return vfs;
}

}  // namespace plumb
