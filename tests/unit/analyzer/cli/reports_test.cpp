// SPDX-License-Identifier: Apache-2.0
#include "analyzer/reports/reports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>

#include "analyzer/analyses/analysis_tables.h"
#include "analyzer/sqlext/sql_surface.h"
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

TEST(Report, KnowsItsParametersAndValuesOfBy) {
  const Report report =
      valueOf(parseReport("mine",
                          "-- T\n-- Q\n-- by: name, grid\n"
                          "SELECT :by AS a, ':step' AS b /* :from_ns */ -- :to_ns\nWHERE :rank IS NULL",
                          "here"));
  EXPECT_EQ(report.by, (std::vector<std::string>{"name", "grid"}));
  EXPECT_TRUE(report.columns.empty());
  EXPECT_EQ(report.optionList(), "--rank and --by");
  EXPECT_THAT(errorOf(parseReport("mine", "-- T\n-- Q\nSELECT :rnak", "here")), testing::HasSubstr(":rnak"));
  EXPECT_THAT(errorOf(parseReport("mine", "-- T\n-- Q\nSELECT :by", "here")), testing::HasSubstr("by:"));
  EXPECT_THAT(errorOf(parseReport("mine", "-- T\n-- Q\n-- by: a\nSELECT 1", "here")), testing::HasSubstr("by:"));
}

TEST(Report, CanGiveStepAndRangeAMeaningOfItsOwn) {
  Filter filter;
  filter.rank = 1;
  filter.step = 7;
  filter.range = "x";
  const Report plain = valueOf(parseReport("mine", "-- T\n-- Q\nSELECT :step", "here"));
  EXPECT_EQ(plain.lookedUp(filter).step, 7);
  const Report own = valueOf(parseReport("mine", "-- T\n-- Q\n-- own: step, range\nSELECT :step, :range", "here"));
  EXPECT_EQ(own.lookedUp(filter).step, std::nullopt);
  EXPECT_EQ(own.lookedUp(filter).range, std::nullopt);
  EXPECT_EQ(own.lookedUp(filter).rank, 1);
  EXPECT_THAT(errorOf(parseReport("mine", "-- T\n-- Q\n-- own: rank\nSELECT 1", "here")),
              testing::HasSubstr("own: rank"));
}

TEST(Report, SaysWhyAFilterHasNoMeaning) {
  const Report report = valueOf(parseReport(
      "mine", "-- T\n-- Q\n-- no: step, range: it is about hosts: none has steps\n-- no: by: one row\nSELECT :rank",
      "x"));
  ReportRequest request;
  request.filter.step = 3;
  EXPECT_EQ(errorOf(checkRequest(report, request)),
            "The report mine takes no --step: it is about hosts: none has steps; of the filters it takes --rank.");
  request = {};
  request.filter.from = TimePoint(1);
  EXPECT_EQ(errorOf(checkRequest(report, request)), "The report mine takes no --from; of the filters it takes --rank.");
  EXPECT_EQ(report.refusalLines(),
            (std::vector<std::string>{"no --step and --range: it is about hosts: none has steps", "no --by: one row"}));
  for (const char* wrong : {"no: steps: why", "no: step", "no: step: ", "no: rank: it uses it"}) {
    EXPECT_THAT(errorOf(parseReport("mine", std::string("-- T\n-- Q\n-- ") + wrong + "\nSELECT :rank", "x")),
                testing::HasSubstr("The report mine (x) says"))
        << wrong;
  }
}

// About what only imported files have, or runs that hang.
const std::set<std::string> kOfOtherSources = {"benchmarks", "collective_timings", "os_calls",
                                               "stuck",      "tracelens_gemm",     "hta_stragglers"};

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
    const bool isOfOtherSources = kOfOtherSources.contains(report.name);
    EXPECT_TRUE(rows.next() || isOfOtherSources) << report.name << ": " << errorOf(rows.status());
    EXPECT_EQ(errorOf(rows.status()), "") << report.name;
  }
  for (const char* name : {"kernels", "copies", "collectives", "ranges", "api", "memory", "steps"})
    EXPECT_TRUE(names.count(name)) << name;
}

