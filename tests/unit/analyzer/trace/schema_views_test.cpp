// SPDX-License-Identifier: Apache-2.0
// The schema's views are made when a statement names them; whoever asks must not notice.
#include "analyzer/trace/schema_views.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <utility>

#include "tests/unit/analyzer/testing.h"

namespace plumb::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::vector<std::string> wordsOf(std::string_view sql) {
  std::vector<std::string> words;
  forEachWord(sql, [&](std::string_view word) { words.emplace_back(word); });
  return words;
}

TEST(Words, AreNamesHoweverTheyAreQuoted) {
  EXPECT_THAT(wordsOf("SELECT A.x FROM \"Kernels\"/**/a,[my view] JOIN`b`ON'c d'"),
              ElementsAre("select", "a", "x", "from", "kernels", "a", "my", "view", "join", "b", "on", "c", "d"));
}

TEST(Words, AreNotLookedForInComments) {
  EXPECT_THAT(wordsOf("-- kernels\nSELECT 1 /* steps\n*/ - 2 -- ranges"), ElementsAre("select", "1", "2"));
  EXPECT_THAT(wordsOf("SELECT '-- kernels' /"), ElementsAre("select", "kernels"));
  EXPECT_THAT(wordsOf("SELECT \"no end"), ElementsAre("select", "no", "end"));
}

TEST(SchemaViews, AreGivenOutOnceWithThoseThatTheyRead) {
  SchemaViews views;
  EXPECT_EQ(valueOf(views.scriptFor("SELECT * FROM main.kernel -- not kernels")), "");
  const std::string script = valueOf(views.scriptFor("SELECT * FROM cupti_activity_kind_runtime"));
  EXPECT_THAT(script, HasSubstr("CREATE TEMP VIEW IF NOT EXISTS CUPTI_ACTIVITY_KIND_RUNTIME AS"));
  EXPECT_THAT(script, HasSubstr("CREATE TEMP VIEW IF NOT EXISTS nsys_thread AS"));
  EXPECT_THAT(script, HasSubstr("CREATE TEMP VIEW IF NOT EXISTS nsys_process AS"));
  EXPECT_THAT(script, Not(HasSubstr("EXISTS kernels AS")));
  EXPECT_EQ(valueOf(views.scriptFor("SELECT * FROM nsys_thread")), "");
}

// Adds tables that only say that they were added.
class Tables {
 public:
  Status add(SchemaViews& views, const std::string& name, const std::string& sql) {
    return views.addTable(name, sql, [this, name] {
      m_added += name + ";";
      return name == "broken" ? Status(Error{"It is broken."}) : Status(Unit{});
    });
  }
  [[nodiscard]] std::string added() { return std::exchange(m_added, {}); }

 private:
  std::string m_added;
};

TEST(SchemaViews, ComeWithTheTablesThatReadThem) {
  SchemaViews views;
  Tables tables;
  EXPECT_TRUE(tables.add(views, "inner_table", "SELECT * FROM steps").ok());
  EXPECT_TRUE(tables.add(views, "outer_table", "SELECT * FROM inner_table(:rank)").ok());
  EXPECT_EQ(valueOf(views.scriptFor("SELECT 1")) + tables.added(), "");
  EXPECT_THAT(valueOf(views.scriptFor("SELECT 1 FROM Outer_Table()")),
              StartsWith("CREATE TEMP VIEW IF NOT EXISTS steps AS"));
  EXPECT_EQ(tables.added(), "outer_table;inner_table;");
  EXPECT_EQ(valueOf(views.scriptFor("SELECT 1 FROM outer_table, inner_table")) + tables.added(), "");
}

TEST(SchemaViews, TakeATableThatNoWordNamesAsNamed) {
  SchemaViews views;
  Tables tables;
  EXPECT_TRUE(tables.add(views, "my table", "SELECT * FROM steps").ok());
  EXPECT_EQ(tables.added(), "my table;");
  EXPECT_THAT(valueOf(views.scriptFor("SELECT 1 FROM \"my table\"")), HasSubstr("EXISTS steps AS"));
}

TEST(SchemaViews, SayWhyATableCannotBeAdded) {
  SchemaViews views;
  Tables tables;
  EXPECT_TRUE(tables.add(views, "broken", "").ok());
  EXPECT_EQ(errorOf(views.scriptFor("SELECT 1 FROM broken")), "It is broken.");
}

