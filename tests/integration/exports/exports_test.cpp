// SPDX-License-Identifier: Apache-2.0
// export, merge, advise, diff and check as a user or a script meets them, and other programs that read what we write:
// HolisticTraceAnalysis, DuckDB, Dask, pandas and pyarrow, of the Python in PLUMB_TEST_PYTHON (else python3).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "tests/support/process.h"
#include "tests/support/trace_builder.h"

namespace plumb::test {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kPlumb = PLUMB_BUILD_DIR "/bin/plumb";

class Exports : public testing::Test {
 protected:
  Exports() { makeSampleTrace(m_trace, {.ranks = 2, .layers = 2, .steps = 6}); }
  Outcome plumb(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), kPlumb);
    return run({.arguments = arguments,
                .environment =
                    {{"HOME", m_folder.path()}, {"XDG_CONFIG_HOME", ""}, {"PLUMB_REPORTS", ""}, {"PLUMB_RULES", ""}},
                .directory = m_folder.path()});
  }
  [[nodiscard]] std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(m_folder.file(name)) << text;
    return m_folder.file(name);
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(m_folder.file(name)).rdbuf();
    return text.str();
  }
  // A Python program of this folder: 77 says that what it needs is not installed.
  void expectPython(const std::string& script) const {
    const char* named = std::getenv("PLUMB_TEST_PYTHON");
    const Outcome outcome =
        run({.arguments = {named ? named : "python3", PLUMB_SOURCE_DIR "/tests/integration/exports/" + script, kPlumb,
                           m_trace, m_folder.path()},
             .timeout = std::chrono::seconds(110)});
    if (outcome.exitCode == 77) GTEST_SKIP() << outcome.output;
    EXPECT_EQ(outcome.exitCode, 0) << outcome.output << outcome.errors;
  }

  TemporaryFolder m_folder;
  std::string m_trace = m_folder.file("run.sqlite");
};

TEST_F(Exports, CsvHasAFileForEachView) {
  const Outcome outcome = plumb({"export", m_trace, "--format", "csv", "-o", "tables"});
  ASSERT_EQ(outcome.exitCode, 0) << outcome.errors;
  const Outcome counted = plumb({"query", m_trace, "SELECT count(*) FROM kernels", "--format", "csv"});
  const std::string csv = read("tables/kernels.csv");
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n') - 1,
            std::stoll(counted.output.substr(counted.output.find('\n') + 1)));
  EXPECT_EQ(csv.rfind("id,rank,", 0), 0u) << csv.substr(0, 100);
  EXPECT_EQ(plumb({"export", m_trace, "--format", "csv", "-o", "tables"}).exitCode, 2) << "they are there already";
}

// Exit code 1 is what failed, whatever failed, and 2 what was asked for wrongly; a full disk is no crash.
TEST_F(Exports, AFullDiskIsAFailureOfEveryCommand) {
  const Outcome chrome = plumb({"export", m_trace, "--format", "chrome", "-o", "trace.json"});
  ASSERT_EQ(chrome.exitCode, 0) << chrome.errors;
  const auto limited = [&](const std::string& command) {
    return run(
        {.arguments = {"sh", "-c", "ulimit -f 8; exec " + kPlumb + " " + command}, .directory = m_folder.path()});
  };
  makeSampleTrace(m_trace + "x", {.ranks = 1, .layers = 1, .steps = 2});
  for (const std::string& command :
       {std::string("import trace.json -o a.sqlite"), std::string("import trace.json -o a.sqlite.zst"),
        "merge " + m_trace + " " + m_trace + "x -o b.sqlite", "pack " + m_trace + " -o c.sqlite.zst",
        "export " + m_trace + " --format chrome -o d.json", "export " + m_trace + " --format chrome -o d",
        "export " + m_trace + " --format csv -o e", "export " + m_trace + " --format nsys -o f.sqlite",
        "export " + m_trace + " --format html -o g.html"}) {
    const Outcome outcome = limited(command);
    EXPECT_EQ(outcome.exitCode, 1) << command << "\n" << outcome.errors;
    EXPECT_THAT(outcome.errors, testing::AnyOf(HasSubstr("Cannot "), HasSubstr("could not be written"))) << command;
  }
  for (const auto& entry : std::filesystem::directory_iterator(m_folder.path())) {
    const std::string name = entry.path().filename().string();
    EXPECT_EQ(name.find("ing-"), std::string::npos) << name << " is left over";
  }
}

