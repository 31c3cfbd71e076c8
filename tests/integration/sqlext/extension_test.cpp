// SPDX-License-Identifier: Apache-2.0
// libplumb_sql.so in the programs that people have: the sqlite3 shell and Python's sqlite3.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/process.h"
#include "tests/support/trace_builder.h"

namespace plumb::test {
namespace {

using testing::HasSubstr;

const std::string kLibrary = PLUMB_BUILD_DIR "/lib/libplumb_sql.so";
const std::string kPlumb = PLUMB_BUILD_DIR "/bin/plumb";

Outcome runProgram(std::vector<std::string> arguments, std::map<std::string, std::string> environment = {}) {
  return run({.arguments = std::move(arguments), .environment = std::move(environment), .directory = {}});
}

size_t linesOf(const std::string& text) { return static_cast<size_t>(std::count(text.begin(), text.end(), '\n')); }

// CSV of two writers: they differ in what they quote, and in how many digits a real number has.
void expectSame(const std::string& ours, const std::string& theirs) {
  const auto cellsOf = [](const std::string& csv) {
    std::vector<std::string> cells(1);
    for (const char c : csv) {
      if (c == ',' || c == '\n') {
        cells.emplace_back();
      } else if (c != '"' && c != '\r') {
        cells.back() += c;
      }
    }
    return cells;
  };
  const std::vector<std::string> a = cellsOf(ours), b = cellsOf(theirs);
  ASSERT_EQ(a.size(), b.size()) << ours << theirs;
  for (size_t i = 0; i < a.size(); ++i) {
    char* end = nullptr;
    const double number = std::strtod(a[i].c_str(), &end);
    if (*end || a[i].empty()) {
      EXPECT_EQ(a[i], b[i]);
    } else {
      EXPECT_NEAR(number, std::strtod(b[i].c_str(), nullptr), std::abs(number) * 1e-12);
    }
  }
}

class Extension : public testing::Test {
 protected:
  void SetUp() override {
    if (runProgram({"sqlite3", "--version"}).exitCode != 0) GTEST_SKIP() << "there is no sqlite3 here";
    makeSampleTrace(file(), {.layers = 2, .steps = 3});
  }
  [[nodiscard]] std::string file() const { return m_folder.file("run.sqlite"); }
  std::map<std::string, std::string> environment() const {
    return {{"HOME", m_folder.path()}, {"XDG_CONFIG_HOME", ""}, {"PLUMB_REPORTS", m_reports}};
  }
  // Both print CSV with a head.
  Outcome shell(const std::string& sql, std::vector<std::string> options = {"-readonly"}, std::string database = "") {
    std::vector<std::string> arguments = {"sqlite3", "-batch", "-bail", "-csv", "-header"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    for (const std::string& argument : {database.empty() ? file() : database, ".load " + kLibrary, sql})
      arguments.push_back(argument);
    return runProgram(arguments, environment());
  }
  Outcome plumb(const std::string& sql) {
    return runProgram({kPlumb, "query", file(), sql, "--format", "csv"}, environment());
  }
  TemporaryFolder m_folder;
  std::string m_reports;
};

TEST_F(Extension, ExportsItsEntryPointsAloneAndBringsNoSqlite) {
  const Outcome symbols = runProgram({"nm", "-D", kLibrary});
  ASSERT_EQ(symbols.exitCode, 0) << symbols.errors;
  std::set<std::string> defined;
  std::istringstream lines(symbols.output);
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_match(line, match, std::regex("[0-9a-f]+ [A-TV-Z] (.*)"))) defined.insert(match[1]);
    EXPECT_THAT(line, testing::Not(HasSubstr("U sqlite3_")));
  }
  EXPECT_EQ(defined, (std::set<std::string>{"sqlite3_plumbsql_init", "sqlite3_extension_init"}));
}

TEST_F(Extension, OpensCompressedFilesByName) {
  const std::string packed = m_folder.file("run.sqlite.zst");
  ASSERT_EQ(runProgram({kPlumb, "pack", file(), "-o", packed}).exitCode, 0);
  const std::string sql = "SELECT name, calls, total_ns FROM report_kernels(0) ORDER BY name";
  const Outcome theirs = runProgram({"sqlite3", "-batch", "-bail", "-csv", "-header", ":memory:", ".load " + kLibrary,
                                     ".open file:" + packed + "?vfs=plumb_zstd", ".load " + kLibrary, sql},
                                    environment());
  EXPECT_EQ(theirs.exitCode, 0) << theirs.errors;
  expectSame(plumb(sql).output, theirs.output);
}

TEST_F(Extension, GivesWhatPlumbQueryGives) {
  for (const char* sql :
       {"SELECT * FROM report_kernels(0)", "SELECT * FROM report_steps", "SELECT rank, span_ns FROM analysis_breakdown",
        "SELECT plumb_peak('memory', '3.35TB/s') AS peak", "SELECT * FROM gpu_window(1, 1)",
        "SELECT name, filters FROM plumb_reports",
        "SELECT name, median(duration_ns) AS m, percentile(duration_ns, 90) AS p, stddev(duration_ns) AS s FROM "
        "kernels "
        "GROUP BY name",
        "SELECT process_id, interval_union_ns(start_ns, duration_ns) AS busy FROM kernel GROUP BY process_id",
        "SELECT count(*) AS n, sum(duration_ns) AS t FROM interval_subtract('SELECT start_ns, duration_ns, process_id "
        "AS key FROM kernel', 'SELECT start_ns, duration_ns, process_id AS key FROM range')",
        "SELECT count(*) AS n FROM span_join('SELECT start_ns, duration_ns, rank AS key, name FROM kernels', 'SELECT "
        "start_ns, duration_ns, rank AS key, name FROM ranges')"}) {
    const Outcome ours = plumb(sql), theirs = shell(sql);
    EXPECT_EQ(ours.exitCode, 0) << ours.errors;
    EXPECT_EQ(theirs.exitCode, 0) << sql << "\n" << theirs.errors;
    EXPECT_EQ(theirs.errors, "") << sql;
    EXPECT_GT(linesOf(ours.output), 1u) << sql;
    expectSame(ours.output, theirs.output);
  }
}

TEST_F(Extension, ATableOfTheUsersStaysTheirsAndIsNotTakenForOurs) {
  const std::string mine = "CREATE TEMP VIEW steps AS SELECT 7 AS step; ";
  const auto run = [&](const std::string& before, const std::string& sql) {
    return runProgram({"sqlite3", "-batch", "-bail", "-csv", file(), before, ".load " + kLibrary, sql}, environment());
  };
  EXPECT_EQ(run(mine, "SELECT * FROM steps").output, "7\n");
  EXPECT_THAT(run(mine, "SELECT count(*) FROM report_steps").errors,
              HasSubstr("The temporary view steps of this connection, which is not Plumbline's, hides the view of that "
                        "name"));
  EXPECT_EQ(run(mine, "SELECT count(*) > 0 FROM report_kernels").output, "1\n") << "which reads none of that name";
  EXPECT_EQ(run("CREATE TEMP TABLE notes(steps)", "SELECT count(*) > 0 FROM report_steps").output, "1\n");
}

TEST_F(Extension, HasTheUsersOwnReports) {
  m_reports = m_folder.path();
  std::ofstream(m_folder.file("mine.sql")) << "-- Mine\n-- How many?\n-- n: rows\n"
                                              "SELECT count(*) AS n FROM kernel WHERE :rank IS NULL OR :rank = 0";
  EXPECT_EQ(shell("SELECT n > 0 AS some FROM report_mine(0)").output, "some\n1\n");
  const Outcome report = runProgram({kPlumb, "report", "mine", file(), "--rank", "0"}, environment());
  EXPECT_EQ(report.exitCode, 0) << report.errors;
}

TEST_F(Extension, SaysInAStatementWhatIsWrongWithTheFile) {
  const std::string other = m_folder.file("other.sqlite");
  runProgram({"sqlite3", other, "CREATE TABLE t(x); INSERT INTO t VALUES (1), (2), (4)"});
  const Outcome functions = shell("SELECT median(x) AS m FROM t", {}, other);
  EXPECT_EQ(functions.output, "m\n2.0\n") << functions.errors;
  EXPECT_THAT(shell("SELECT * FROM report_kernels", {}, other).errors, HasSubstr("is not a Plumbline file"));
  EXPECT_THAT(shell("SELECT * FROM report_kernels", {}, ":memory:").errors, HasSubstr("no file open as main"));
  EXPECT_EQ(shell("SELECT sum(duration_ns) AS t FROM interval_union('SELECT 1 AS start_ns, 2 AS duration_ns')", {},
                  ":memory:")
                .output,
            "t\n2\n");
}

// What a stranger's file brings along is not run with our tables, and cannot take the place of the schema's views.
TEST_F(Extension, AStrangersViewsCannotUseTheTables) {
  const std::string hostile = m_folder.file("hostile.sqlite");
  std::filesystem::copy_file(file(), hostile);
  runProgram({"sqlite3", hostile,
              "CREATE VIEW trap AS SELECT * FROM interval_union('SELECT 1 AS start_ns, 1 AS duration_ns');"
              "CREATE VIEW trap2 AS SELECT * FROM report_kernels;"
              "DROP VIEW kernels; CREATE VIEW kernels AS SELECT 'forged' AS name;"});
  EXPECT_THAT(shell("SELECT * FROM trap", {}, hostile).errors, HasSubstr("unsafe use"));
  EXPECT_THAT(shell("SELECT * FROM trap2", {}, hostile).errors, HasSubstr("unsafe use"));
  EXPECT_EQ(shell("SELECT count(*) AS n FROM kernels WHERE name = 'forged'", {}, hostile).output, "n\n0\n");
}

TEST_F(Extension, FollowsAFileThatChanges) {
  const Outcome changed = shell(
      "CREATE TEMP TABLE before AS SELECT sum(calls) AS n FROM report_kernels;"
      "DELETE FROM kernel WHERE id IN (SELECT id FROM kernel LIMIT 1);"
      "SELECT (SELECT n FROM before) - (SELECT sum(calls) FROM report_kernels) AS gone",
      {});
  EXPECT_EQ(changed.output, "gone\n1\n") << changed.errors;
}

TEST_F(Extension, FollowsATransactionThatIsRolledBack) {
  const Outcome calls = shell(
      "CREATE TEMP TABLE seen AS SELECT sum(calls) AS n FROM report_kernels;"
      "BEGIN;"
      "DELETE FROM kernel WHERE id IN (SELECT id FROM kernel LIMIT 1);"
      "SELECT (SELECT n FROM seen) - sum(calls) AS gone FROM report_kernels;"
      "ROLLBACK;"
      "SELECT (SELECT n FROM seen) - sum(calls) AS gone FROM report_kernels",
      {});
  EXPECT_EQ(calls.output, "gone\n1\ngone\n0\n") << calls.errors;
}

TEST_F(Extension, MayBeLoadedBeforeEachQuery) {
  std::vector<std::string> arguments = {"sqlite3", "-batch", "-bail", "-readonly", file()};
  for (int i = 0; i < 3; ++i) {
    arguments.push_back(".load " + kLibrary);
    arguments.push_back("SELECT count(*) FROM report_steps");
  }
  const Outcome outcome = runProgram(arguments, environment());
  EXPECT_EQ(outcome.exitCode, 0) << outcome.errors;
  EXPECT_EQ(outcome.output, "12\n12\n12\n");
}

TEST_F(Extension, LoadsTwiceAndInTwoConnectionsOfPython) {
  const std::string script =
      "import sqlite3, sys\n"
      "def connect():\n"
      "    c = sqlite3.connect('file:" +
      file() +
      "?mode=ro', uri=True)\n"
      "    c.enable_load_extension(True)\n"
      "    c.load_extension('" +
      kLibrary +
      "')\n"
      "    c.load_extension('" +
      kLibrary +
      "')\n"
      "    return c\n"
      "a, b = connect(), connect()\n"
      "q = 'SELECT rank, name, calls FROM report_kernels(1)'\n"
      "x, y = a.execute(q).fetchall(), b.execute(q).fetchall()\n"
      "assert x == y and x\n"
      "a.close()\n"
      "assert b.execute(q).fetchall() == y\n"
      "del b\n"
      "print('done')\n";
  // The distribution's loads extensions where one that was built by hand often does not.
  const std::string python = std::filesystem::exists("/usr/bin/python3") ? "/usr/bin/python3" : "python3";
  const Outcome outcome = runProgram({python, "-c", script}, environment());
  if (outcome.errors.find("enable_load_extension") != std::string::npos)
    GTEST_SKIP() << "this Python loads no extensions";
  EXPECT_EQ(outcome.output, "done\n") << outcome.errors;
}

TEST_F(Extension, ADamagedFileIsAnErrorNotACrash) {
  std::fstream bytes(file(), std::ios::in | std::ios::out | std::ios::binary);
  bytes.seekp(0, std::ios::end);
  const auto size = static_cast<size_t>(bytes.tellp());
  for (size_t at = 4096; at + 64 < size; at += 1777) {
    bytes.seekp(static_cast<std::streamoff>(at));
    bytes.write("\xff\x00\xfe\x01\x80\x7f", 6);
  }
  bytes.close();
  const Outcome outcome = shell("SELECT count(*) FROM report_kernels; SELECT count(*) FROM analysis_breakdown");
  EXPECT_EQ(outcome.signal, 0);
  EXPECT_FALSE(outcome.timedOut);
}

}  // namespace
}  // namespace plumb::test
