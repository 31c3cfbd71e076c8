// SPDX-License-Identifier: Apache-2.0
#include "analyzer/export/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace plumb::exports {

Result<OutputFile> OutputFile::create(const std::string& path, bool replace) {
  std::error_code ignored;
  if (const auto there = std::filesystem::status(path, ignored); std::filesystem::exists(there)) {
    if (!replace) {
      return Error{fmt::format("The file {} exists already; name another one with -o, or add --force.", path)};
    }
    // A device or a pipe would be replaced by a file of its name.
    if (!std::filesystem::is_regular_file(there)) {
      return Error{fmt::format("{} is not a regular file: name another one with -o.", path)};
    }
  }
  std::string temporary = fmt::format("{}.writing-{}", path, ::getpid());
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) {
    return Error{fmt::format("Cannot create {}: {}; name another place with -o.", path, std::strerror(errno))};
  }
  if (path.ends_with(".gz")) {
    gzFile packed = ::gzdopen(fd, "wb6");
    if (packed) {
      ::gzbuffer(packed, 1 << 18);
      return OutputFile(path, std::move(temporary), nullptr, packed);
    }
  } else if (std::FILE* plain = ::fdopen(fd, "wb")) {
    return OutputFile(path, std::move(temporary), plain, nullptr);
  }
  ::close(fd);
  ::unlink(temporary.c_str());
  return Error{fmt::format("Cannot write {}: not enough memory.", path)};
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : m_path(std::move(other.m_path)),
      m_temporary(std::exchange(other.m_temporary, {})),
      m_plain(std::exchange(other.m_plain, nullptr)),
      m_packed(std::exchange(other.m_packed, nullptr)),
      m_error(other.m_error) {}

OutputFile::~OutputFile() {
  (void)close();
  if (!m_temporary.empty()) ::unlink(m_temporary.c_str());
}

bool OutputFile::close() {
  bool good = true;
  errno = 0;
  if (m_plain) good = std::fclose(std::exchange(m_plain, nullptr)) == 0;
  if (m_packed) good = ::gzclose(std::exchange(m_packed, nullptr)) == Z_OK && good;
  if (!good && m_error == 0) m_error = errno != 0 ? errno : EIO;
  return m_error == 0;
}

void OutputFile::write(std::string_view text) {
  if (m_error != 0 || text.empty()) return;
  errno = 0;
  const bool good = m_plain ? std::fwrite(text.data(), 1, text.size(), m_plain) == text.size()
                            : ::gzwrite(m_packed, text.data(), static_cast<unsigned>(text.size())) > 0;
  if (!good) m_error = errno != 0 ? errno : EIO;
}

Status OutputFile::finish() {
  if (!close() || ::rename(m_temporary.c_str(), m_path.c_str()) != 0) {
    return Error{fmt::format("Cannot write {}: {}.", m_path, std::strerror(m_error != 0 ? m_error : errno))};
  }
  m_temporary.clear();
  return Unit{};
}

}  // namespace plumb::exports
