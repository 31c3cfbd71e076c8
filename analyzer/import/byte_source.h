// SPDX-License-Identifier: Apache-2.0
// The bytes of a file as a stream of blocks, gzip and zstd looked through, a byte order mark of UTF-8 left out. A thread of its own reads and decompresses
// ahead of the user by a few blocks, so memory does not depend on the file's size.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "collector/schema/result.h"

namespace plumb::import {

class ByteSource {
 public:
  [[nodiscard]] static Result<ByteSource> open(const std::string& path);
  ByteSource(ByteSource&&) noexcept;
  ByteSource& operator=(ByteSource&&) noexcept;
  ~ByteSource();

  // What comes next, `count` bytes if there are that many; append() will give it too.
  [[nodiscard]] std::string_view peek(size_t count);
  // Appends the next block; false at the end.
  [[nodiscard]] bool append(std::string& buffer);

  // After the end: what cut the data short ("the gzip data ends early …"), if anything did. All bytes before the cut
  // have been given.
  [[nodiscard]] const std::optional<std::string>& problem() const;

  // Of the file on the disk, for showing progress.
  [[nodiscard]] uint64_t size() const;
  [[nodiscard]] uint64_t readSoFar() const;

 private:
  struct State;
  explicit ByteSource(std::unique_ptr<State> state);
  std::unique_ptr<State> m_state;
};

}  // namespace plumb::import
