// SPDX-License-Identifier: Apache-2.0
#include "analyzer/trace/table_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <fstream>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/analyzer/testing.h"

namespace plumb::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Rows = std::vector<std::vector<std::string>>;

// A file of another program, which has the table `t` that the test wants; closed when `written`.
class PlainFile {
 public:
  ~PlainFile() { sqlite3_close(m_database); }
  sqlite3* database() { return m_database; }
  void run(const std::string& sql) {
    if (!m_database) sqlite3_open(m_file.path().c_str(), &m_database);
    char* message = nullptr;
    EXPECT_EQ(sqlite3_exec(m_database, sql.c_str(), nullptr, nullptr, &message), SQLITE_OK) << sql << ": " << message;
  }
  int64_t number(const std::string& sql) {
    sqlite3_stmt* row = nullptr;
    sqlite3_prepare_v2(m_database, sql.c_str(), -1, &row, nullptr);
    sqlite3_step(row);
    const int64_t value = sqlite3_column_int64(row, 0);
    sqlite3_finalize(row);
    return value;
  }
  // The columns of t as SQLite gives them.
  Rows expected(const std::vector<std::string>& columns) {
    std::string list;
    for (const std::string& column : columns) list += (list.empty() ? "" : ", ") + column;
    sqlite3_stmt* row = nullptr;
    sqlite3_prepare_v2(m_database, ("SELECT " + list + " FROM t").c_str(), -1, &row, nullptr);
    Rows rows;
    while (sqlite3_step(row) == SQLITE_ROW) {
      rows.emplace_back();
      for (int i = 0; i < sqlite3_column_count(row); ++i) {
        const bool isNull = sqlite3_column_type(row, i) == SQLITE_NULL;
        rows.back().push_back(isNull ? "NULL" : std::to_string(sqlite3_column_int64(row, i)));
      }
    }
    m_isWhole = sqlite3_finalize(row) == SQLITE_OK;
    return rows;
  }
  [[nodiscard]] bool isWhole() const { return m_isWhole; }  // no error ended what was expected
  void reopen() {
    sqlite3_close(m_database);
    m_database = nullptr;
    sqlite3_open(m_file.path().c_str(), &m_database);
  }
  [[nodiscard]] const std::string& path() const { return m_file.path(); }

 private:
  TraceFile m_file;
  sqlite3* m_database = nullptr;
  bool m_isWhole = true;
};

struct Walked {
  Walk end = Walk::Unusable;
  size_t given = 0;
  Rows rows;
};
Walked walk(PlainFile& file, const std::vector<std::string>& columns, size_t most = SIZE_MAX) {
  const auto root = static_cast<uint32_t>(file.number("SELECT rootpage FROM sqlite_schema WHERE name = 't'"));
  TablePages pages({{"t", root}}, static_cast<uint32_t>(file.number("PRAGMA schema_version")));
  Walked walked;
  const std::function<bool(const RowValues&)> take = [&](const RowValues& row) {
    walked.rows.emplace_back();
    for (int i = 0; i < static_cast<int>(columns.size()); ++i) {
      walked.rows.back().push_back(row.isNull(i) ? "NULL" : std::to_string(row.integer(i)));
    }
    return walked.rows.size() < most;
  };
  const std::function<bool()> goOn = [] { return true; };
  sqlite3_stmt* held = nullptr;
  sqlite3_prepare_v2(file.database(), "SELECT 1 FROM sqlite_schema", -1, &held, nullptr);
  sqlite3_step(held);
  walked.end = pages.forEachRow(file.database(), "t", columns, {take, goOn}, walked.given);
  sqlite3_finalize(held);
  return walked;
}

