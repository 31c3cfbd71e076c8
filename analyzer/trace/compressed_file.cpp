// SPDX-License-Identifier: Apache-2.0
#include "analyzer/trace/compressed_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <new>
#include <tuple>
#include <utility>

#include "analyzer/trace/foreign_file.h"

namespace plumb {
namespace {

constexpr size_t kMostKept = 32u << 20;
constexpr std::string_view kSqliteMagic("SQLite format 3\0", 16);
constexpr size_t kSqliteHeaderBytes = 100;

// The same file in the same state.
using Identity = std::tuple<uint64_t, uint64_t, int64_t, int64_t, int64_t>;

struct OpenFiles {
  std::mutex mutex;
  std::map<Identity, std::weak_ptr<CompressedFile>> files;
};
OpenFiles& openFiles() {
  static auto* const files = new OpenFiles;  // never destroyed: threads may still close files at the end
  return *files;
}

uint64_t bigEndian(std::string_view bytes, size_t at, size_t count) {
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

// What the file's header says of its size; 0 when it does not say.
uint64_t statedBytes(std::string_view header) {
  constexpr size_t kPageSize = 16, kChanges = 24, kPages = 28, kChangesWhenCounted = 92;
  if (bigEndian(header, kChanges, 4) != bigEndian(header, kChangesWhenCounted, 4)) return 0;
  const uint64_t pageSize = bigEndian(header, kPageSize, 2);
  return bigEndian(header, kPages, 4) * (pageSize == 1 ? 65536 : pageSize);
}

}  // namespace

Result<std::shared_ptr<CompressedFile>> CompressedFile::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (fd < 0 || ::fstat(fd, &status) != 0) {
    const std::string why = std::strerror(errno);
    if (fd >= 0) ::close(fd);
    return Error{fmt::format("{} cannot be opened ({}).", path, why)};
  }
  const Identity identity{status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
  OpenFiles& known = openFiles();
  const std::lock_guard lock(known.mutex);
  if (auto shared = known.files[identity].lock()) {
    ::close(fd);
    return shared;
  }
  std::erase_if(known.files, [](const auto& entry) { return entry.second.expired(); });
  auto index = FrameIndex::read(fd, path);
  if (!index.ok()) {
    ::close(fd);
    return index.error();
  }
  const std::shared_ptr<CompressedFile> file(new CompressedFile(fd, std::move(index).value()));
  if (Status checked = file->checkContent(path); !checked.ok()) return checked.error();
  known.files[identity] = file;
  return file;
}

CompressedFile::~CompressedFile() { ::close(m_fd); }

Status CompressedFile::checkContent(const std::string& path) {
  if (m_index.count() == 0) return Error{m_index.cutSentence()};
  const Piece first = pieceAt(0);
  if (!first.bytes) return Error{problem()};
  const std::string_view header = std::string_view(*first.bytes).substr(0, kSqliteHeaderBytes);
  if (!header.starts_with(kSqliteMagic)) {
    return Error{fmt::format("{} is not a Plumbline file: what is compressed in it is no SQLite database.{}", path,
                             kImportFirst)};
  }
  if (header.size() < kSqliteHeaderBytes)
    return Error{fmt::format("{} is damaged: its first frame is too short.", path)};
  // What is lost may be the seek table alone.
  const uint64_t stated = statedBytes(header);
  if (stated > size() || (stated == 0 && m_index.isCut())) return Error{m_index.cutSentence() + m_index.remedy()};
  return Unit{};
}

CompressedFile::Piece CompressedFile::pieceAt(uint64_t offset) {
  const size_t frame = m_index.frameAt(offset);
  const uint64_t start = m_index.start(frame);
  std::unique_lock lock(m_mutex);
  for (auto found = m_entries.find(frame); found != m_entries.end(); found = m_entries.find(frame)) {
    if (found->second.bytes) {
      m_byUse.splice(m_byUse.begin(), m_byUse, found->second.place);
      return {start, found->second.bytes};
    }
    m_decompressed.wait(lock);
  }
  m_entries.emplace(frame, Entry{});
  lock.unlock();
  auto content = decompress(frame);
  lock.lock();
  std::shared_ptr<const std::string> bytes;
  if (content.ok()) {
    bytes = std::make_shared<const std::string>(std::move(content).value());
    keep(frame, bytes);
  } else {
    m_problem = content.error().message + m_index.remedy();
    m_entries.erase(frame);
  }
  lock.unlock();
  m_decompressed.notify_all();
  return {start, std::move(bytes)};
}

Result<std::string> CompressedFile::decompress(size_t frame) const {
  try {
    return m_index.decompress(frame);
  } catch (const std::bad_alloc&) {
    return Error{"Not enough memory to decompress a frame of the file."};
  }
}

void CompressedFile::keep(size_t frame, std::shared_ptr<const std::string> bytes) {
  m_keptBytes += bytes->size();
  m_byUse.push_front(frame);
  m_entries[frame] = {std::move(bytes), m_byUse.begin()};
  while (m_keptBytes > kMostKept && m_byUse.size() > 1) {
    const auto oldest = m_entries.find(m_byUse.back());
    m_keptBytes -= oldest->second.bytes->size();
    m_entries.erase(oldest);
    m_byUse.pop_back();
  }
}

std::string CompressedFile::problem() const {
  const std::lock_guard lock(m_mutex);
  return m_problem;
}

}  // namespace plumb
