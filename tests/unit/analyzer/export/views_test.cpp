// SPDX-License-Identifier: Apache-2.0
// What CSV and Parquet hold: every table of the trace format, by a view or by itself.
#include "analyzer/export/views.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/analyzer/export/contents_testing.h"

namespace plumb::test {
namespace {

TEST(ExportedTables, NameEveryTableOfTheSchema) {
  const TraceFile file;
  makeSampleTrace(file.path(), {.ranks = 1, .layers = 1, .steps = 1});
  Trace trace = valueOf(Trace::open(file.path()));
  std::vector<std::string> listed, views = exports::publicViews(), shownBy;
  for (const exports::TableShown& shown : exports::tablesShown()) {
    listed.emplace_back(shown.table);
    if (shown.in.find(' ') == std::string_view::npos && !shown.in.empty()) {
      EXPECT_THAT(views, testing::Contains(std::string(shown.in)));
    }
  }
  EXPECT_THAT(listed, testing::UnorderedElementsAreArray(tablesOf(trace)));
}

TEST(ExportedTables, HaveTextsForIdsAndTheRank) {
  const TraceFile file;
  {
    TraceBuilder builder(file.path());
    const int64_t process = builder.addRank(3);
    builder.addCounter(process, 10, "loss", 0.5);
    builder.execute("CREATE TABLE somebodys(a)");
  }
  Trace trace = valueOf(Trace::open(file.path()));
  for (const exports::ExportedTable& table : valueOf(exports::exportedTables())) {
    EXPECT_EQ(errorOf(trace.query("SELECT * FROM " + table.from)), "") << table.name;
    if (table.name == "counter_sample") {
      EXPECT_THAT(rowsOf(trace, "SELECT rank, start_ns, name, value FROM " + table.from),
                  testing::ElementsAre("3|10|loss|0.5"));
    }
  }
  EXPECT_THAT(valueOf(exports::foreignTablesText(trace)), testing::HasSubstr("somebodys"));
}

}  // namespace
}  // namespace plumb::test
