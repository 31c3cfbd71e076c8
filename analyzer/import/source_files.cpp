// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/source_files.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>

#include "analyzer/import/byte_source.h"

namespace plumb::import {
namespace {

// Of a regular file; a pipe can be read once only, and says nothing of itself.
std::optional<struct stat> statusOf(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return status;
}

bool haveEqualBytes(const std::string& first, const std::string& second) {
  std::ifstream one(first, std::ios::binary), other(second, std::ios::binary);
  static constexpr size_t kBlock = 1u << 16;
  std::vector<char> a(kBlock), b(kBlock);
  while (one && other) {
    one.read(a.data(), kBlock);
    other.read(b.data(), kBlock);
    if (one.gcount() != other.gcount() || !std::equal(a.begin(), a.begin() + one.gcount(), b.begin())) return false;
  }
  return one.eof() && other.eof();
}

}  // namespace

Status checkOptions(const ImportOptions& options) {
  constexpr int64_t kMostRanks = int64_t{1} << 24;
  if (options.files.empty()) return Error{"Name at least one trace to import."};
  if (!options.ranks.empty() && options.ranks.size() != options.files.size()) {
    return Error{fmt::format("--rank names {} ranks for {} files; name one per file, in the same order.",
                             options.ranks.size(), options.files.size())};
  }
  for (const int64_t rank : options.ranks) {
    if (rank >= 0 && rank < kMostRanks) continue;
    return Error{fmt::format("--rank {} cannot be: ranks are numbers from 0 to {}.", rank, kMostRanks - 1)};
  }
  if (options.output == "-") {
    return Error{"A trace file cannot be written to standard output; name a file with -o (./- for one of that name)."};
  }
  if (!options.ranks.empty()) return Unit{};  // the user means it
  std::map<std::pair<dev_t, ino_t>, const std::string*> seen;
  for (const std::string& file : options.files) {
    const auto status = statusOf(file);
    if (!status) continue;
    const auto [entry, isNew] = seen.try_emplace({status->st_dev, status->st_ino}, &file);
    if (isNew) continue;
    return Error{*entry->second == file
                     ? fmt::format("{} is named twice; name each file once.", file)
                     : fmt::format("{} and {} are the same file; name each file once.", *entry->second, file)};
  }
  return Unit{};
}

std::vector<std::pair<size_t, size_t>> equalFiles(const std::vector<std::string>& files) {
  std::vector<std::pair<size_t, size_t>> equal;
  std::map<off_t, std::vector<size_t>> bySize;
  for (size_t i = 0; i < files.size(); ++i) {
    const auto status = statusOf(files[i]);
    if (!status || status->st_size == 0) continue;
    std::vector<size_t>& others = bySize[status->st_size];
    for (const size_t other : others) {
      if (!haveEqualBytes(files[other], files[i])) continue;
      equal.emplace_back(i, other);
      break;
    }
    others.push_back(i);
  }
  return equal;
}

bool holdSameData(const std::string& first, const std::string& second) {
  if (!statusOf(first) || !statusOf(second)) return false;
  auto one = ByteSource::open(first), other = ByteSource::open(second);
  if (!one.ok() || !other.ok()) return false;
  std::string a, b;
  while (true) {
    const bool hasMore = a.empty() ? one.value().append(a) : true;
    const bool otherHasMore = b.empty() ? other.value().append(b) : true;
    if (!hasMore || !otherHasMore) break;
    const size_t count = std::min(a.size(), b.size());
    if (a.compare(0, count, b, 0, count) != 0) return false;
    a.erase(0, count);
    b.erase(0, count);
  }
  return a.empty() && b.empty() && !one.value().problem() && !other.value().problem();
}

}  // namespace plumb::import
