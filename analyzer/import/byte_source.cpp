// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/byte_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace plumb::import {
namespace {

constexpr size_t kBlockBytes = 1u << 18;  // stays in the second-level cache
constexpr size_t kBlocksAhead = 16;
constexpr std::string_view kGzipMagic("\x1f\x8b", 2);
constexpr std::string_view kByteOrderMark("\xef\xbb\xbf", 3);  // of UTF-8, where some programs write one
constexpr std::string_view kZstdMagic("\x28\xb5\x2f\xfd", 4);

}  // namespace

struct ByteSource::State {
  std::string path;
  int fd = -1;
  uint64_t size = 0;
  std::atomic<uint64_t> read{0};
  std::thread reader;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::string> blocks;
  bool finished = false;   // the reader has given everything
  bool abandoned = false;  // the user has gone
  std::optional<std::string> problem;

  ~State() {
    {
      const std::lock_guard lock(mutex);
      abandoned = true;
    }
    changed.notify_all();
    if (reader.joinable()) reader.join();
    if (fd >= 0) ::close(fd);
  }

  // The file's next bytes; empty at the end or after a problem.
  std::string_view readFile() {
    input.resize(kBlockBytes);
    ssize_t got = 0;
    do {
      got = ::read(fd, input.data(), input.size());
    } while (got < 0 && errno == EINTR);
    if (got < 0) note(fmt::format("it cannot be read beyond byte {}: {}", read.load(), std::strerror(errno)));
    if (got <= 0) return {};
    read += static_cast<uint64_t>(got);
    return {input.data(), static_cast<size_t>(got)};
  }

  // False when the user has gone.
  bool give(std::string block) {
    if (!std::exchange(hasBegun, true) && block.starts_with(kByteOrderMark)) block.erase(0, kByteOrderMark.size());
    if (block.empty()) return true;
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return abandoned || blocks.size() < kBlocksAhead; });
    if (abandoned) return false;
    blocks.push_back(std::move(block));
    lock.unlock();
    changed.notify_all();
    return true;
  }

  void note(std::string text) {
    const std::lock_guard lock(mutex);
    if (!problem) problem = std::move(text);
  }

  // What a file that ends before it can be told to be compressed is a piece of; "" for none.
  [[nodiscard]] std::string_view headerCutIn(std::string_view first) const {
    const auto isPiece = [&](std::string_view magic, std::string_view ending, size_t enough) {
      return !first.empty() && first.size() < magic.size() && magic.substr(0, first.size()) == first &&
             (first.size() >= enough || path.ends_with(ending));
    };
    if (isPiece(kGzipMagic, ".gz", 1)) return "gzip";
    return isPiece(kZstdMagic, ".zst", 2) ? "zstd" : "";
  }

  void run() {
    const std::string_view first = readFile();
    if (const std::string_view format = headerCutIn(first); !format.empty()) {
      note(fmt::format("its {} data ends early, at byte {}", format, first.size()));
    } else if (first.substr(0, kGzipMagic.size()) == kGzipMagic) {
      inflateAll(first);
    } else if (first.substr(0, kZstdMagic.size()) == kZstdMagic) {
      decompressZstd(first);
    } else {
      for (std::string_view in = first; !in.empty() && give(std::string(in)); in = readFile()) {
      }
    }
    {
      const std::lock_guard lock(mutex);
      finished = true;
    }
    changed.notify_all();
  }

  void inflateAll(std::string_view in) {
    z_stream stream{};
    if (inflateInit2(&stream, 15 + 16) != Z_OK) return note("there is no memory for decompressing it");
    inflateMembers(stream, in);
    inflateEnd(&stream);
  }

  // A gzip file can be several, one behind the other.
  void inflateMembers(z_stream& stream, std::string_view in) {
    bool inMember = true;
    while (true) {
      if (in.empty() && (in = readFile()).empty()) break;
      if (!inMember) {
        if (in[0] == '\0') {  // padding
          in.remove_prefix(1);
          continue;
        }
        if (in[0] != kGzipMagic[0])
          return note(fmt::format("other data follows its gzip data near byte {}", read.load()));
        inflateReset(&stream);
        inMember = true;
      }
      std::string out(kBlockBytes, '\0');
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));  // zlib only reads it
      stream.avail_in = static_cast<uInt>(in.size());
      stream.next_out = reinterpret_cast<Bytef*>(out.data());
      stream.avail_out = static_cast<uInt>(out.size());
      const int done = inflate(&stream, Z_NO_FLUSH);
      in.remove_prefix(in.size() - stream.avail_in);
      out.resize(out.size() - stream.avail_out);
      if (!give(std::move(out))) return;
      if (done == Z_STREAM_END) {
        inMember = false;
      } else if (done != Z_OK && done != Z_BUF_ERROR) {
        return note(fmt::format("its gzip data is damaged before byte {}", read.load() - in.size()));
      }
    }
    if (inMember) note(fmt::format("its gzip data ends early, at byte {}", read.load()));
  }

  void decompressZstd(std::string_view in) {
    const std::unique_ptr<ZSTD_DStream, size_t (*)(ZSTD_DStream*)> stream(ZSTD_createDStream(), ZSTD_freeDStream);
    if (!stream) return note("there is no memory for decompressing it");
    size_t pending = 0;  // 0: a frame is complete
    bool full = false;   // the last output block was filled, so there may be more without input
    while (true) {
      if (in.empty() && !full && (in = readFile()).empty()) break;
      std::string out(kBlockBytes, '\0');
      ZSTD_inBuffer source{in.data(), in.size(), 0};
      ZSTD_outBuffer target{out.data(), out.size(), 0};
      pending = ZSTD_decompressStream(stream.get(), &target, &source);
      const bool failed = ZSTD_isError(pending) != 0;
      full = target.pos == target.size && pending != 0;
      in.remove_prefix(source.pos);
      out.resize(target.pos);
      if (!give(std::move(out))) return;
      if (failed) return note(fmt::format("its zstd data is damaged before byte {}", read.load() - in.size()));
    }
    if (pending != 0) note(fmt::format("its zstd data ends early, at byte {}", read.load()));
  }

  std::string input;
  bool hasBegun = false;  // the reader's: the first bytes have been given
  std::string peeked;     // the user's, not the reader's
};

