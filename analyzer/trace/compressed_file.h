// SPDX-License-Identifier: Apache-2.0
// An SQLite file that is read where it lies compressed (frame_index.h). Everybody in the process who opens the same
// file shares it, and the frames that were decompressed last. Thread-safe.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "analyzer/trace/frame_index.h"
#include "collector/schema/result.h"

namespace plumb {

class CompressedFile {
 public:
  // An error is the sentence for the user: it is no compressed SQLite file, or lacks a part.
  [[nodiscard]] static Result<std::shared_ptr<CompressedFile>> open(const std::string& path);
  ~CompressedFile();
  CompressedFile(const CompressedFile&) = delete;
  CompressedFile& operator=(const CompressedFile&) = delete;

  [[nodiscard]] uint64_t size() const noexcept { return m_index.size(); }  // decompressed

  struct Piece {
    uint64_t start = 0;
    std::shared_ptr<const std::string> bytes;  // null: it cannot be read, and problem() says why
  };
  // What is decompressed together with the byte at `offset`; requires offset < size().
  [[nodiscard]] Piece pieceAt(uint64_t offset);
  // Why the last piece could not be read; "" when all could.
  [[nodiscard]] std::string problem() const;

 private:
  struct Entry {
    std::shared_ptr<const std::string> bytes;  // null while it is being decompressed
    std::list<size_t>::iterator place;
  };

  CompressedFile(int fd, FrameIndex index) : m_fd(fd), m_index(std::move(index)) {}
  [[nodiscard]] Status checkContent(const std::string& path);
  [[nodiscard]] Result<std::string> decompress(size_t frame) const;
  void keep(size_t frame, std::shared_ptr<const std::string> bytes);

  int m_fd;
  FrameIndex m_index;
  mutable std::mutex m_mutex;
  std::condition_variable m_decompressed;
  std::unordered_map<size_t, Entry> m_entries;
  std::list<size_t> m_byUse;  // frames that are decompressed, the last used first
  size_t m_keptBytes = 0;
  std::string m_problem;
};

}  // namespace plumb
