// SPDX-License-Identifier: Apache-2.0
#include "analyzer/reports/reports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "analyzer/analyses/analysis_tables.h"
#include "tests/unit/analyzer/testing.h"

namespace plumb::test {
namespace {

TEST(Report, HeadIsRead) {
  const Report report =
      valueOf(parseReport("mine",
                          "-- SPDX-License-Identifier: Apache-2.0\n-- My title\n-- Which?\n-- a: first\n"
                          "-- b_ns (ns): second: with a colon\nSELECT 1 AS a, 2 AS b_ns; -- not: this\n",
                          "here"));
  EXPECT_EQ(report.title, "My title");
  EXPECT_EQ(report.question, "Which?");
  ASSERT_EQ(report.columns.size(), 2u);
  EXPECT_EQ(report.columns[1].name, "b_ns");
  EXPECT_EQ(report.columns[1].unit, "ns");
  EXPECT_EQ(report.columns[1].description, "second: with a colon");
}

TEST(Report, WithoutAHeadIsRefused) {
  EXPECT_THAT(errorOf(parseReport("mine", "SELECT 1", "/x/mine.sql")), testing::HasSubstr("/x/mine.sql"));
}

// Every column of every report is documented, in order, and a unit in its name is its unit.
TEST(BuiltinReports, DescribeWhatTheyReturn) {
  const TraceFile file;
  makeSampleTrace(file.path(), {.layers = 2, .steps = 3});
  Trace trace = valueOf(Trace::open(file.path()));
  ASSERT_TRUE(registerAnalysisTables(trace).ok());
  std::set<std::string> names;
  for (const Report& report : valueOf(findReports({}))) {
    names.insert(report.name);
    auto rows = valueOf(trace.query(report.sql));
    std::vector<std::string> documented, returned;
    for (const ReportColumn& column : report.columns) {
      documented.push_back(column.name);
      const bool endsInNs = column.name.size() > 3 && column.name.substr(column.name.size() - 3) == "_ns";
      EXPECT_EQ(endsInNs, column.unit == "ns") << report.name << "." << column.name;
    }
    for (int i = 0; i < rows.columnCount(); ++i) returned.emplace_back(rows.columnName(i));
    EXPECT_EQ(documented, returned) << report.name;
    EXPECT_TRUE(rows.next()) << report.name << ": " << errorOf(rows.status());
  }
  for (const char* name : {"kernels", "copies", "collectives", "ranges", "api", "memory", "steps"})
    EXPECT_TRUE(names.count(name)) << name;
}

TEST(BuiltinReports, SharesAddUp) {
  const TraceFile file;
  makeSampleTrace(file.path(), {.layers = 2, .steps = 3});
  Trace trace = valueOf(Trace::open(file.path()));
  ASSERT_TRUE(registerAnalysisTables(trace).ok());
  for (const Report& report : valueOf(findReports({}))) {
    if (report.name != "kernels" && report.name != "copies" && report.name != "api" && report.name != "ranges")
      continue;
    auto rows = valueOf(trace.query("SELECT pid, sum(share_pct) FROM (" + report.sql.substr(0, report.sql.rfind(';')) +
                                    ") GROUP BY pid"));
    while (rows.next()) EXPECT_NEAR(rows.real(1), 100, 1e-9) << report.name;
    EXPECT_EQ(errorOf(rows.status()), "");
  }
}

TEST(UserReports, TakeThePlaceOfBuiltinOnes) {
  const TraceFile file;
  const std::string folder = file.path() + ".reports";
  std::filesystem::create_directory(folder);
  std::ofstream(folder + "/kernels.sql") << "-- Mine\n-- Why?\nSELECT 1 AS a";
  std::ofstream(folder + "/extra.sql") << "-- Extra\n-- What?\nSELECT 2 AS b";
  std::ofstream(folder + "/notes.txt") << "no report";
  std::map<std::string, std::string> titles;
  for (const Report& report : valueOf(findReports({"/nowhere", folder}))) titles[report.name] = report.title;
  EXPECT_EQ(titles["kernels"], "Mine");
  EXPECT_EQ(titles["extra"], "Extra");
  EXPECT_EQ(titles.count("notes"), 0u);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace plumb::test
