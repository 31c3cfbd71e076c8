// SPDX-License-Identifier: Apache-2.0
#include "analyzer/export/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "collector/schema/taken.h"

namespace plumb::exports {

Result<OutputFile> OutputFile::create(const std::string& path, bool replace) {
  if (path == "-") return OutputFile("standard output", std::nullopt, stdout, nullptr, false);
  if (const Status free = checkPlace(path, replace); !free.ok()) return free.error();
  auto staging = Staging::file(path, "writing");
  const int fd = staging.ok() ? ::open(staging.value().path().c_str(), O_WRONLY | O_CLOEXEC) : -1;
  if (fd < 0) {
    return Error{fmt::format("Cannot create {}: {}; name another place with -o.", path,
                             staging.ok() ? std::strerror(errno) : staging.error().message)};
  }
  if (path.ends_with(".gz")) {
    gzFile packed = ::gzdopen(fd, "wb6");
    if (packed) {
      ::gzbuffer(packed, 1 << 18);
      return OutputFile(path, std::move(staging).value(), nullptr, packed, replace);
    }
  } else if (std::FILE* plain = ::fdopen(fd, "wb")) {
    return OutputFile(path, std::move(staging).value(), plain, nullptr, replace);
  }
  ::close(fd);
  return Error{fmt::format("Cannot write {}: not enough memory.", path)};
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : m_path(std::move(other.m_path)),
      m_staging(std::move(other.m_staging)),
      m_plain(std::exchange(other.m_plain, nullptr)),
      m_packed(std::exchange(other.m_packed, nullptr)),
      m_replace(other.m_replace),
      m_error(other.m_error) {}

OutputFile::~OutputFile() { (void)close(); }

bool OutputFile::close() {
  bool good = true;
  errno = 0;
  if (m_plain) {
    std::FILE* plain = std::exchange(m_plain, nullptr);
    good = (plain == stdout ? std::fflush(plain) : std::fclose(plain)) == 0;
  }
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
  Status done = close() ? Status(Unit{}) : Error{std::strerror(m_error)};
  if (done.ok() && m_staging) done = m_staging->publishFile(m_replace);
  if (!done.ok()) return Error{fmt::format("Cannot write {}: {}.", m_path, done.error().message)};
  return done;
}

Result<OutputFolder> OutputFolder::create(const std::string& path, std::vector<std::string> names, bool replace) {
  const auto taken = std::ranges::find_if(names, [&](const std::string& name) {
    std::error_code ignored;
    return std::filesystem::exists(std::filesystem::path(path) / name, ignored);
  });
  if (taken != names.end() && !replace) {
    return Error{takenText((std::filesystem::path(path) / *taken).string())};
  }
  auto staging = Staging::folder(path, "writing");
  if (staging.ok()) return OutputFolder(path, std::move(names), replace, std::move(staging).value());
  return Error{
      fmt::format("Cannot create the folder {}: {}; name another place with -o.", path, staging.error().message)};
}

Status OutputFolder::finish() {
  const Status published = m_staging.publishFolder(m_names, m_replace);
  if (published.ok()) return published;
  return Error{fmt::format("Cannot write {}: {}.", m_path, published.error().message)};
}

}  // namespace plumb::exports
