// SPDX-License-Identifier: Apache-2.0
// Files that are not what they should be, and files whose author means harm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "analyzer/trace/trace.h"
#include "tests/unit/analyzer/testing.h"

namespace plumb::test {
namespace {

using testing::HasSubstr;

void writeText(const std::string& path, std::string_view text) { std::ofstream(path, std::ios::binary) << text; }

std::string readAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

void makeTrace(const std::string& path, const std::string& extraSql = {}) {
  TraceBuilder trace(path);
  OneRank rank(trace);
  for (int64_t i = 0; i < 500; ++i) trace.addKernel(rank.work(i * 100, 50), "kernel " + std::to_string(i));
  trace.finish();
  if (extraSql.empty()) return;
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, extraSql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
  sqlite3_close(database);
}

TEST(Open, MissingFile) {
  EXPECT_EQ(errorOf(Trace::open("/nowhere/run.sqlite")), "There is no file /nowhere/run.sqlite.");
}

TEST(Open, Folder) { EXPECT_THAT(errorOf(Trace::open("/tmp")), HasSubstr("is a folder")); }

TEST(Open, EmptyFile) {
  const TraceFile file;
  writeText(file.path(), "");
  EXPECT_THAT(errorOf(Trace::open(file.path())), HasSubstr("is empty (0 bytes)"));
}

TEST(Open, NotADatabase) {
  const TraceFile file;
  writeText(file.path(), "{\"traceEvents\": []}");
  EXPECT_THAT(errorOf(Trace::open(file.path())), HasSubstr("is not a Plumbline file"));
}

TEST(Open, DatabaseOfAnotherProgram) {
  const TraceFile file;
  makeTrace(file.path(), "PRAGMA application_id = 252006674");
  EXPECT_THAT(errorOf(Trace::open(file.path())), HasSubstr("an SQLite database of another program"));
}

TEST(Open, NewerSchema) {
  const TraceFile file;
  makeTrace(file.path(), "PRAGMA user_version = 2");
  EXPECT_THAT(errorOf(Trace::open(file.path())),
              HasSubstr("was written by a newer Plumbline (schema 2, this program reads 1): update Plumbline."));
}

TEST(Open, OlderSchema) {
  const TraceFile file;
  makeTrace(file.path(), "PRAGMA user_version = 0");
  EXPECT_THAT(errorOf(Trace::open(file.path())), HasSubstr("older Plumbline (schema 0"));
}

TEST(Open, CutShort) {
  const TraceFile file;
  makeTrace(file.path());
  const std::string whole = readAll(file.path());
  for (const size_t length : {size_t{7}, size_t{60}, size_t{100}, size_t{5000}, whole.size() / 2}) {
    writeText(file.path(), std::string_view(whole).substr(0, length));
    auto opened = Trace::open(file.path());
    if (!opened.ok()) {
      EXPECT_THAT(opened.error().message, HasSubstr(file.path())) << length;
      continue;
    }
    auto rows = opened.value().query("SELECT sum(duration_ns) FROM kernels");
    ASSERT_TRUE(rows.ok());
    while (rows.value().next()) {
    }
    EXPECT_THAT(errorOf(rows.value().status()), HasSubstr("is damaged")) << length;
  }
}

TEST(Open, DamagedPage) {
  const TraceFile file;
  makeTrace(file.path());
  std::string bytes = readAll(file.path());
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(file.path().c_str(), &database), SQLITE_OK);
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v2(database, "SELECT rootpage FROM sqlite_schema WHERE name = 'kernel'", -1, &statement, nullptr);
  ASSERT_EQ(sqlite3_step(statement), SQLITE_ROW);
  const auto page = static_cast<size_t>(sqlite3_column_int(statement, 0));
  sqlite3_finalize(statement);
  sqlite3_close(database);
  for (size_t i = 0; i < 4096; ++i) bytes[(page - 1) * 4096 + i] = static_cast<char>(i * 7);
  writeText(file.path(), bytes);
  Trace trace = valueOf(Trace::open(file.path()));
  auto rows = valueOf(trace.query("SELECT sum(duration_ns) FROM kernel NOT INDEXED"));
  while (rows.next()) {
  }
  EXPECT_THAT(errorOf(rows.status()), HasSubstr("is damaged"));
}

TEST(Open, MissingTable) {
  const TraceFile file;
  makeTrace(file.path(), "DROP TABLE correlation_link");
  EXPECT_THAT(errorOf(Trace::open(file.path())), HasSubstr("has no table column correlation_link."));
}

TEST(Open, FileOlderThanATableIsReadAsIfItWereEmpty) {
  const TraceFile file;
  makeTrace(file.path(), "DROP TABLE collective_benchmark");
  Trace trace = valueOf(Trace::open(file.path()));
  auto rows = valueOf(trace.query("SELECT count(*), (SELECT count(*) FROM process) > 0 FROM collective_benchmark"));
  ASSERT_TRUE(rows.next());
  EXPECT_EQ(rows.integer(0), 0);
  EXPECT_EQ(rows.integer(1), 1);
}

TEST(Open, FileNameWithSpecialCharacters) {
  const TraceFile file;
  const std::string path = file.path() + " 100%#?mode=rw&x.sqlite";
  makeTrace(path);
  EXPECT_EQ(errorOf(Trace::open(path)), "");
  std::filesystem::remove(path);
}

TEST(Stranger, ViewsOfTheFileAreNotUsed) {
  const TraceFile file;
  makeTrace(file.path(), "DROP VIEW kernels; CREATE VIEW kernels AS SELECT 'evil' AS name");
  Trace trace = valueOf(Trace::open(file.path()));
  auto rows = valueOf(trace.query("SELECT name FROM kernels LIMIT 1"));
  ASSERT_TRUE(rows.next());
  EXPECT_EQ(rows.text(0), "kernel 0");
  EXPECT_THAT(errorOf(trace.query("SELECT name FROM main.kernels")), HasSubstr("The view main.kernels is not used"));
}

TEST(Stranger, ViewInPlaceOfATableIsRefused) {
  const TraceFile file;
  makeTrace(file.path(), "ALTER TABLE memory_set RENAME TO hidden; CREATE VIEW memory_set AS SELECT * FROM hidden");
  EXPECT_THAT(errorOf(Trace::open(file.path())), HasSubstr("memory_set."));
}

TEST(Stranger, NothingCanBeWritten) {
  const TraceFile file;
  const std::string other = file.path() + ".other";
  makeTrace(file.path());
  Trace trace = valueOf(Trace::open(file.path()));
  for (const std::string& sql :
       {std::string("DELETE FROM kernel"), std::string("CREATE TEMP TABLE t(x)"),
        std::string("PRAGMA user_version = 7"), std::string("PRAGMA journal_mode = DELETE"),
        "ATTACH '" + other + "' AS o", "VACUUM INTO '" + other + "'", std::string("SELECT load_extension('x')"),
        std::string("SELECT writefile('x', 'y')"), std::string("PRAGMA writable_schema = 1")}) {
    EXPECT_FALSE(trace.query(sql).ok()) << sql;
  }
  EXPECT_FALSE(std::filesystem::exists(other));
}

TEST(Stranger, ReadingPragmasAreAllowed) {
  const TraceFile file;
  makeTrace(file.path());
  Trace trace = valueOf(Trace::open(file.path()));
  EXPECT_EQ(errorOf(trace.query("PRAGMA table_info(kernel)")), "");
}

TEST(Stranger, AnErrorNamesThePosition) {
  const TraceFile file;
  makeTrace(file.path());
  Trace trace = valueOf(Trace::open(file.path()));
#if SQLITE_VERSION_NUMBER >= 3038000
  EXPECT_THAT(errorOf(trace.query("SELECT name\nFROM kernels WHERE nope = 1")),
              HasSubstr("line 2, column 20: no such column: nope"));
#endif
  EXPECT_THAT(errorOf(trace.query("SELECT 1; SELECT 2")), HasSubstr("More than one"));
  EXPECT_THAT(errorOf(trace.query("SELECT 1; -- note\n garbage")), HasSubstr("More than one"));
  EXPECT_EQ(errorOf(trace.query("SELECT 1; -- note\n /* that is all */ ;")), "");
  EXPECT_THAT(errorOf(trace.query("  -- nothing")), HasSubstr("no statement"));
}

TEST(Open, AnInterruptBehindAStatementIsNoSecondOne) {
  const TraceFile file;
  makeTrace(file.path());
  Trace trace = valueOf(Trace::open(file.path()));
  auto rows = valueOf(trace.query("SELECT id FROM kernel"));
  ASSERT_TRUE(rows.next());  // while one statement runs, an interrupt is for all
  const auto interrupt = [](void* handle, int, const char*, const char*, const char*, const char*) {
    sqlite3_interrupt(static_cast<sqlite3*>(handle));
    return SQLITE_OK;
  };
  sqlite3* handle = trace.database().handle();
  sqlite3_set_authorizer(handle, interrupt, handle);
  EXPECT_EQ(errorOf(trace.database().prepare("SELECT 1;\n")), "The query was stopped.");
  sqlite3_set_authorizer(handle, nullptr, nullptr);
}

TEST(Open, AFileLeftInAChangeSaysWhatUndoesIt) {
  const TraceFile left;
  const std::string path = left.path() + ".changing.sqlite";
  makeTrace(path);
  sqlite3* writer = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &writer), SQLITE_OK);
  // Without a cache the change is in the file before its end.
  ASSERT_EQ(sqlite3_exec(writer,
                         "PRAGMA cache_size = 1; BEGIN IMMEDIATE; UPDATE string SET text = text || 'x';"
                         " UPDATE kernel SET duration_ns = 5",
                         nullptr, nullptr, nullptr),
            SQLITE_OK);
  writeText(left.path(), readAll(path));
  writeText(left.path() + "-journal", readAll(path + "-journal"));
  sqlite3_close(writer);
  std::filesystem::remove(path);
  EXPECT_THAT(errorOf(Trace::open(left.path())), HasSubstr("in the middle of a change"));
  EXPECT_THAT(errorOf(Trace::open(left.path())), HasSubstr("`plumb index " + left.path() + "`"));
}