TEST(TablePages, GiveNumbersOfEverySizeAndNull) {
  PlainFile file;
  file.run("CREATE TABLE t(id INTEGER PRIMARY KEY, a INTEGER, note TEXT, b INTEGER)");
  file.run("INSERT INTO t VALUES (7, 0, 'between', 1), (-3, NULL, NULL, -1), (900000000000, 127, '', -128)");
  for (const int64_t limit : {int64_t{1} << 7, int64_t{1} << 15, int64_t{1} << 23, int64_t{1} << 31, int64_t{1} << 47,
                              std::numeric_limits<int64_t>::max()}) {
    for (const int64_t value : {limit - 1, limit, -limit, -limit + 1}) {
      file.run("INSERT INTO t(a, note, b) VALUES (" + std::to_string(value) + ", 'x', " + std::to_string(-value) + ")");
    }
  }
  const std::vector<std::string> columns = {"b", "id", "a"};
  const Walked walked = walk(file, columns);
  EXPECT_EQ(walked.end, Walk::Done);
  EXPECT_EQ(walked.rows, file.expected(columns));
  EXPECT_EQ(walked.given, walked.rows.size());
}

TEST(TablePages, AreTheTableWhateverTheSizesOfPagesAndRows) {
  std::mt19937_64 random(1);
  for (const int pageSize : {512, 1024, 4096, 65536}) {
    for (const int count : {0, 1, 30, 5000}) {
      PlainFile file;
      file.run("PRAGMA page_size = " + std::to_string(pageSize));
      file.run("CREATE TABLE other(x); CREATE TABLE t(id INTEGER PRIMARY KEY, a INTEGER, b INTEGER, c INTEGER); BEGIN");
      for (int i = 0; i < count; ++i) {
        const auto some = [&] {
          return random() % 5 == 0 ? std::string("NULL")
                                   : std::to_string(static_cast<int64_t>(random()) >> random() % 64);
        };
        file.run("INSERT INTO other VALUES (zeroblob(50)); INSERT OR REPLACE INTO t VALUES (" +
                 std::to_string(random() % 100000) + ", " + some() + ", " + some() + ", " + some() + ")");
      }
      file.run("COMMIT; DELETE FROM t WHERE id % 7 = 0");
      const std::vector<std::string> columns = {"id", "c", "a"};
      const Walked walked = walk(file, columns);
      EXPECT_EQ(walked.end, Walk::Done);
      EXPECT_EQ(walked.rows, file.expected(columns)) << "pages of " << pageSize << ", " << count << " rows";
    }
  }
}

TEST(TablePages, EndWhenTheCallbackHasSeenEnough) {
  PlainFile file;
  file.run("CREATE TABLE t(id INTEGER PRIMARY KEY, a INTEGER); INSERT INTO t(a) VALUES (5), (6), (7)");
  const Walked walked = walk(file, {"a"}, 2);
  EXPECT_EQ(walked.end, Walk::Stopped);
  EXPECT_THAT(walked.rows, ElementsAre(ElementsAre("5"), ElementsAre("6")));
}

TEST(TablePages, LeaveToSqliteWhatIsNoWholeNumber) {
  PlainFile file;
  file.run("CREATE TABLE t(id INTEGER PRIMARY KEY, a); INSERT INTO t(a) VALUES (5), ('text'), (7)");
  const Walked walked = walk(file, {"a"});
  EXPECT_EQ(walked.end, Walk::Unusable);
  EXPECT_EQ(walked.given, 1U);  // from where SQLite has to go on
  file.run("UPDATE t SET a = 0.5 WHERE id = 2");
  EXPECT_EQ(walk(file, {"a"}).end, Walk::Unusable);
  file.run("UPDATE t SET a = zeroblob(100000) WHERE id = 2");
  EXPECT_EQ(walk(file, {"a"}).end, Walk::Unusable);
}

TEST(TablePages, LeaveToSqliteTablesOfOtherKindsAndColumnsThatAreNone) {
  {
    PlainFile file;
    file.run("CREATE TABLE t(a INTEGER PRIMARY KEY, b INTEGER) WITHOUT ROWID; INSERT INTO t VALUES (1, 2)");
    EXPECT_EQ(walk(file, {"b"}).end, Walk::Unusable);
  }
  PlainFile other;
  other.run("CREATE TABLE t(a INTEGER, b INTEGER); INSERT INTO t VALUES (1, 2)");
  EXPECT_EQ(walk(other, {"c"}).end, Walk::Unusable);
  EXPECT_EQ(walk(other, {"a", "a"}).end, Walk::Unusable);
  EXPECT_EQ(walk(other, {"a", "b"}).end, Walk::Done);
}

