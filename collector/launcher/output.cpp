// SPDX-License-Identifier: Apache-2.0
#include "collector/launcher/output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "collector/schema/schema.h"
#include "collector/schema/taken.h"

namespace plumb::launcher {
namespace fs = std::filesystem;
namespace {

// By SQLite's file header: the format's name, and at byte 68 the application id, big endian.
bool isRecording(const fs::path& file) {
  std::array<unsigned char, 72> bytes{};
  std::ifstream stream(file, std::ios::binary);
  if (!stream.read(reinterpret_cast<char*>(bytes.data()), bytes.size())) {
    return false;
  }
  const auto id = static_cast<int32_t>((uint32_t{bytes[68]} << 24) | (uint32_t{bytes[69]} << 16) |
                                       (uint32_t{bytes[70]} << 8) | uint32_t{bytes[71]});
  return std::memcmp(bytes.data(), "SQLite format 3", 16) == 0 && id == schema::kApplicationId;
}

}  // namespace

Result<std::string> checkOutput(const std::string& file, bool force) {
  std::error_code error;
  const fs::path path = fs::absolute(file, error).lexically_normal();
  const fs::path folder = path.parent_path();
  if (file.empty() || error || path.filename().empty()) {
    return Error{
        fmt::format("Cannot write the recording to \"{}\": that is no file name. Give one with -o FILE.", file)};
  }
  if (!fs::is_directory(folder, error)) {
    return Error{fmt::format("Cannot write {}: the folder {} does not exist. Make it, or choose another with -o FILE.",
                             path.string(), folder.string())};
  }
  if (path.extension() == ".zst") {
    return Error{
        fmt::format("Cannot write {}: a recording is written uncompressed. Record to another name with -o FILE, "
                    "then `plumb pack FILE -o {}`.",
                    path.string(), file)};
  }
  if (fs::is_directory(path, error)) {
    return Error{fmt::format("Cannot write {}: it is a folder. Give a file with -o FILE.", path.string())};
  }
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    return Error{fmt::format("Cannot write {}: the folder lets you make no file ({}). Choose another with -o FILE.",
                             path.string(), std::strerror(errno))};
  }
  if (fs::exists(path, error)) {
    if (!fs::is_regular_file(path, error) || !isRecording(path)) {
      return Error{
          fmt::format("Cannot write {}: it exists and is not a Plumbline recording, so it is left alone. Choose "
                      "another name with -o FILE.",
                      path.string())};
    }
    if (!force) return Error{takenText(path.string())};
  }
  return path.string();
}

void removeRecording(const std::string& file) {
  std::error_code ignored;
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
    fs::remove(file + suffix, ignored);
  }
}

std::string defaultOutput(const std::string& program) {
  return fmt::format("plumb-{}-{}.sqlite", fs::path(program).filename().string(), getpid());
}

}  // namespace plumb::launcher
