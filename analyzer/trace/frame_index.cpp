// SPDX-License-Identifier: Apache-2.0
#include "analyzer/trace/frame_index.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <utility>

#include "analyzer/trace/damaged_file.h"
#include "analyzer/trace/foreign_file.h"

namespace plumb {
namespace {

constexpr uint32_t kFrameMagic = 0xFD2FB528, kSkippableMagic = 0x184D2A50, kSkippableMask = 0xFFFFFFF0;
constexpr size_t kMostFrames = 2u << 20;  // at 128 KiB each: 256 GiB
constexpr unsigned char kHasChecksums = 0x80, kReserved = 0x7c;
constexpr size_t kFirstLook = 256u << 10;  // of a frame whose end is not known

uint32_t number(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value |= uint32_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  return value;
}

// What is there of `count` bytes.
std::string bytesAt(int fd, uint64_t offset, size_t count) {
  std::string bytes(count, '\0');
  size_t got = 0;
  while (got < count) {
    const ssize_t read = ::pread(fd, bytes.data() + got, count - got, static_cast<off_t>(offset + got));
    if (read < 0 && errno == EINTR) continue;
    if (read <= 0) break;
    got += static_cast<size_t>(read);
  }
  bytes.resize(got);
  return bytes;
}

bool isSkippable(std::string_view bytes) {
  return bytes.size() >= 4 && (number(bytes, 0) & kSkippableMask) == kSkippableMagic;
}

}  // namespace

bool isZstdData(std::string_view start) noexcept {
  return isSkippable(start) || (start.size() >= 4 && number(start, 0) == kFrameMagic);
}

bool startsAsZstd(const std::string& path) {
  std::array<char, 4> start{};
  std::ifstream file(path, std::ios::binary);
  file.read(start.data(), start.size());
  return isZstdData(std::string_view(start.data(), static_cast<size_t>(file.gcount())));
}

Result<FrameIndex> FrameIndex::read(int fd, const std::string& path) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return Error{fmt::format("{} cannot be read ({}).", path, std::strerror(errno))};
  FrameIndex index(fd, path, static_cast<uint64_t>(status.st_size));
  if (index.readTable()) return index;
  index.m_frames.assign(1, {});
  if (Status scanned = index.scan(); !scanned.ok()) return scanned.error();
  return index;
}

void FrameIndex::add(Frame frame, uint64_t size) {
  Frame& last = m_frames.back();
  const uint64_t end = frame.offset + frame.bytes;
  frame.start = last.start;
  last = frame;
  m_frames.push_back({end, frame.start + size, 0, std::nullopt});
}

bool FrameIndex::readTable() {
  if (m_fileBytes < kSkippableHeaderBytes + kSeekTableFooterBytes) return false;
  const std::string footer = bytesAt(m_fd, m_fileBytes - kSeekTableFooterBytes, kSeekTableFooterBytes);
  if (footer.size() < kSeekTableFooterBytes || number(footer, 5) != kSeekableMagic) return false;
  const uint64_t count = number(footer, 0);
  const auto descriptor = static_cast<unsigned char>(footer[4]);
  const size_t entryBytes = descriptor & kHasChecksums ? 12 : 8;
  const uint64_t tableBytes = kSkippableHeaderBytes + count * entryBytes + kSeekTableFooterBytes;
  if ((descriptor & kReserved) != 0 || count > kMostFrames || tableBytes > m_fileBytes) return false;
  const uint64_t begin = m_fileBytes - tableBytes;
  const std::string table = bytesAt(m_fd, begin, tableBytes);
  if (table.size() != tableBytes || number(table, 0) != kSeekTableMagic ||
      number(table, 4) != tableBytes - kSkippableHeaderBytes) {
    return false;
  }
  uint64_t offset = 0;
  m_frames.reserve(count + 1);
  for (uint64_t i = 0; i < count; ++i) {
    const size_t at = kSkippableHeaderBytes + i * entryBytes;
    Frame frame{offset, 0, number(table, at), std::nullopt};
    const uint32_t size = number(table, at + 4);
    if (entryBytes == 12) frame.checksum = number(table, at + 8);
    offset += frame.bytes;
    if (size > kLargestFrame || frame.bytes > ZSTD_compressBound(kLargestFrame)) return false;
    if (size > 0) {
      add(frame, size);
    } else {
      m_frames.back().offset = offset;  // a skippable frame
    }
  }
  return offset == begin && count > 0;
}