TEST_F(Exports, HtmlIsOnePage) {
  const Outcome outcome = plumb({"export", m_trace, "--format", "html", "-o", "report.html"});
  ASSERT_EQ(outcome.exitCode, 0) << outcome.errors;
  EXPECT_THAT(read("report.html"), HasSubstr("Where the time went"));
}

TEST_F(Exports, FoldedStacks) {
  ASSERT_EQ(plumb({"export", m_trace, "--format", "folded", "-o", "gpu.folded"}).exitCode, 0);
  EXPECT_THAT(read("gpu.folded"), HasSubstr("rank 0;step;forward;"));
}

TEST_F(Exports, UnknownFormatIsWrongUsage) {
  EXPECT_EQ(plumb({"export", m_trace, "--format", "papyrus", "-o", "x"}).exitCode, 2);
}

TEST_F(Exports, HtaHasTheSameNumbers) { expectPython("hta_numbers.py"); }

// A process of each rank, or without one, that ran a kernel inside a range.
void makeTraceOf(const std::string& path, const std::vector<std::optional<int64_t>>& ranks) {
  TraceBuilder trace(path);
  for (const std::optional<int64_t>& rank : ranks) {
    const int64_t process = trace.addProcess({.rank = rank}), thread = trace.addThread(process);
    const int64_t device = trace.addDevice(process), stream = trace.addStream(process, device, 7);
    trace.addRange(process, thread, 1'000, 90'000, "step");
    trace.addApiCall(process, thread, 2'000, 1'000, "cudaLaunchKernel", 5);
    trace.addKernel({process, device, stream, 10'000, 20'000, 5}, "gemm");
  }
}

TEST_F(Exports, ParquetReadersHaveTheSameSums) { expectPython("parquet_sums.py"); }

TEST_F(Exports, ParquetReadersReadRunsWithoutRanks) {
  makeTraceOf(m_trace, {std::nullopt});
  expectPython("parquet_sums.py");
}

TEST_F(Exports, ParquetReadersReadRunsInWhichSomeProcessesHaveRanks) {
  makeTraceOf(m_trace, {0, std::nullopt, 1});
  expectPython("parquet_sums.py");
}

TEST_F(Exports, AdviceAsJson) {
  const Outcome outcome = plumb({"advise", m_trace, "--format", "json"});
  ASSERT_EQ(outcome.exitCode, 0) << outcome.errors;
  const auto advice = nlohmann::json::parse(outcome.output);
  EXPECT_TRUE(advice.contains("findings"));
  EXPECT_TRUE(advice.contains("cannot_say"));
  for (const auto& finding : advice["findings"]) EXPECT_FALSE(finding["remedy"].get<std::string>().empty());
}

TEST_F(Exports, AdviceTakesFiltersAndUsersRules) {
  std::filesystem::create_directories(m_folder.file(".config/plumb/rules"));
  write(".config/plumb/rules/mine.sql",
        "-- Mine\n-- What I look for\n-- remedy: Do it.\nSELECT 'rank ' || :rank || ' step ' || :step AS finding;");
  const Outcome outcome = plumb({"advise", m_trace, "--rank", "1", "--step", "2"});
  ASSERT_EQ(outcome.exitCode, 0) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("rank 1 step 2"));
  EXPECT_THAT(outcome.output, Not(HasSubstr("(rank 0)")));
}