TEST(Live, RowsAppearWhileTheFileIsOpen) {
  const TraceFile file;
  makeTrace(file.path());
  sqlite3* writer = nullptr;
  ASSERT_EQ(sqlite3_open(file.path().c_str(), &writer), SQLITE_OK);
  ASSERT_EQ(
      sqlite3_exec(writer, "PRAGMA journal_mode = WAL; INSERT INTO meta VALUES('x', '1')", nullptr, nullptr, nullptr),
      SQLITE_OK);
  Trace trace = valueOf(Trace::open(file.path()));
  const auto count = [&] {
    auto rows = valueOf(trace.query("SELECT count(*) FROM diagnostics"));
    EXPECT_TRUE(rows.next());
    return rows.integer(0);
  };
  EXPECT_EQ(count(), 0);
  const char* insert = "INSERT INTO diagnostic VALUES(NULL, NULL, 0, 'info', 'recorder', 'x', 1, 'hello')";
  ASSERT_EQ(sqlite3_exec(writer, insert, nullptr, nullptr, nullptr), SQLITE_OK);
  EXPECT_EQ(count(), 1);
  {
    const Snapshot snapshot(trace);
    EXPECT_EQ(count(), 1);
    ASSERT_EQ(sqlite3_exec(writer, insert, nullptr, nullptr, nullptr), SQLITE_OK);
    EXPECT_EQ(count(), 1);  // one state for the whole of it
  }
  EXPECT_EQ(count(), 2);
  sqlite3_close(writer);
}

