// SPDX-License-Identifier: Apache-2.0
#include "analyzer/export/pack.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <filesystem>
#include <string_view>
#include <utility>

#include "analyzer/trace/compress.h"
#include "analyzer/trace/damaged_file.h"
#include "analyzer/trace/frame_index.h"
#include "analyzer/trace/staging.h"
#include "analyzer/trace/trace.h"

namespace plumb::exports {
namespace {

namespace fs = std::filesystem;

// So begin the errors of writing, those of publishCompressed() and unpackFile() too.
constexpr std::string_view kCannotWrite = "Cannot write ";

Error cannotWrite(const std::string& output, const Error& why) {
  return Error{fmt::format("{}{}: {}.", kCannotWrite, output, why.message)};
}

// Of one part of the work.
CompressProgress partOf(const PackProgress& progress, const std::string& what) {
  if (!progress) return {};
  return [&progress, what](uint64_t done, uint64_t size) { progress(what, done, size); };
}

Status compressTrace(Trace trace, const std::string& output, bool replace, const PackProgress& progress) {
  auto copy = Staging::file(output, "compacting");
  if (!copy.ok()) return cannotWrite(output, copy.error());
  // The trace is of no other use after this, so the guard that lets it only be read can go.
  sqlite3* handle = trace.database().handle();
  sqlite3_set_authorizer(handle, nullptr, nullptr);
  sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 1);  // the copy
  if (progress) {
    std::error_code failed;
    const uint64_t size = fs::file_size(trace.path(), failed);
    trace.database().whileReading([&, size] {
      std::error_code none;
      progress("copying " + trace.path(), fs::file_size(copy.value().path(), none), size);
    });
  }
  if (sqlite3_exec(handle, copyStatement(copy.value().path()).c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    const Error why{sqlite3_errmsg(handle)};
    constexpr int kPrimary = 0xff;
    const int code = sqlite3_errcode(handle) & kPrimary;
    std::error_code ignored;
    fs::remove(copy.value().path() + "-journal", ignored);
    // Of the two files it is the new one: a damaged trace is SQLITE_CORRUPT or SQLITE_NOTADB.
    if (code == SQLITE_FULL || code == SQLITE_IOERR || code == SQLITE_CANTOPEN) return cannotWrite(output, why);
    return Error{fmt::format("{} cannot be copied to {}: {}.", trace.path(), output, why.message)};
  }
  trace.database().whileReading({});
  const Status published =
      publishCompressed(copy.value().path(), output, replace, partOf(progress, "compressing " + trace.path()));
  return published.ok() ? published : cannotWrite(output, published.error());
}

Status unpackTrace(const std::string& file, const std::string& output, bool replace, PackResult& result,
                   const PackProgress& progress) {
  auto staging = Staging::file(output, "unpacking");
  if (!staging.ok()) return cannotWrite(output, staging.error());
  auto unpacked = unpackFile(file, staging.value().path(), partOf(progress, "unpacking " + file));
  if (!unpacked.ok()) return unpacked.error();
  result.warnings = std::move(unpacked.value().problems);
  result.isWhole = result.warnings.empty();
  if (!result.isWhole) {
    result.warnings.push_back(fmt::format("{} is what is whole of it: {}", output, recoverSentence(output)));
  }
  const Status published = staging.value().publishFile(replace);
  return published.ok() ? published : cannotWrite(output, published.error());
}

}  // namespace

Result<PackResult> packTrace(const std::string& file, const std::string& output, bool replace,
                             const PackProgress& progress, bool* writeFailed) {
  if (const Status other = checkNotRead(output, {file}); !other.ok()) return other.error();
  if (const Status free = checkPlace(output, replace); !free.ok()) return free.error();
  std::error_code failed;
  PackResult result;
  result.bytesBefore = fs::file_size(file, failed);
  Status done = Unit{};
  if (isCompressedName(output)) {
    auto trace = Trace::open(file);
    if (!trace.ok()) return trace.error();
    if (!trace.value().info().complete) {
      result.warnings.push_back(fmt::format(
          "{} is not complete (its recorder was killed or is still running): what it holds now is packed.", file));
    }
    done = compressTrace(std::move(trace).value(), output, replace, progress);
  } else if (startsAsZstd(file)) {
    done = unpackTrace(file, output, replace, result, progress);
  } else if (auto trace = Trace::open(file); !trace.ok()) {
    return trace.error();
  } else {
    return Error{fmt::format("{} is not compressed; name the output {}.zst to compress it.", file, output)};
  }
  if (!done.ok()) {
    if (writeFailed) *writeFailed = done.error().message.starts_with(kCannotWrite);
    return done.error();
  }
  result.bytesAfter = fs::file_size(output, failed);
  return result;
}

}  // namespace plumb::exports
