// SPDX-License-Identifier: Apache-2.0
#include "analyzer/trace/viewless_vfs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "analyzer/trace/trace.h"
#include "tests/unit/analyzer/testing.h"

namespace plumb::test {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

// The first column of each row; the error last, if one ended them.
std::vector<std::string> column(const std::string& path, const std::string& sql, const char* vfs) {
  EXPECT_EQ(registerViewlessVfs(), SQLITE_OK);
  sqlite3* database = nullptr;
  std::vector<std::string> values;
  EXPECT_EQ(sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READONLY, vfs), SQLITE_OK);
  sqlite3_exec(database, "PRAGMA cell_size_check = on", nullptr, nullptr, nullptr);
  const auto take = [](void* to, int, char** row, char**) {
    static_cast<std::vector<std::string>*>(to)->emplace_back(row[0] ? row[0] : "NULL");
    return 0;
  };
  if (sqlite3_exec(database, sql.c_str(), take, &values, nullptr) != SQLITE_OK)
    values.emplace_back(sqlite3_errmsg(database));
  sqlite3_close(database);
  return values;
}
constexpr const char* kTables = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name";
constexpr const char* kViews = "SELECT name FROM sqlite_schema WHERE type = 'view' ORDER BY name";

void run(const std::string& path, const std::string& sql) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
  sqlite3_close(database);
}

TEST(ViewlessVfs, ShowsEveryTableAndAlmostNoView) {
  const TraceFile file;
  TraceBuilder(file.path()).finish();
  EXPECT_EQ(column(file.path(), kTables, kViewlessVfs), column(file.path(), kTables, nullptr));
  EXPECT_THAT(column(file.path(), kViews, nullptr), SizeIs(testing::Gt(50U)));
  EXPECT_THAT(column(file.path(), kViews, kViewlessVfs), SizeIs(testing::Lt(15U)))
      << "one is left on a page that holds nothing else";
}

TEST(ViewlessVfs, IsWhatReportsReadThrough) {
  const TraceFile file;
  TraceBuilder(file.path()).finish();
  const auto viewsSeen = [&](FileViews views) {
    Trace trace = valueOf(Trace::open(file.path(), {.views = views}));
    Statement rows = valueOf(trace.query("SELECT count(*) FROM main.sqlite_schema WHERE type = 'view'"));
    EXPECT_TRUE(rows.next());
    return rows.integer(0);
  };
  EXPECT_GT(viewsSeen(FileViews::Seen), 50);
  EXPECT_LT(viewsSeen(FileViews::Hidden), 15);
}

TEST(ViewlessVfs, LeavesRowsOfTablesAlone) {
  const TraceFile file;
  run(file.path(),
      "PRAGMA page_size = 512; CREATE TABLE t(type TEXT, n); CREATE VIEW v AS SELECT 'view' AS a;"
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)"
      "INSERT INTO t SELECT 'view', i FROM n");
  EXPECT_THAT(column(file.path(), "SELECT count(*) FROM t WHERE type = 'view'", kViewlessVfs), ElementsAre("300"));
  EXPECT_THAT(column(file.path(), kViews, kViewlessVfs), ElementsAre());
}

TEST(ViewlessVfs, FollowsAListThatMoves) {
  const TraceFile file;
  run(file.path(), "PRAGMA page_size = 512; CREATE TABLE t(type TEXT)");
  EXPECT_EQ(registerViewlessVfs(), SQLITE_OK);
  sqlite3* reader = nullptr;
  ASSERT_EQ(sqlite3_open_v2(file.path().c_str(), &reader, SQLITE_OPEN_READONLY, kViewlessVfs), SQLITE_OK);
  const auto count = [&](const char* sql) {
    sqlite3_stmt* row = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(reader, sql, -1, &row, nullptr), SQLITE_OK) << sqlite3_errmsg(reader);
    EXPECT_EQ(sqlite3_step(row), SQLITE_ROW) << sqlite3_errmsg(reader);
    const int value = sqlite3_column_int(row, 0);
    sqlite3_finalize(row);
    return value;
  };
  EXPECT_EQ(count("SELECT count(*) FROM t"), 0);
  std::string views;
  for (int i = 0; i < 60; ++i)
    views += "CREATE VIEW v" + std::to_string(i) + " AS SELECT 'a text of some length' AS a;";
  run(file.path(), views);
  EXPECT_LT(count("SELECT count(*) FROM sqlite_schema WHERE type = 'view'"), 20);
  std::string rows = "PRAGMA auto_vacuum = none;";  // pages of the list become pages of rows that begin alike
  for (int i = 0; i < 60; ++i) rows += "DROP VIEW v" + std::to_string(i) + ";";
  for (int i = 0; i < 400; ++i) rows += "INSERT INTO t VALUES ('view');";
  run(file.path(), rows);
  EXPECT_EQ(count("SELECT count(*) FROM t WHERE type = 'view'"), 400);
  sqlite3_close(reader);
}

TEST(ViewlessVfs, ShowsAFileInLogModeWhole) {
  const TraceFile file;
  run(file.path(), "PRAGMA journal_mode = wal; CREATE TABLE t(a); CREATE VIEW v AS SELECT 1 AS a");
  EXPECT_THAT(column(file.path(), kViews, kViewlessVfs), ElementsAre("v"));
}

// Whatever stands in the file: rows of tables and errors are those that SQLite finds without it, as long as the list of
// tables can be read at all.
TEST(ViewlessVfs, SaysNothingElseThanSqliteOfDamage) {
  std::mt19937 random(3);
  int read = 0;
  for (int round = 0; round < 200; ++round) {
    const TraceFile file;
    run(file.path(),
        "PRAGMA page_size = 512; CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT); CREATE VIEW v AS SELECT 1;"
        "CREATE VIEW w AS SELECT 2 AS two; CREATE TABLE u(b); CREATE VIEW x AS SELECT 'long enough' AS words;"
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)"
        "INSERT INTO t(a) SELECT 'view ' || i FROM n");
    std::fstream bytes(file.path(), std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekg(0, std::ios::end);
    const auto size = static_cast<size_t>(bytes.tellg());
    for (int i = 0; i < 1 + round % 3; ++i) {
      const auto at = static_cast<std::streamoff>(100 + random() % (round % 2 ? 512 - 100 : size - 100));
      bytes.seekg(at);
      const int bit = 1 << random() % 8, byte = bytes.get();
      bytes.seekp(at);
      bytes.put(static_cast<char>(byte ^ bit));
    }
    bytes.close();
    const char* rows = "SELECT a FROM t";
    const auto whole = column(file.path(), rows, nullptr), viewless = column(file.path(), rows, kViewlessVfs);
    const bool isRefused = whole.size() == 1 && !whole.front().starts_with("view");
    if (isRefused) continue;  // damage in the text of a view, which nobody reads here
    ASSERT_EQ(viewless, whole) << "round " << round;
    ++read;
  }
  EXPECT_GT(read, 50);
}

}  // namespace
}  // namespace plumb::test
