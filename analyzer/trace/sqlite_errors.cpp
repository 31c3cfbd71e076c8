// SPDX-License-Identifier: Apache-2.0
#include "analyzer/trace/sqlite_errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "analyzer/trace/compressed_file.h"
#include "analyzer/trace/damaged_file.h"
#include "analyzer/trace/foreign_file.h"
#include "analyzer/trace/sqlite_api.h"
#include "analyzer/trace/temporary_files.h"
#include "analyzer/trace/zstd_vfs.h"

namespace plumb {
namespace {

// What could not be written, where the trace is only read, is SQLite's sorting and its temporary tables.
bool isOfTemporaryFiles(sqlite3* handle, int code) {
  const bool isOfWriting =
      (code & 0xff) == SQLITE_FULL || code == SQLITE_IOERR_WRITE || code == SQLITE_IOERR_GETTEMPPATH;
  return isOfWriting && sqlite3_db_readonly(handle, "main") == 1;
}

}  // namespace

std::string errorSentence(sqlite3* handle, const std::string& file) {
  const int code = sqlite3_extended_errcode(handle);
  const char* detail = sqlite3_errmsg(handle);
  if (isOfTemporaryFiles(handle, code)) return temporaryFilesSentence(detail);
  switch (code & 0xff) {
    case SQLITE_NOTADB:
      return fmt::format("{} is not a Plumbline file: it is not an SQLite database.{}", file, kImportFirst);
    case SQLITE_CORRUPT:
    case SQLITE_FORMAT:
      if (isCompressed(handle)) {
        return fmt::format("{} is damaged ({}). `plumb pack {} -o part.sqlite` unpacks it, and {}", file, detail, file,
                           recoverSentence("part.sqlite"));
      }
      return fmt::format("{} is damaged ({}): {}", file, detail, recoverSentence(file));
    case SQLITE_LOCKED:
      if (std::strstr(detail, "recursively")) return detail;  // a table function whose statement names itself
      [[fallthrough]];
    case SQLITE_BUSY:
    case SQLITE_PROTOCOL:
      return fmt::format("{} is locked by another program that writes it: try again in a moment.", file);
    case SQLITE_CANTOPEN:
      return fmt::format(
          "{} cannot be opened ({}): check that you may read it and, while it is being recorded, write in its folder.",
          file, detail);
    case SQLITE_IOERR:
      if (std::string problem = compressedFileProblem(handle); !problem.empty()) return problem;
      return fmt::format("{} cannot be read ({}, {}).", file, detail, sqlite3_errstr(code));
    case SQLITE_READONLY:
      if (code == SQLITE_READONLY_ROLLBACK) {
        return fmt::format(
            "{} was left in the middle of a change, which has to be undone before it can be read: `plumb index {}` does"
            " that.",
            file, file);
      }
      [[fallthrough]];
    case SQLITE_AUTH:
      return fmt::format("A trace is opened for reading only, and this statement wants more ({}).", detail);
    case SQLITE_INTERRUPT:
      return "The query was stopped.";
    case SQLITE_NOMEM:
      return fmt::format("Not enough memory to read {}.", file);
    default:
      return fmt::format("{}", detail);
  }
}

std::string positionIn(std::string_view sql, size_t offset) {
  const std::string_view before = sql.substr(0, offset);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t lineStart = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return fmt::format("line {}, column {}", line, before.size() - lineStart + 1);
}

int errorOffset([[maybe_unused]] sqlite3* handle) {
#if SQLITE_VERSION_NUMBER >= 3038000
  if (sqlite3_libversion_number() >= 3038000) return sqlite3_error_offset(handle);
#endif
  return -1;
}

}  // namespace plumb