Result<ByteSource> ByteSource::open(const std::string& path) {
  auto state = std::make_unique<State>();
  state->path = path;
  state->fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (state->fd < 0 || ::fstat(state->fd, &status) != 0) {
    return Error{fmt::format("Cannot open {}: {}.", path, std::strerror(errno))};
  }
  if (S_ISDIR(status.st_mode)) return Error{fmt::format("{} is a folder; name the trace files in it.", path)};
  state->size = static_cast<uint64_t>(status.st_size);
  ByteSource source(std::move(state));
  source.m_state->reader = std::thread([raw = source.m_state.get()] { raw->run(); });
  return source;
}

ByteSource::ByteSource(std::unique_ptr<State> state) : m_state(std::move(state)) {}
ByteSource::ByteSource(ByteSource&&) noexcept = default;
ByteSource& ByteSource::operator=(ByteSource&&) noexcept = default;
ByteSource::~ByteSource() = default;

std::string_view ByteSource::peek(size_t count) {
  std::string found = std::move(m_state->peeked);
  m_state->peeked.clear();
  while (found.size() < count && append(found)) {
  }
  m_state->peeked = std::move(found);
  return std::string_view(m_state->peeked).substr(0, count);
}

bool ByteSource::append(std::string& buffer) {
  if (!m_state->peeked.empty()) {
    buffer += m_state->peeked;
    m_state->peeked.clear();
    return true;
  }
  std::unique_lock lock(m_state->mutex);
  m_state->changed.wait(lock, [&] { return m_state->finished || !m_state->blocks.empty(); });
  if (m_state->blocks.empty()) return false;
  const std::string block = std::move(m_state->blocks.front());
  m_state->blocks.pop_front();
  lock.unlock();
  m_state->changed.notify_all();
  buffer += block;
  return true;
}

const std::optional<std::string>& ByteSource::problem() const { return m_state->problem; }
uint64_t ByteSource::size() const { return m_state->size; }
uint64_t ByteSource::readSoFar() const { return m_state->read; }

}  // namespace plumb::import