class ViewsOfATrace : public testing::Test {
 protected:
  void make(const std::string& extraSql = {}) {
    {
      TraceBuilder trace(m_file.path());
      const OneRank rank(trace);
      trace.addKernel(rank.work(0, 10), "gemm");
      trace.addApiCall(rank.process, rank.thread, 0, 5, "cudaLaunchKernel", 1);
      trace.addRange(rank.process, rank.thread, 0, 20, "step");
    }
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(m_file.path().c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, extraSql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(database);
    sqlite3_close(database);
    m_trace.emplace(valueOf(Trace::open(m_file.path())));
  }
  std::string first(const std::string& sql) {
    auto statement = m_trace->query(sql);
    if (!statement.ok()) return statement.error().message;
    return statement.value().next() ? std::string(statement.value().text(0)) : errorOf(statement.value().status());
  }
  TraceFile m_file;
  std::optional<Trace> m_trace;
};

TEST_F(ViewsOfATrace, AreThereInEverySpelling) {
  for (const char* name :
       {"kernels", "KERNELS", "\"Kernels\"", "[kernels]", "`kernels`", "temp.kernels", "'kernels'"}) {
    make();
    EXPECT_EQ(first(std::string("SELECT name FROM ") + name), "gemm") << name;
  }
}

TEST_F(ViewsOfATrace, MayReadOthers) {
  make();
  EXPECT_EQ(first("SELECT globalTid IS NOT NULL FROM CUPTI_ACTIVITY_KIND_RUNTIME"), "1");
  EXPECT_EQ(
      first("WITH mine AS (SELECT * FROM steps) SELECT name FROM mine WHERE step = (SELECT min(step) FROM steps)"),
      "step");
}

TEST_F(ViewsOfATrace, TakeThePlaceOfTheFilesOwn) {
  make("DROP VIEW kernels; CREATE VIEW kernels AS SELECT 'theirs' AS name");
  EXPECT_EQ(first("SELECT name FROM kernels"), "gemm");
  EXPECT_THAT(first("SELECT name FROM main.kernels"), HasSubstr("The view main.kernels is not used"));
}

TEST_F(ViewsOfATrace, TakeThePlaceOfTablesOfTheirName) {
  make("DROP VIEW kernels; CREATE TABLE kernels(name); INSERT INTO kernels VALUES('theirs')");
  EXPECT_EQ(first("SELECT name FROM kernels"), "gemm");
  EXPECT_EQ(first("SELECT name FROM main.kernels"), "theirs");
}

TEST_F(ViewsOfATrace, LeaveAUsersOtherViewsAlone) {
  make("CREATE VIEW mine AS SELECT name FROM kernels");
  EXPECT_THAT(first("SELECT name FROM mine"), HasSubstr("is not used"));  // a stranger's: it could do anything
  EXPECT_EQ(first("SELECT name FROM kernels"), "gemm");
}

TEST_F(ViewsOfATrace, AreThereForAFileWithoutAny) {
  make("DROP VIEW kernels; DROP VIEW steps; DROP VIEW nsys_process");
  EXPECT_EQ(first("SELECT k.name || s.name FROM kernels k, steps s"), "gemmstep");
}

TEST_F(ViewsOfATrace, AreAllListed) {
  make();
  EXPECT_EQ(first("SELECT count(*) > 50 FROM sqlite_temp_schema WHERE type = 'view'"), "1");
  make();
  EXPECT_EQ(first("SELECT count(*) > 50 FROM pragma_table_list WHERE schema = 'temp' AND type = 'view'"), "1");
}

TEST_F(ViewsOfATrace, OutliveTheSnapshotInWhichTheyWereMade) {
  make();
  {
    const Snapshot snapshot(*m_trace);
    EXPECT_EQ(first("SELECT name FROM kernels"), "gemm");
  }
  EXPECT_EQ(first("SELECT name FROM kernels"), "gemm");
  EXPECT_EQ(first("SELECT name FROM steps"), "step");
}

TEST_F(ViewsOfATrace, SurviveATransactionThatIsRolledBack) {
  make();
  EXPECT_EQ(first("BEGIN"), "");
  EXPECT_EQ(first("SELECT name FROM kernels"), "gemm");
  EXPECT_EQ(first("ROLLBACK"), "");
  EXPECT_EQ(first("SELECT name FROM kernels"), "gemm");
}

TEST_F(ViewsOfATrace, LeaveEarlierStatementsUsable) {
  make();
  auto earlier = valueOf(m_trace->query("SELECT text FROM main.string WHERE text = ?1"));
  earlier.bind(1, std::string_view("gemm"));
  EXPECT_EQ(first("SELECT name FROM kernels"), "gemm");
  ASSERT_TRUE(earlier.next()) << errorOf(earlier.status());
  EXPECT_EQ(earlier.text(0), "gemm");
}

TEST_F(ViewsOfATrace, AreFoundInEachStatementOfAScript) {
  make();
  const std::string script = "SELECT name FROM kernels; -- a comment; and\nSELECT name FROM steps;";
  size_t at = 0;
  std::vector<std::string> names;
  for (;;) {
    auto next = valueOf(m_trace->database().prepareNext(script, at));
    if (!next) break;
    ASSERT_TRUE(next->next());
    names.emplace_back(next->text(0));
  }
  EXPECT_THAT(names, ElementsAre("gemm", "step"));
}

}  // namespace
}  // namespace plumb::test
