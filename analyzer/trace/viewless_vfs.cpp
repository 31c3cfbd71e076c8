// SPDX-License-Identifier: Apache-2.0
// The list of tables is a b-tree of rows (type, name, …) whose root is page 1. A cell that no pointer of its page leads
// to does not exist for SQLite. The format: https://www.sqlite.org/fileformat2.html
#include "analyzer/trace/viewless_vfs.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>
#include <vector>

#include "analyzer/trace/page_bytes.h"
#include "analyzer/trace/sqlite_api.h"
#include "analyzer/trace/vfs_beside.h"

namespace plumb {
namespace {

constexpr size_t kMostPages = 1024;  // of the list; a longer one is shown whole

// As SQLite sees it: a struct whose first member is its own. The default VFS's file lies behind it.
struct OpenFile {
  sqlite3_file base{};
  std::vector<uint32_t> pages;  // of the list, without page 1, as that was last read
  size_t usable = 0;            // bytes of each
};

OpenFile& own(sqlite3_file* file) { return *reinterpret_cast<OpenFile*>(file); }
constexpr size_t kOwnBytes =
    (sizeof(OpenFile) + alignof(std::max_align_t) - 1) / alignof(std::max_align_t) * alignof(std::max_align_t);
sqlite3_file* usualFile(sqlite3_file* file) {
  return reinterpret_cast<sqlite3_file*>(reinterpret_cast<char*>(file) + kOwnBytes);
}

struct Page {
  uint8_t* bytes;
  size_t size;    // that is usable
  size_t header;  // where the b-tree's part begins
};

// The cell's bytes; 0: it is not the row of a view. Whatever is not as it should be is for SQLite to find.
size_t sizeOfView(const Page& page, size_t cell) {
  constexpr uint64_t kTypeOfFourCharacters = 13 + 2 * 4;
  Varints lengths(page.bytes + cell, page.bytes + page.size);
  const uint64_t payload = lengths.next();
  (void)lengths.next();  // the row's id
  const uint8_t* record = lengths.at();
  Varints types(record, page.bytes + page.size);
  const uint64_t headerBytes = types.next();
  const uint64_t type = types.next();
  if (!lengths.isGood() || !types.isGood() || type != kTypeOfFourCharacters) return 0;
  constexpr std::string_view kView = "view";
  const auto left = static_cast<size_t>(page.bytes + page.size - record);
  if (headerBytes > left || left - headerBytes < kView.size()) return 0;
  return std::memcmp(record + headerBytes, kView.data(), kView.size()) == 0 ? payload : 0;
}

void leaveOutViews(const Page& page, size_t cells) {
  uint8_t* pointers = page.bytes + page.header + kLeafHeader;
  const size_t leastCell = page.header + kLeafHeader + 2 * cells;
  if (leastCell > page.size) return;
  std::vector<uint16_t> kept;
  uint16_t shortest = 0;  // view: SQLite calls a page without cells damaged
  size_t shortestBytes = SIZE_MAX;
  for (size_t i = 0; i < cells; ++i) {
    const uint16_t cell = number16(pointers + 2 * i);
    if (cell < leastCell || cell + kLeastCell > page.size) return;
    const size_t bytes = sizeOfView(page, cell);
    if (bytes == 0) {
      kept.push_back(cell);
    } else if (bytes < shortestBytes) {
      shortest = cell;
      shortestBytes = bytes;
    }
  }
  if (kept.empty() && shortest != 0) kept.push_back(shortest);
  for (size_t i = 0; i < kept.size(); ++i) putNumber16(pointers + 2 * i, kept[i]);
  putNumber16(page.bytes + page.header + 3, static_cast<uint16_t>(kept.size()));
}

void addChildren(const Page& page, size_t cells, std::vector<uint32_t>& pages) {
  const size_t pointers = page.header + kInteriorHeader, leastCell = pointers + 2 * cells;
  if (leastCell > page.size || pages.size() + cells + 1 > kMostPages) return;
  for (size_t i = 0; i < cells; ++i) {
    const size_t cell = number16(page.bytes + pointers + 2 * i);
    if (cell < leastCell || cell + kLeastCell > page.size) return;
    pages.push_back(number32(page.bytes + cell));
  }
  pages.push_back(number32(page.bytes + page.header + 8));
}

void visit(const Page& page, std::vector<uint32_t>& pages) {
  const size_t cells = number16(page.bytes + page.header + 3);
  if (page.bytes[page.header] == kLeafPage) leaveOutViews(page, cells);
  if (page.bytes[page.header] == kInteriorPage) addChildren(page, cells, pages);
}

void show(OpenFile& open, uint8_t* bytes, size_t count, uint64_t offset) {
  constexpr uint32_t kUtf8 = 1;
  if (count < kLeastPage || offset % count != 0) return;  // not a page
  if (offset == 0) {
    // SQLite reads it again before any other page when the file may have changed.
    open.pages.clear();
    const bool isPlain = isDatabase(bytes) && !isInLogMode(bytes) && number32(bytes + 56) == kUtf8;
    if (isPlain && pageSizeIn(bytes) == count) visit({bytes, open.usable = count - bytes[20], kFileHeader}, open.pages);
    return;
  }
  const auto number = static_cast<uint32_t>(offset / count + 1);
  if (std::ranges::find(open.pages, number) != open.pages.end()) visit({bytes, open.usable, 0}, open.pages);
}

int read(sqlite3_file* file, void* to, int count, sqlite3_int64 offset) {
  sqlite3_file* usual = usualFile(file);
  const int result = usual->pMethods->xRead(usual, to, count, offset);
  if (result != SQLITE_OK || count < 0 || offset < 0) return result;
  try {
    show(own(file), static_cast<uint8_t*>(to), static_cast<size_t>(count), static_cast<uint64_t>(offset));
  } catch (const std::exception&) {
    return SQLITE_IOERR_NOMEM;
  }
  return result;
}

int close(sqlite3_file* file) {
  const int result = usualFile(file)->pMethods->xClose(usualFile(file));
  own(file).~OpenFile();
  return result;
}

// All but reading and closing is the default's. Without version 3, which maps files into memory past xRead.
sqlite3_io_methods makeMethods() {
  using File = sqlite3_file*;
  sqlite3_io_methods methods{};
  methods.iVersion = 2;
  methods.xClose = close;
  methods.xRead = read;
  methods.xWrite = [](File f, const void* from, int count, sqlite3_int64 offset) {
    return usualFile(f)->pMethods->xWrite(usualFile(f), from, count, offset);
  };
  methods.xTruncate = [](File f, sqlite3_int64 size) { return usualFile(f)->pMethods->xTruncate(usualFile(f), size); };
  methods.xSync = [](File f, int flags) { return usualFile(f)->pMethods->xSync(usualFile(f), flags); };
  methods.xFileSize = [](File f, sqlite3_int64* size) { return usualFile(f)->pMethods->xFileSize(usualFile(f), size); };
  methods.xLock = [](File f, int lock) { return usualFile(f)->pMethods->xLock(usualFile(f), lock); };
  methods.xUnlock = [](File f, int lock) { return usualFile(f)->pMethods->xUnlock(usualFile(f), lock); };
  methods.xCheckReservedLock = [](File f, int* isReserved) {
    return usualFile(f)->pMethods->xCheckReservedLock(usualFile(f), isReserved);
  };
  methods.xFileControl = [](File f, int what, void* argument) {
    return usualFile(f)->pMethods->xFileControl(usualFile(f), what, argument);
  };
  methods.xSectorSize = [](File f) { return usualFile(f)->pMethods->xSectorSize(usualFile(f)); };
  methods.xDeviceCharacteristics = [](File f) { return usualFile(f)->pMethods->xDeviceCharacteristics(usualFile(f)); };
  methods.xShmMap = [](File f, int region, int size, int extend, void volatile** memory) {
    return usualFile(f)->pMethods->xShmMap(usualFile(f), region, size, extend, memory);
  };
  methods.xShmLock = [](File f, int offset, int count, int flags) {
    return usualFile(f)->pMethods->xShmLock(usualFile(f), offset, count, flags);
  };
  methods.xShmBarrier = [](File f) { usualFile(f)->pMethods->xShmBarrier(usualFile(f)); };
  methods.xShmUnmap = [](File f, int isToDelete) {
    return usualFile(f)->pMethods->xShmUnmap(usualFile(f), isToDelete);
  };
  return methods;
}
const sqlite3_io_methods kMethods = makeMethods();

int open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* given) {
  sqlite3_vfs* usual = usualOf(vfs);
  if (!(flags & SQLITE_OPEN_MAIN_DB)) return usual->xOpen(usual, path, file, flags, given);
  file->pMethods = nullptr;
  usualFile(file)->pMethods = nullptr;
  const int result = usual->xOpen(usual, path, usualFile(file), flags, given);
  if (result != SQLITE_OK) {
    if (usualFile(file)->pMethods) usualFile(file)->pMethods->xClose(usualFile(file));
    return result;
  }
  auto* made = new (file) OpenFile;
  made->base.pMethods = &kMethods;
  return result;
}

}  // namespace

int registerViewlessVfs() noexcept {
  if (sqlite3_vfs_find(kViewlessVfs)) return SQLITE_OK;
  sqlite3_vfs* usual = sqlite3_vfs_find(nullptr);
  if (!usual) return SQLITE_ERROR;
  static sqlite3_vfs vfs = vfsBeside(usual, kViewlessVfs, static_cast<int>(kOwnBytes) + usual->szOsFile, open);
  return sqlite3_vfs_register(&vfs, 0);
}

}  // namespace plumb
