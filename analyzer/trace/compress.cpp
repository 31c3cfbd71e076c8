// SPDX-License-Identifier: Apache-2.0
#include "analyzer/trace/compress.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "analyzer/trace/frame_index.h"
#include "analyzer/trace/staging.h"

namespace plumb {
namespace {

// Larger frames are smaller in all and slower to look something up in.
constexpr size_t kFrameBytes = 128u << 10;
constexpr size_t kFramesPerThread = 8;  // between two writes

struct CloseFile {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

Error systemError() { return Error{std::strerror(errno)}; }

// Rows of integers have short matches: what finds them by optimal parsing is a seventh smaller than zstd's level 9, and
// six times as fast as level 19, which is hardly smaller.
constexpr std::pair<ZSTD_cParameter, int> kParameters[] = {
    {ZSTD_c_compressionLevel, 12}, {ZSTD_c_strategy, ZSTD_btopt}, {ZSTD_c_minMatch, 3},
    {ZSTD_c_searchLog, 3},         {ZSTD_c_targetLength, 64},     {ZSTD_c_windowLog, 17},
    {ZSTD_c_hashLog, 17},          {ZSTD_c_chainLog, 17},         {ZSTD_c_checksumFlag, 1}};

class Compressor {
 public:
  Compressor() : m_context(ZSTD_createCCtx(), ZSTD_freeCCtx) {
    for (const auto& [parameter, value] : kParameters) {
      if (m_context) (void)ZSTD_CCtx_setParameter(m_context.get(), parameter, value);
    }
  }
  // Empty when there is no memory.
  [[nodiscard]] std::string compress(const std::string& content) {
    std::string packed(ZSTD_compressBound(content.size()), '\0');
    if (!m_context) return {};
    const size_t size = ZSTD_compress2(m_context.get(), packed.data(), packed.size(), content.data(), content.size());
    packed.resize(ZSTD_isError(size) ? 0 : size);
    return packed;
  }

 private:
  std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> m_context;
};

void appendNumber(std::string& bytes, uint64_t value) {
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
}

class SeekTable {
 public:
  void add(const std::string& packed, size_t size) {
    appendNumber(m_entries, packed.size());
    appendNumber(m_entries, size);
    m_entries.append(packed, packed.size() - 4);  // the frame's checksum is what the table wants
    ++m_count;
  }
  [[nodiscard]] std::string frame() const {
    std::string bytes;
    appendNumber(bytes, kSeekTableMagic);
    appendNumber(bytes, m_entries.size() + kSeekTableFooterBytes);
    bytes += m_entries;
    appendNumber(bytes, m_count);
    bytes += '\x80';  // with checksums
    appendNumber(bytes, kSeekableMagic);
    return bytes;
  }

 private:
  std::string m_entries;
  uint64_t m_count = 0;
};

bool writeAll(std::FILE* file, const std::string& bytes) {
  return std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
}

// Reads up to `frames.size()` frames; the rest of the vector is emptied.
Status readFrames(std::FILE* file, std::vector<std::string>& frames) {
  for (std::string& frame : frames) {
    frame.resize(kFrameBytes);
    frame.resize(std::fread(frame.data(), 1, frame.size(), file));
  }
  return std::ferror(file) ? Status(systemError()) : Status(Unit{});
}

void compressAll(const std::vector<std::string>& frames, std::vector<std::string>& packed,
                 std::vector<Compressor>& compressors) {
  std::atomic<size_t> next = 0;
  const auto work = [&](Compressor& compressor) {
    for (size_t i = next++; i < frames.size() && !frames[i].empty(); i = next++)
      packed[i] = compressor.compress(frames[i]);
  };
  std::vector<std::jthread> workers;
  for (size_t i = 1; i < compressors.size(); ++i) workers.emplace_back([&, i] { work(compressors[i]); });
  work(compressors.front());
}

}  // namespace

bool isCompressedName(const std::string& path) { return path.ends_with(".zst"); }

std::string copyStatement(const std::string& to) {
  std::string quoted;
  for (const char c : to) quoted.append(c == '\'' ? 2 : 1, c);
  return fmt::format("VACUUM main INTO '{}'", quoted);
}

Status compressFile(const std::string& from, const std::string& to, const CompressProgress& progress) {
  std::error_code failed;
  const uint64_t size = std::filesystem::file_size(from, failed);
  const File source(std::fopen(from.c_str(), "rbe"));
  File target(std::fopen(to.c_str(), "wbe"));
  if (!source || !target) return systemError();
  std::vector<Compressor> compressors(std::clamp(std::thread::hardware_concurrency(), 1U, 16U));
  std::vector<std::string> frames(compressors.size() * kFramesPerThread), packed(frames.size());
  SeekTable table;
  uint64_t done = 0;
  do {
    if (Status read = readFrames(source.get(), frames); !read.ok()) return read;
    compressAll(frames, packed, compressors);
    for (size_t i = 0; i < frames.size() && !frames[i].empty(); ++i) {
      if (packed[i].empty()) return Error{"there is no memory for compressing it"};
      table.add(packed[i], frames[i].size());
      if (!writeAll(target.get(), packed[i])) return systemError();
      done += frames[i].size();
    }
    if (progress) progress(done, size);
  } while (!frames.back().empty());
  if (!writeAll(target.get(), table.frame())) return systemError();
  return std::fclose(target.release()) == 0 ? Status(Unit{}) : Status(systemError());
}

Status publishCompressed(const std::string& from, const std::string& path, bool replace,
                         const CompressProgress& progress) {
  auto staging = Staging::file(path, "packing");
  if (!staging.ok()) return staging.error();
  if (Status packed = compressFile(from, staging.value().path(), progress); !packed.ok()) return packed;
  return staging.value().publishFile(replace);
}

Result<Unpacked> unpackFile(const std::string& from, const std::string& to, const CompressProgress& progress) {
  const File source(std::fopen(from.c_str(), "rbe"));
  if (!source) return Error{fmt::format("{} cannot be opened ({}).", from, std::strerror(errno))};
  File target(std::fopen(to.c_str(), "wbe"));
  const auto cannotWrite = [&] { return Error{fmt::format("Cannot write {}: {}.", to, std::strerror(errno))}; };
  if (!target) return cannotWrite();
  auto index = FrameIndex::read(::fileno(source.get()), from);
  if (!index.ok()) return index.error();
  Unpacked result;
  size_t lost = 0;
  for (size_t i = 0; i < index.value().count(); ++i) {
    if (progress) progress(i, index.value().count());
    auto content = index.value().decompress(i);
    if (!content.ok()) {
      ++lost;
      if (result.problems.empty()) result.problems.push_back(content.error().message);
      // A hole takes no place on the disk, whatever the table says of its size.
      const auto end = static_cast<off_t>(index.value().start(i) + index.value().bytes(i));
      if (::ftruncate(::fileno(target.get()), end) != 0 || ::fseeko(target.get(), end, SEEK_SET) != 0)
        return cannotWrite();
      continue;
    }
    if (!writeAll(target.get(), content.value())) return cannotWrite();
  }
  if (lost == index.value().count()) {
    return Error{result.problems.empty() ? index.value().cutSentence() : result.problems.front()};
  }
  if (lost > 1) result.problems.push_back(fmt::format("{}: {} frames are damaged in all.", from, lost));
  if (index.value().isCut()) result.problems.push_back(index.value().cutSentence());
  if (std::fclose(target.release()) != 0) return cannotWrite();
  return result;
}

}  // namespace plumb