TEST_F(Exports, DiffOfARunWithItselfShowsNothing) {
  const Outcome outcome = plumb({"diff", m_trace, m_trace, "--format", "json", "--all"});
  ASSERT_EQ(outcome.exitCode, 0) << outcome.errors;
  const auto diff = nlohmann::json::parse(outcome.output);
  EXPECT_FALSE(diff["rows"].empty());
  for (const auto& row : diff["rows"]) {
    EXPECT_EQ(row["change"], 0) << row;
    EXPECT_NE(row["verdict"], "slower") << row;
  }
  const Outcome shown = plumb({"diff", m_trace, m_trace}), all = plumb({"diff", m_trace, m_trace, "--all"});
  EXPECT_THAT(shown.output, testing::StartsWith("No difference in the time per step is shown, "));
  EXPECT_THAT(shown.output, HasSubstr("rows without a difference left out: --all shows them"));
  EXPECT_THAT(shown.output, Not(HasSubstr("AllReduce")));
  EXPECT_THAT(all.output, HasSubstr("exposed communication"));
}

// Like a report's, but that text is the default.
TEST_F(Exports, AdviceAndDiffComeInEveryFormat) {
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"advise", m_trace}, std::vector<std::string>{"diff", m_trace, m_trace}}) {
    const auto inFormat = [&](const char* format) {
      std::vector<std::string> arguments = command;
      arguments.insert(arguments.end(), {"--format", format});
      const Outcome outcome = plumb(arguments);
      EXPECT_EQ(outcome.exitCode, 0) << format << ": " << outcome.errors;
      return outcome.output;
    };
    EXPECT_THAT(inFormat("csv"), testing::StartsWith(command[0] == "advise" ? "kind,title," : "what,name,unit,a,b,"));
    EXPECT_THAT(inFormat("markdown"), HasSubstr("|---|"));
    EXPECT_FALSE(nlohmann::json::parse(inFormat("json")).empty());
    EXPECT_FALSE(inFormat("table").empty());
    EXPECT_EQ(inFormat("text"), plumb(command).output);
  }
  EXPECT_THAT(plumb({"advise", m_trace, "--format", "xml"}).errors, HasSubstr("there is no format 'xml'"));
}

TEST_F(Exports, CheckTellsCiByItsExitCode) {
  const std::string good = write("good.sql", "-- check: kernels\nSELECT * FROM kernels WHERE duration_ns < 0;");
  const std::string bad =
      write("bad.yaml", "rules:\n  - {name: one kernel, value: SELECT count(*) FROM kernels, max: 1}\n");
  const std::string broken = write("broken.sql", "SELECT nonsense FROM nowhere;");
  EXPECT_EQ(plumb({"check", m_trace, "--rules", good}).exitCode, 0);
  const Outcome failed = plumb({"check", m_trace, "--rules", bad});
  EXPECT_EQ(failed.exitCode, 1);
  EXPECT_THAT(failed.output, HasSubstr("FAIL  one kernel"));
  EXPECT_EQ(plumb({"check", m_trace, "--rules", broken}).exitCode, 2);
  EXPECT_EQ(plumb({"check", m_folder.file("none.sqlite"), "--rules", good}).exitCode, 2);
  const std::string slower = write("slower.yml", "rules:\n  - {name: no slower, max_slowdown_pct: 3}\n");
  EXPECT_EQ(plumb({"check", m_trace, "--rules", slower, "--baseline", m_trace}).exitCode, 0);
  EXPECT_EQ(plumb({"check", m_trace, "--rules", slower}).exitCode, 2) << "no baseline";
}

TEST_F(Exports, MergeOfOneFileIsRefused) {
  const Outcome outcome = plumb({"merge", m_trace, "-o", "merged.sqlite"});
  EXPECT_EQ(outcome.exitCode, 2);
  EXPECT_THAT(outcome.errors, HasSubstr("two or more"));
}

}  // namespace
}  // namespace plumb::test