TEST(Live, CopiedWithoutItsLog) {
  const TraceFile file, copy;
  const std::string path = file.path() + ".wal.sqlite";
  sqlite3* writer = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &writer), SQLITE_OK);
  ASSERT_EQ(
      sqlite3_exec(writer, "PRAGMA journal_mode = WAL; PRAGMA application_id = 1347177794; CREATE TABLE kernel(id)",
                   nullptr, nullptr, nullptr),
      SQLITE_OK);
  writeText(copy.path(), readAll(path));
  EXPECT_THAT(errorOf(Trace::open(copy.path())), HasSubstr("copied without its log"));
  sqlite3_close(writer);
  std::filesystem::remove(path);
}

// Closing a file drops every lock that its process has on it.
TEST(Live, AnotherOpeningKeepsTheLocksOfTheFirst) {
  const TraceFile file;
  makeTrace(file.path());
  Trace first = valueOf(Trace::open(file.path()));
  const Snapshot snapshot(first);
  auto rows = valueOf(first.query("SELECT id FROM main.kernel"));
  ASSERT_TRUE(rows.next());
  { const Trace second = valueOf(Trace::open(file.path())); }
  const pid_t writer = fork();
  if (writer == 0) {
    sqlite3* database = nullptr;
    sqlite3_open(file.path().c_str(), &database);
    const int result = sqlite3_exec(database, "DELETE FROM kernel", nullptr, nullptr, nullptr);
    _exit(result == SQLITE_BUSY ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(writer, &status, 0), writer);
  EXPECT_EQ(status, 0) << "another process could write while it was read";
}

TEST(Live, LogFileInAFolderThatCannotBeWritten) {
  const TraceFile file;
  const std::string folder = file.path() + ".folder";
  std::filesystem::create_directory(folder);
  const std::string path = folder + "/run.sqlite";
  makeTrace(path, "PRAGMA journal_mode = WAL");
  chmod(folder.c_str(), 0555);
  const uid_t user = geteuid();
  if (user == 0) {
    ASSERT_EQ(seteuid(65534), 0);  // root may write everywhere
  }
  EXPECT_EQ(errorOf(Trace::open(path)), "");
  EXPECT_FALSE(std::filesystem::exists(path + "-shm"));
  if (user == 0) {
    ASSERT_EQ(seteuid(0), 0);
  }
  chmod(folder.c_str(), 0755);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace plumb::test
