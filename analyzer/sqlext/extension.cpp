// SPDX-License-Identifier: Apache-2.0
// libplumb_sql.so: what `plumb query` has, for every program with SQLite. It brings no SQLite of its own and exports
// nothing but its entry points.
#include <sqlite3ext.h>

#include <exception>
#include <memory>
#include <string>

#include "analyzer/sqlext/sql_surface.h"
#include "analyzer/trace/compressed_file.h"
#include "analyzer/trace/connection_state.h"
#include "analyzer/trace/functions.h"
#include "analyzer/trace/trace.h"
#include "analyzer/trace/zstd_vfs.h"

SQLITE_EXTENSION_INIT1

namespace plumb {
namespace {

// Window functions, RETURNING … of what the views and reports use, the youngest is of this version.
constexpr int kOldestSqlite = 3035000;

int complain(char** message, const std::string& text) {
  *message = sqlite3_mprintf("Plumbline: %s", text.c_str());
  return SQLITE_ERROR;
}

void giveNothing(sqlite3_context* context, int, sqlite3_value**) { sqlite3_result_null(context); }

// plumb_file_problem(path): why a compressed file cannot be read where it lies, NULL when nothing is known against it.
// SQLite has no words for it.
void giveFileProblem(sqlite3_context* context, int, sqlite3_value** arguments) {
  const auto* path = reinterpret_cast<const char*>(sqlite3_value_text(arguments[0]));
  if (!path) return sqlite3_result_null(context);
  try {
    const auto file = CompressedFile::open(path);
    const std::string problem = file.ok() ? file.value()->problem() : file.error().message;
    if (problem.empty()) return sqlite3_result_null(context);
    sqlite3_result_text(context, problem.c_str(), static_cast<int>(problem.size()), SQLITE_TRANSIENT);
  } catch (const std::exception&) {
    sqlite3_result_error_nomem(context);
  }
}

// The trace lives as long as the connection: SQLite lets go of it, as the context of a function, at the connection's
// end.
int keep(sqlite3* connection, std::unique_ptr<Trace> trace) {
  return sqlite3_create_function_v2(connection, "plumbline_trace", 0, SQLITE_UTF8 | SQLITE_DIRECTONLY, trace.release(),
                                    giveNothing, nullptr, nullptr,
                                    [](void* context) { delete static_cast<Trace*>(context); });
}

// Whoever loads before each query means this connection's first.
bool isLoadedAlready(sqlite3* connection) {
  sqlite3_stmt* statement = nullptr;
  const int result = sqlite3_prepare_v2(connection, "SELECT plumbline_trace()", -1, &statement, nullptr);
  sqlite3_finalize(statement);
  return result == SQLITE_OK;
}

int addTo(sqlite3* connection, char** message) {
  if (sqlite3_libversion_number() < kOldestSqlite) {
    return complain(message, std::string("this program's SQLite is ") + sqlite3_libversion() + "; 3.35 is needed.");
  }
  if (isLoadedAlready(connection)) return SQLITE_OK_LOAD_PERMANENTLY;
  if (const int result = registerFunctions(connection); result != SQLITE_OK) return result;
  auto owned = std::make_unique<Trace>(Trace::attach(Database::attach(connection)));
  Trace& trace = *owned;
  if (const int result = keep(connection, std::move(owned)); result != SQLITE_OK) return result;
  auto reports = findReports(userReportFolders());
  if (!reports.ok()) return complain(message, reports.error().message);
  // A main file that is no trace is no error here: the functions work on any file, and the tables say what is wrong.
  if (trace.prepareAttached().ok()) {
    ConnectionState& state = trace.database().state();
    state.changed = [&trace] { return trace.refresh(); };
    state.computed = [&trace] { trace.releaseStatements(); };
  }
  if (const Status added = registerSqlSurface(trace, reports.value()); !added.ok())
    return complain(message, added.error().message);
  const int flags = SQLITE_UTF8 | SQLITE_DIRECTONLY;
  if (const int result = sqlite3_create_function_v2(connection, "plumb_file_problem", 1, flags, nullptr,
                                                    giveFileProblem, nullptr, nullptr, nullptr);
      result != SQLITE_OK) {
    return result;
  }
  // The last step, because this library must stay once SQLite knows the VFS.
  if (const int result = registerZstdVfs(); result != SQLITE_OK) return result;
  // Another connection may load it again; unloading a library that others run in is not worth its dangers.
  return SQLITE_OK_LOAD_PERMANENTLY;
}

}  // namespace
}  // namespace plumb

#define PLUMB_EXPORT extern "C" __attribute__((visibility("default")))

PLUMB_EXPORT int sqlite3_plumbsql_init(sqlite3* connection, char** message, const sqlite3_api_routines* api) {
  SQLITE_EXTENSION_INIT2(api)
  try {
    return plumb::addTo(connection, message);
  } catch (const std::exception& failure) {
    return plumb::complain(message, failure.what());
  }
}

// For a file of another name: SQLite looks for this one, too.
PLUMB_EXPORT int sqlite3_extension_init(sqlite3* connection, char** message, const sqlite3_api_routines* api) {
  return sqlite3_plumbsql_init(connection, message, api);
}