Status FrameIndex::scan() {
  uint64_t offset = 0;
  const auto cut = [&](std::optional<uint64_t> damage = std::nullopt) {
    m_isCut = true;
    m_damage = damage;
    return Unit{};
  };
  while (offset < m_fileBytes) {
    std::string bytes = bytesAt(m_fd, offset, kFirstLook);
    if (isSkippable(bytes)) {
      if (bytes.size() < kSkippableHeaderBytes) break;
      offset += kSkippableHeaderBytes + number(bytes, 4);
      continue;
    }
    if (bytes.size() < 4) break;
    if (number(bytes, 0) != kFrameMagic) return cut(offset);
    const unsigned long long size = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
    if (size == ZSTD_CONTENTSIZE_UNKNOWN || (size > kLargestFrame && size != ZSTD_CONTENTSIZE_ERROR)) {
      return inOnePiece(offset);
    }
    size_t packed = ZSTD_findFrameCompressedSize(bytes.data(), bytes.size());
    if (ZSTD_isError(packed) && offset + bytes.size() < m_fileBytes) {
      bytes = bytesAt(m_fd, offset, ZSTD_compressBound(kLargestFrame));
      packed = ZSTD_findFrameCompressedSize(bytes.data(), bytes.size());
    }
    if (ZSTD_isError(packed)) {
      const bool isAtEnd = offset + bytes.size() >= m_fileBytes;
      return isAtEnd ? cut() : cut(offset);
    }
    if (count() == kMostFrames) return Error{fmt::format("{} has more than {} frames.", m_path, kMostFrames)};
    if (size > 0) add({offset, 0, static_cast<uint32_t>(packed), std::nullopt}, size);
    offset += packed;
  }
  if (offset != m_fileBytes || count() == 0) return cut();
  return Unit{};
}

std::string FrameIndex::cutSentence() const {
  const std::string place = fmt::format("{} {} {}", m_path, m_damage ? "is damaged at byte" : "ends early, at byte",
                                        m_damage.value_or(m_fileBytes));
  if (count() == 0) {
    return place +
           ", inside its first frame, so nothing of it can be read: it has to be copied again from where it is whole, "
           "or made again from what it was packed or imported from.";
  }
  return fmt::format("{}: {} whole frame{} with {:.1f} MB come{} before it.", place, count(), count() == 1 ? "" : "s",
                     static_cast<double>(size()) / 1e6, count() == 1 ? "s" : "");
}

std::string FrameIndex::remedy() const {
  if (count() == 0) return "";
  return fmt::format(" `plumb pack {} -o part.sqlite` unpacks what is whole, and {}", m_path,
                     recoverSentence("part.sqlite"));
}

Error FrameIndex::inOnePiece(uint64_t offset) const {
  const std::string start = offset == 0 ? firstBytes(16) : std::string("SQLite");
  if (!start.starts_with("SQLite")) {
    return Error{fmt::format("{} is not a Plumbline file: what is compressed in it is no SQLite database.{}", m_path,
                             kImportFirst)};
  }
  return Error{fmt::format(
      "{} is compressed in pieces too large to be read in place (at byte {}): unpack it with `zstd -d`, and "
      "compress it with `plumb pack`.",
      m_path, offset)};
}

std::string FrameIndex::firstBytes(size_t count) const {
  const std::unique_ptr<ZSTD_DStream, size_t (*)(ZSTD_DStream*)> stream(ZSTD_createDStream(), ZSTD_freeDStream);
  const std::string input = bytesAt(m_fd, 0, kFirstLook);
  std::string bytes(count, '\0');
  ZSTD_inBuffer source{input.data(), input.size(), 0};
  ZSTD_outBuffer target{bytes.data(), bytes.size(), 0};
  while (stream && target.pos < target.size && source.pos < source.size) {
    if (ZSTD_isError(ZSTD_decompressStream(stream.get(), &target, &source))) break;
  }
  bytes.resize(target.pos);
  return bytes;
}

size_t FrameIndex::frameAt(uint64_t offset) const noexcept {
  const auto behind = std::upper_bound(m_frames.begin(), m_frames.end(), offset,
                                       [](uint64_t value, const Frame& frame) { return value < frame.start; });
  return static_cast<size_t>(behind - m_frames.begin()) - 1;
}

Error FrameIndex::unusable(size_t frame, std::string_view why) const {
  const Frame& place = m_frames[frame];
  return Error{fmt::format("{} is damaged in frame {} of {}, bytes {} to {} ({}).", m_path, frame + 1, count(),
                           place.offset, place.offset + place.bytes, why)};
}

Result<std::string> FrameIndex::decompress(size_t frame) const {
  const Frame& place = m_frames[frame];
  const std::string packed = bytesAt(m_fd, place.offset, place.bytes);
  if (packed.size() != place.bytes) return unusable(frame, "it has become shorter");
  // Two frames in the place of one, or one and a piece of another, would be decompressed, too.
  if (ZSTD_findFrameCompressedSize(packed.data(), packed.size()) != packed.size()) {
    return unusable(frame, "not one frame, as the seek table says");
  }
  std::string content(bytes(frame), '\0');
  const size_t size = ZSTD_decompress(content.data(), content.size(), packed.data(), packed.size());
  if (ZSTD_isError(size)) return unusable(frame, ZSTD_getErrorName(size));
  if (size != content.size()) return unusable(frame, "it holds less than the seek table says");
  // The frame's own checksum, which has been compared, is of the same kind as the table's.
  constexpr size_t kDescriptor = 4;
  const bool hasChecksum = (static_cast<unsigned char>(packed[kDescriptor]) & 4) != 0;
  if (hasChecksum && place.checksum && number(packed, packed.size() - 4) != *place.checksum) {
    return unusable(frame, "another checksum in the seek table");
  }
  return content;
}

}  // namespace plumb