TEST(TablePages, LeaveToSqliteAFileThatMayHaveNewerPagesElsewhere) {
  PlainFile file;
  file.run("CREATE TABLE t(a INTEGER); INSERT INTO t VALUES (1)");
  file.run("BEGIN; UPDATE t SET a = 2");  // what this connection wrote is in its memory alone
  EXPECT_EQ(walk(file, {"a"}).end, Walk::Unusable);
  file.run("COMMIT");
  EXPECT_THAT(walk(file, {"a"}).rows, ElementsAre(ElementsAre("2")));
  file.run("PRAGMA journal_mode = wal; UPDATE t SET a = 3");
  EXPECT_EQ(walk(file, {"a"}).end, Walk::Unusable);
}

TEST(TablePages, NoticeThatTheTablesAreOthersByNow) {
  PlainFile file;
  file.run("CREATE TABLE t(a INTEGER); INSERT INTO t VALUES (1)");
  const auto cookie = static_cast<uint32_t>(file.number("PRAGMA schema_version"));
  TablePages pages({{"t", 2}}, cookie);
  file.run("DROP TABLE t; CREATE TABLE u(a INTEGER, b INTEGER); CREATE TABLE t(b INTEGER, a INTEGER)");
  const std::function<bool(const RowValues&)> take = [](const RowValues&) { return true; };
  const std::function<bool()> goOn = [] { return true; };
  size_t given = 0;
  file.run("BEGIN; SELECT * FROM u");
  EXPECT_EQ(pages.forEachRow(file.database(), "t", {"a"}, {take, goOn}, given), Walk::Unusable);
}

TEST(TablePages, HaveTheIdOfARowWhateverStandsInItsPlace) {
  PlainFile file;
  file.run(
      "CREATE TABLE t(id INTEGER, a INTEGER); INSERT INTO t(rowid, id, a) VALUES (7, 5, 1);"
      "PRAGMA writable_schema = on;"
      "UPDATE sqlite_schema SET sql = 'CREATE TABLE t(id INTEGER PRIMARY KEY, a INTEGER)' WHERE name = 't'");
  file.reopen();
  EXPECT_EQ(walk(file, {"id", "a"}).rows, file.expected({"id", "a"}));
}

// Whatever stands in the file: what SQLite finds damaged is not read, and what is read is what SQLite reads.
TEST(TablePages, SayNothingElseThanSqliteOfDamage) {
  std::mt19937 random(2);
  int read = 0;
  for (int round = 0; round < 150; ++round) {
    PlainFile file;
    file.run(
        "PRAGMA page_size = 512; CREATE TABLE t(id INTEGER PRIMARY KEY, a INTEGER, b INTEGER);"
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)"
        "INSERT INTO t(a, b) SELECT i * 1000003, -i FROM n");
    std::fstream bytes(file.path(), std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekg(0, std::ios::end);
    const auto size = static_cast<size_t>(bytes.tellg());
    for (int i = 0; i < 1 + round % 4; ++i) {
      const auto at = static_cast<std::streamoff>(512 + random() % (size - 512));
      bytes.seekg(at);
      const int bit = 1 << random() % 8, byte = bytes.get();
      bytes.seekp(at);
      bytes.put(static_cast<char>(byte ^ bit));
    }
    bytes.close();
    file.reopen();
    file.run("PRAGMA cell_size_check = on");
    const Walked walked = walk(file, {"id", "a", "b"}, 100'000);
    const Rows expected = file.expected({"id", "a", "b"});
    ASSERT_TRUE(walked.end != Walk::Done || (file.isWhole() && walked.rows == expected)) << "round " << round;
    if (walked.end == Walk::Done) ++read;
  }
  EXPECT_GT(read, 20);
}

}  // namespace
}  // namespace plumb::test
