// SPDX-License-Identifier: Apache-2.0
#include "analyzer/trace/row_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <string>
#include <vector>

#include "analyzer/trace/shared_loads.h"
#include "tests/unit/analyzer/testing.h"

namespace plumb::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class RowScan : public testing::Test {
 protected:
  RowScan() {
    {
      TraceBuilder trace(m_file.path());
      const OneRank rank(trace);
      for (const int64_t start : {30, 10, 20}) trace.addApiCall(rank.process, rank.thread, start, 5, "call", start);
    }
    m_trace.emplace(valueOf(Trace::open(m_file.path())));
  }
  TraceFile m_file;
  std::optional<Trace> m_trace;
};

TEST_F(RowScan, GivesTheRowsInTheOrderOfTheTable) {
  std::vector<std::string> rows;
  const Status done = scanRows(m_trace->database(), "start_ns, NULL", "main.api_call", [&](const RowValues& row) {
    rows.push_back(std::to_string(row.integer(0)) + (row.isNull(1) ? " null " : " ") + std::to_string(row.integer(1)));
  });
  EXPECT_TRUE(done.ok());
  EXPECT_THAT(rows, ElementsAre("30 null 0", "10 null 0", "20 null 0"));
}

TEST_F(RowScan, EndsWhenTheCallbackHasSeenEnough) {
  std::vector<int64_t> starts;
  const auto takeTwo = [&](const RowValues& row) {
    starts.push_back(row.integer(0));
    return starts.size() < 2;
  };
  const Status done = scanRowsWhile(m_trace->database(), "start_ns", "main.api_call", takeTwo);
  EXPECT_TRUE(done.ok()) << errorOf(done);
  EXPECT_THAT(starts, ElementsAre(30, 10));
  EXPECT_THAT(errorOf(scanRowsWhile(m_trace->database(), "nothing", "main.api_call", takeTwo)), HasSubstr("nothing"));
}

TEST_F(RowScan, LetsTheCallbackUseTheDatabase) {
  std::vector<std::string> names;
  const Status done = scanRows(m_trace->database(), "name_id", "main.api_call WHERE start_ns = 10",
                               [&](const RowValues& row) { names.emplace_back(m_trace->text(row.id<StringId>(0))); });
  EXPECT_TRUE(done.ok());
  EXPECT_THAT(names, ElementsAre("call"));
}

// An index that holds all of the columns has its own order.
TEST_F(RowScan, GoesOnBehindWhatIsNoNumber) {
  m_trace.reset();
  sqlite3* database = nullptr;
  sqlite3_open(m_file.path().c_str(), &database);
  ASSERT_EQ(sqlite3_exec(database,
                         "CREATE INDEX of_users ON api_call(start_ns DESC, duration_ns);"
                         "UPDATE api_call SET duration_ns = 'text' WHERE start_ns = 10",
                         nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(database);
  m_trace.emplace(valueOf(Trace::open(m_file.path())));
  std::vector<int64_t> starts;
  const Status done = scanRows(m_trace->database(), "start_ns, duration_ns", "main.api_call",
                               [&](const RowValues& row) { starts.push_back(row.integer(0)); });
  EXPECT_TRUE(done.ok()) << errorOf(done);
  EXPECT_THAT(starts, ElementsAre(30, 10, 20));
}

TEST_F(RowScan, SaysWhatIsWrongWithItsText) {
  const auto ignore = [](const RowValues&) {};
  EXPECT_THAT(errorOf(scanRows(m_trace->database(), "nothing", "main.api_call", ignore)), HasSubstr("nothing"));
}

TEST_F(RowScan, IsNotForQueries) {
  auto rows = valueOf(m_trace->query("SELECT plumb_scan_rows(1, 2)"));
  EXPECT_FALSE(rows.next());
  EXPECT_THAT(errorOf(rows.status()), HasSubstr("Plumbline's own use"));
}

TEST(SharedLoads, LoadOnceAndKeepNoError) {
  SharedLoads loads;
  int asked = 0;
  const auto get = [&](bool works) {
    return loads.get<std::string>([&]() -> Result<std::string> {
      ++asked;
      if (!works) return Error{"not now"};
      return std::string("rows");
    });
  };
  EXPECT_EQ(errorOf(get(false)), "not now");
  EXPECT_EQ(*valueOf(get(true)), "rows");
  EXPECT_EQ(*valueOf(get(false)), "rows");
  EXPECT_EQ(asked, 2);
}

}  // namespace
}  // namespace plumb::test
