// SPDX-License-Identifier: Apache-2.0
// A file in Zstandard's seekable format: frames that are compressed independently of each other, then a skippable frame
// with the table of their sizes, so that `zstd -d` reads it and any part can be decompressed by itself. The file is a
// stranger's: what is kept in memory is bounded, whatever it says. Thread-safe once read.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collector/schema/result.h"

namespace plumb {

// The seek table's numbers, little endian; zstd's contrib/seekable_format describes them.
inline constexpr uint32_t kSeekTableMagic = 0x184D2A5E, kSeekableMagic = 0x8F92EAB1;
inline constexpr size_t kSkippableHeaderBytes = 8, kSeekTableFooterBytes = 9;
inline constexpr uint32_t kLargestFrame = 16u << 20;  // decompressed

// Whether a file that begins so is Zstandard data.
[[nodiscard]] bool isZstdData(std::string_view start) noexcept;

// Whether the file of that name does; false when it cannot be read.
[[nodiscard]] bool startsAsZstd(const std::string& path);

class FrameIndex {
 public:
  // By the seek table, or, where it is missing or contradicts the file, by the frames' own headers. `path` is for
  // messages.
  [[nodiscard]] static Result<FrameIndex> read(int fd, const std::string& path);

  [[nodiscard]] size_t count() const noexcept { return m_frames.size() - 1; }
  [[nodiscard]] uint64_t size() const noexcept { return m_frames.back().start; }  // of the decompressed file
  [[nodiscard]] uint64_t start(size_t frame) const noexcept { return m_frames[frame].start; }
  [[nodiscard]] size_t bytes(size_t frame) const noexcept { return m_frames[frame + 1].start - m_frames[frame].start; }
  [[nodiscard]] size_t frameAt(uint64_t offset) const noexcept;  // requires offset < size()
  // The frame's content. An error is a sentence that names the place.
  [[nodiscard]] Result<std::string> decompress(size_t frame) const;
  // Frames are missing at its end, or may be; the sentence says where.
  [[nodiscard]] bool isCut() const noexcept { return m_isCut; }
  [[nodiscard]] std::string cutSentence() const;
  // A sentence for behind these, with a space before it: what can be done about it. "" when nothing can.
  [[nodiscard]] std::string remedy() const;

 private:
  struct Frame {
    uint64_t offset = 0, start = 0;  // in the file, in the decompressed one
    uint32_t bytes = 0;              // in the file
    std::optional<uint32_t> checksum;
  };

  FrameIndex(int fd, std::string path, uint64_t fileBytes)
      : m_fd(fd), m_path(std::move(path)), m_fileBytes(fileBytes) {}
  [[nodiscard]] bool readTable();
  [[nodiscard]] Status scan();
  void add(Frame frame, uint64_t size);
  [[nodiscard]] Error unusable(size_t frame, std::string_view why) const;
  [[nodiscard]] Error inOnePiece(uint64_t offset) const;
  [[nodiscard]] std::string firstBytes(size_t count) const;  // of the decompressed file, as far as there are any

  int m_fd;
  std::string m_path;
  uint64_t m_fileBytes;
  std::vector<Frame> m_frames{1};  // in order, and one behind the last
  bool m_isCut = false;
  std::optional<uint64_t> m_damage;  // where no frame begins
};

}  // namespace plumb