TEST(BuiltinReports, TakeEachFilterOrSayWhyNot) {
  for (const Report& report : valueOf(findReports({}))) {
    for (size_t i = 0; i < kReportParameters.size(); ++i) {
      EXPECT_TRUE(report.takes[i] || !report.refusals[i].empty()) << report.name << " " << kReportParameters[i].option;
    }
  }
}

TEST(BuiltinReports, WorkWithEachGrouping) {
  const TraceFile file;
  makeSampleTrace(file.path(), {.layers = 2, .steps = 3});
  Trace trace = valueOf(Trace::open(file.path()));
  const auto reports = valueOf(findReports({}));
  ASSERT_EQ(errorOf(registerSqlSurface(trace, reports)), "");
  for (const Report& report : reports) {
    for (const std::string& by : report.by) {
      ReportRequest request;
      request.by = by;
      auto rows = valueOf(prepareReport(trace.database(), report, request));
      while (rows.next()) {
      }
      EXPECT_EQ(errorOf(rows.status()), "") << report.name << " by " << by;
    }
  }
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

// All rows, as texts.
std::vector<std::vector<std::string>> rowsOf(Statement& statement) {
  std::vector<std::vector<std::string>> rows;
  while (statement.next()) {
    rows.emplace_back();
    for (int i = 0; i < statement.columnCount(); ++i) rows.back().emplace_back(statement.text(i));
  }
  EXPECT_EQ(errorOf(statement.status()), "");
  return rows;
}

class ReportsInSql : public testing::Test {
 protected:
  void open(const std::vector<Report>& reports) {
    makeSampleTrace(m_file.path(), {.layers = 2, .steps = 3});
    openAgain(reports);
  }
  void openAgain(const std::vector<Report>& reports) {
    m_trace.emplace(valueOf(Trace::open(m_file.path())));
    ASSERT_EQ(errorOf(registerSqlSurface(*m_trace, reports)), "");
  }
  std::vector<std::vector<std::string>> rows(const std::string& sql) {
    auto statement = valueOf(m_trace->query(sql));
    return rowsOf(statement);
  }
  std::string error(const std::string& sql) {
    auto statement = m_trace->query(sql);
    if (!statement.ok()) return statement.error().message;
    while (statement.value().next()) {
    }
    return errorOf(statement.value().status());
  }
  TraceFile m_file;
  std::optional<Trace> m_trace;
};

TEST_F(ReportsInSql, TakeThePeaksThatTheUserGives) {
  open(valueOf(findReports({})));
  const std::string ask =
      "SELECT DISTINCT memory_roof_bytes_per_s, memory_roof_source FROM report_roofline"
      " WHERE memory_roof_source IS NOT NULL";
  const auto before = rows(ask);
  EXPECT_EQ(rows("SELECT plumb_peak('memory', '3TB/s')"), (std::vector<std::vector<std::string>>{{"3000000000000.0"}}));
  EXPECT_EQ(rows(ask), (std::vector<std::vector<std::string>>{{"3000000000000.0", "given"}}));
  (void)rows("SELECT plumb_peak('network', 4e11)");
  EXPECT_EQ(rows("SELECT DISTINCT reference_busbw_bytes_per_s, reference FROM report_collectives"),
            (std::vector<std::vector<std::string>>{{"400000000000.0", "given network roof"}}));
  (void)rows("SELECT plumb_peak('pcie', '25GB/s')");
  EXPECT_EQ(rows("SELECT DISTINCT link_bytes_per_s, link_source FROM report_copies WHERE name = 'copy HtoD'"),
            (std::vector<std::vector<std::string>>{{"25000000000.0", "given pcie"}}));
  (void)rows("SELECT plumb_peak('memory', NULL)");
  EXPECT_EQ(rows(ask), before);
  EXPECT_THAT(error("SELECT plumb_peak('speed', 1)"), testing::HasSubstr("There is no peak of speed"));
  EXPECT_THAT(error("SELECT plumb_peak('memory', 'much')"), testing::HasSubstr("is no rate"));
  EXPECT_THAT(error("SELECT plumb_peak('memory', -1)"), testing::HasSubstr("above 0"));
}

// What a report reads is made ready before a statement runs, so that the rest of the statement still can.
TEST_F(ReportsInSql, LetAStatementGoOn) {
  const auto reports = valueOf(findReports({}));
  open(reports);
  for (const Report& report : reports) {
    openAgain(reports);  // anew, so that no other report has made it ready
    const std::string limits = report.takes[static_cast<size_t>(Limit::Step)] ? "(NULL, 1)" : "";
    EXPECT_EQ(error("SELECT count(*) FROM report_" + report.name + limits + " UNION ALL SELECT count(*) FROM process"),
              "")
        << report.name;
  }
}

TEST_F(ReportsInSql, AreWhatTheCommandLineShowsWithEveryFilter) {
  const auto reports = valueOf(findReports({}));
  open(reports);
  for (const Report& report : reports) {
    std::vector<ReportRequest> requests(1);
    for (size_t i = 0; i < kReportParameters.size(); ++i) {
      if (!report.takes[i]) continue;
      ReportRequest request;
      switch (static_cast<Limit>(i)) {
        case Limit::Rank:
          request.filter.rank = 1;
          break;
        case Limit::Step:
          request.filter.step = 1;
          break;
        case Limit::Range:
          request.filter.range = "forward";
          break;
        case Limit::From:
          request.filter.from = TimePoint(4'000'000);
          break;
        case Limit::To:
          request.filter.to = TimePoint(4'000'000);
          break;
        case Limit::By:
          request.by = report.by.back();
          break;
      }
      requests.push_back(request);
    }
    const auto literal = [](const auto& value) { return value ? std::to_string(*value) : std::string("NULL"); };
    const auto time = [](std::optional<TimePoint> t) { return t ? std::to_string(t->ns()) : std::string("NULL"); };
    for (const ReportRequest& request : requests) {
      const Filter& f = request.filter;
      const auto text = [](const std::optional<std::string>& t) { return t ? "'" + *t + "'" : std::string("NULL"); };
      const std::string call = "SELECT * FROM report_" + report.name + "(" + literal(f.rank) + ", " + literal(f.step) +
                               ", " + text(f.range) + ", " + time(f.from) + ", " + time(f.to) + ", " +
                               text(request.by) + ")";
      auto direct = valueOf(prepareReport(m_trace->database(), report, request));
      EXPECT_EQ(rowsOf(direct), rows(call)) << call;
    }
  }
}

TEST_F(ReportsInSql, TakeArgumentsByNameToo) {
  open(valueOf(findReports({})));
  EXPECT_EQ(rows("SELECT * FROM report_kernels WHERE only_rank = 1 AND only_step = 2"),
            rows("SELECT * FROM report_kernels(1, 2)"));
  EXPECT_EQ(rows("SELECT k.name FROM (SELECT 1 AS r) o JOIN report_kernels(o.r) k"),
            rows("SELECT name FROM report_kernels(1)"));
  EXPECT_EQ(rows("SELECT * FROM report_kernels('1')"), rows("SELECT * FROM report_kernels(1)"));
}

TEST_F(ReportsInSql, SayWhatTheyDoNotTake) {
  open({valueOf(parseReport("mine", "-- T\n-- Q\n-- by: x, y\nSELECT :by AS a, :rank AS b", "here"))});
  EXPECT_EQ(rows("SELECT * FROM report_mine"), (std::vector<std::vector<std::string>>{{"x", ""}}));
  EXPECT_EQ(rows("SELECT * FROM report_mine(1, NULL, NULL, NULL, NULL, 'y')"),
            (std::vector<std::vector<std::string>>{{"y", "1"}}));
  EXPECT_THAT(error("SELECT * FROM report_mine(0, 3)"),
              testing::HasSubstr("takes no --step; of the filters it takes --rank and --by"));
  EXPECT_THAT(error("SELECT * FROM report_mine(NULL, NULL, NULL, NULL, NULL, 'z')"),
              testing::HasSubstr("it has x and y"));
  EXPECT_THAT(error("SELECT * FROM report_mine('zero')"), testing::HasSubstr("rank must be a whole number"));
}

TEST_F(ReportsInSql, AStepOfTheReportsOwnNeedNotBeInTheTrace) {
  open({valueOf(parseReport("own", "-- T\n-- Q\n-- own: step\nSELECT :step AS a", "here")),
        valueOf(parseReport("plain", "-- T\n-- Q\nSELECT :step AS a", "here"))});
  EXPECT_EQ(rows("SELECT * FROM report_own(NULL, 999)"), (std::vector<std::vector<std::string>>{{"999"}}));
  EXPECT_THAT(error("SELECT * FROM report_plain(NULL, 999)"), testing::HasSubstr("no step 999"));
}

TEST_F(ReportsInSql, AReportThatRefersToItselfIsAnError) {
  open({valueOf(parseReport("a", "-- T\n-- Q\nSELECT * FROM report_b", "a.sql")),
        valueOf(parseReport("b", "-- T\n-- Q\nSELECT * FROM report_a", "b.sql")),
        valueOf(parseReport("c", "-- T\n-- Q\nSELECT * FROM report_c", "c.sql")),
        valueOf(parseReport("d", "-- T\n-- Q\nSELECT 1 AS one", "d.sql"))});
  for (const char* name : {"a", "b", "c"}) {
    EXPECT_THAT(error(std::string("SELECT * FROM report_") + name), testing::HasSubstr("refers to itself")) << name;
  }
  EXPECT_EQ(rows("SELECT one FROM report_d").size(), 1u);
}

TEST_F(ReportsInSql, ABrokenReportIsAnErrorForItsOwnStatementsAlone) {
  open({valueOf(parseReport("bad", "-- T\n-- Q\nSELECT nothing FROM nowhere", "bad.sql")),
        valueOf(parseReport("good", "-- T\n-- Q\nSELECT 1 AS \"a b\", 2 AS \"A B\", 3 AS from_ns", "good.sql"))});
  EXPECT_THAT(error("SELECT * FROM report_bad"), testing::HasSubstr("The report bad (bad.sql) failed"));
  EXPECT_EQ(rows("SELECT \"a b\", \"A B_2\", from_ns FROM report_good").front(),
            (std::vector<std::string>{"1", "2", "3"}));
}

TEST_F(ReportsInSql, AreListedWithTheirColumns) {
  open(valueOf(findReports({})));
  EXPECT_EQ(rows("SELECT filters FROM plumb_reports WHERE name = 'kernels'").size(), 1u);
  EXPECT_EQ(rows("SELECT unit FROM plumb_report_columns WHERE report = 'kernels' AND name = 'total_ns'"),
            (std::vector<std::vector<std::string>>{{"ns"}}));
}

TEST(UserReports, ABrokenFileIsAProblemOfItsOwn) {
  const TraceFile file;
  const std::string folder = file.path() + ".reports";
  std::filesystem::create_directory(folder);
  std::ofstream(folder + "/broken.sql") << "SELECT 1";
  std::string problem;
  for (const Report& report : valueOf(findReports({folder}))) {
    if (report.name == "broken") problem = report.problem;
  }
  EXPECT_THAT(problem, testing::HasSubstr("broken.sql"));
  std::filesystem::remove_all(folder);
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
