// SPDX-License-Identifier: Apache-2.0
// What `plumb` does with questions about what is not there, inputs that never end, outputs that are no files, and when
// it is stopped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/integration/cli/cli.h"

namespace plumb::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

using Hostile = Cli;

TEST_F(Hostile, EveryReportNamesTheRankStepOrRangeThatIsNotThere) {
  const auto reports = json(plumb({"query", sample(), "SELECT name, filters FROM plumb_reports", "--format", "json"}));
  const std::string missing = sample() + "; it has the ranks 0, 1.";
  for (const auto& report : reports) {
    const auto name = report["name"].get<std::string>(), filters = report["filters"].get<std::string>();
    const auto takes = [&](const char* option) { return filters.find(option) != std::string::npos; };
    if (takes("--rank")) {
      expectRefused(plumb({"report", name, sample(), "--rank", "7"}), "There is no rank 7 in " + missing);
      expectRefused(plumb({"query", sample(), "SELECT * FROM report_" + name + "(7)"}), "There is no rank 7 in ", 1);
    }
    if (takes("--step")) {
      expectRefused(plumb({"report", name, sample(), "--step", "99"}), "has no step 99; it has the steps 0 to 4");
    }
    if (takes("--range")) {
      expectRefused(plumb({"report", name, sample(), "--range", "no such"}), "has no range called 'no such'");
    }
  }
  expectRefused(plumb({"advise", sample(), "--rank", "7"}), "There is no rank 7");
  expectRefused(plumb({"advise", sample(), "--step", "-1"}), "has no step -1");
  expectRefused(plumb({"report", "kernels", sample(), "--rank", "1", "--step", "99"}), "Rank 1 of ");
}

TEST_F(Hostile, ScriptsThatAreNoFilesOfTextAreRefused) {
  expectRefused(plumb({"query", sample(), "-f", "/dev/zero"}), "is no file of text");
  expectRefused(plumb({"query", sample(), "-f", m_folder.string()}), "no file of text");
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  expectRefused(plumb({"query", sample(), "-f", path("pipe")}), "has no statement");
  std::ofstream(path("huge.sql")) << std::string((16u << 20) + 1, ' ');
  expectRefused(plumb({"query", sample(), "-f", path("huge.sql")}), "larger than 16 MiB");
  const Outcome piped =
      run({.arguments = {"sh", "-c", "(sleep 0.1; echo 'SELECT 42') | \"$0\" query \"$1\" -f -", kPlumb, sample()},
           .environment = {},
           .directory = {}});
  EXPECT_THAT(piped.output, HasSubstr("42"));
}

TEST_F(Hostile, AReportOfTheUsersThatIsAPipeDoesNotHang) {
  fs::create_directories(path("reports"));
  ASSERT_EQ(mkfifo(path("reports/mine.sql").c_str(), 0600), 0);
  expectRefused(plumb({"report", "mine", sample()}, {{"PLUMB_REPORTS", path("reports")}}), "is not a regular file");
}

TEST_F(Hostile, StandardOutputIsForFormatsThatAreStreams) {
  EXPECT_EQ(
      nlohmann::json::parse(plumb({"export", sample(), "--format", "chrome", "-o", "-"}).output).count("traceEvents"),
      1u);
  EXPECT_THAT(plumb({"export", sample(), "--format", "html", "-o", "-"}).output, testing::StartsWith("<!"));
  EXPECT_THAT(plumb({"export", sample(), "--format", "folded", "-o", "-"}).output, HasSubstr(";"));
  for (const char* format : {"csv", "parquet", "nsys"}) {
    expectRefused(plumb({"export", sample(), "--format", format, "-o", "-"}), "which standard output is not");
  }
  EXPECT_FALSE(fs::exists(path("-")));
}

TEST_F(Hostile, AFolderOfFilesIsWholeOrNotThere) {
  std::ofstream(path("taken")) << "mine";
  expectRefused(plumb({"export", sample(), "--format", "csv", "-o", path("taken")}), "it is not a folder");
  EXPECT_EQ(plumb({"export", sample(), "--format", "csv", "-o", path("new/deep/csv/")}).exitCode, 0);
  EXPECT_TRUE(fs::exists(path("new/deep/csv/kernels.csv")));
  // Into a folder with other files in it; again only with --force, and what is not ours stays.
  fs::create_directories(path("old"));
  std::ofstream(path("old/notes.txt")) << "mine";
  EXPECT_EQ(plumb({"export", sample(), "--format", "csv", "-o", path("old")}).exitCode, 0);
  expectRefused(plumb({"export", sample(), "--format", "csv", "-o", path("old")}), "exists already");
  EXPECT_EQ(plumb({"export", sample(), "--format", "csv", "-o", path("old"), "--force"}).exitCode, 0);
  EXPECT_TRUE(fs::exists(path("old/notes.txt")));
  for (const auto& entry : fs::directory_iterator(path("old"))) {
    EXPECT_FALSE(entry.path().filename().string().starts_with(".plumb")) << entry.path();
  }
}

TEST_F(Hostile, AnExportNeverReplacesTheTraceItself) {
  const std::string trace = path("run.json");
  fs::copy_file(sample(), trace);
  fs::create_symlink(trace, path("link.json"));
  const auto size = fs::file_size(trace);
  for (const char* format : {"chrome", "folded", "html", "nsys"}) {
    for (const std::string& named : {trace, path("./run.json"), path("link.json")}) {
      expectRefused(plumb({"export", trace, "--format", format, "-o", named, "--force"}), "is the trace itself");
    }
  }
  EXPECT_EQ(fs::file_size(trace), size);
}

TEST_F(Hostile, AZeroByteInSqlEndsInASentence) {
  std::ofstream(path("zero.sql")) << "SELECT 1;" << '\0' << "SELECT 2;";
  const Outcome outcome = plumb({"query", sample(), "-f", path("zero.sql")});
  EXPECT_THAT(outcome.errors, HasSubstr("holds a zero byte"));
  EXPECT_NE(outcome.exitCode, 0);
  expectRefused(
      plumb({"query", sample(), "SELECT count(*) FROM interval_union('SELECT 1 AS start_ns, 2 AS end_ns' || char(0))"}),
      "A query of interval_union failed", 1);
}

TEST_F(Hostile, WhatStandardOutputDidNotTakeIsAnError) {
  for (const std::string arguments : {"report kernels,steps", "report kernels", "summary", "advise"}) {
    const Outcome outcome =
        run({.arguments = {"bash", "-c", "\"$0\" " + arguments + " \"$1\" >/dev/full", kPlumb, sample()},
             .environment = {},
             .directory = {}});
    EXPECT_EQ(outcome.exitCode, 1) << arguments;
    EXPECT_EQ(linesOf(outcome.errors).size(), 1u) << outcome.errors;
  }
}

TEST_F(Hostile, AnErrorThatNobodyHearsHasItsExitCode) {
  for (const std::string closed : {"2>/dev/full", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"}) {
    const auto codeOf = [&](const std::string& arguments) {
      return run({.arguments = {"bash", "-c", "\"$0\" " + arguments + " " + closed, kPlumb, sample(),
                                path("packed.zst")},
                  .environment = {},
                  .directory = {}})
          .exitCode;
    };
    EXPECT_EQ(codeOf("report nosuch \"$1\""), 2) << closed;
    EXPECT_EQ(codeOf("pack \"$1\" -o \"$2\" --force"), closed.starts_with("2") ? 0 : 1) << closed;
    EXPECT_EQ(plumb({"report", "kernels", path("packed.zst")}).exitCode, 0) << closed;
  }
}

TEST_F(Hostile, ShortMemoryIsSaidWhereverItEnds) {
  for (const std::string arguments : {"report critical_path,ops,streams \"$1\"", "report kernels \"$1\"",
                                      "export \"$1\" --format html -o out.html", "import \"$1\" -o again.sqlite"}) {
    for (const int kilobytes : {30'000, 40'000, 60'000, 90'000}) {
      const Outcome outcome =
          run({.arguments = {"bash", "-c", "ulimit -v " + std::to_string(kilobytes) + "; exec \"$0\" " + arguments,
                             kPlumb, sample()},
               .environment = {},
               .directory = m_folder.string()});
      if (outcome.exitCode == 127 || outcome.exitCode == 126) continue;  // too little to start a program
      EXPECT_LE(outcome.exitCode, 3) << arguments << " with " << kilobytes << " KB: " << outcome.errors;
      EXPECT_EQ(outcome.errors.find("std::"), std::string::npos) << outcome.errors;
    }
  }
}

// A disk that is full, played by a limit on the size of files.
TEST_F(Hostile, WhatAFullDiskCutShortIsRemoved) {
  for (const std::string format : {"csv", "chrome", "nsys", "folded", "html"}) {
    const Outcome outcome =
        run({.arguments = {"bash", "-c", "trap '' XFSZ; ulimit -f 2; exec \"$0\" export \"$1\" --format $2 -o out",
                           kPlumb, sample(), format},
             .environment = {},
             .directory = m_folder.string()});
    EXPECT_EQ(outcome.exitCode, 1) << format;
    EXPECT_EQ(linesOf(outcome.errors).size(), 1u) << outcome.errors;
    for (const auto& entry : fs::directory_iterator(m_folder)) {
      EXPECT_FALSE(entry.path().filename().string().starts_with("out")) << entry.path();
    }
  }
}

// Values that no recording has; sanitizers see what is computed with them.
TEST_F(Hostile, NumbersAtTheEndsOfTheirRangeEndInASentenceOrAnAnswer) {
  for (const char* damage :
       {"UPDATE process SET rank = -9223372036854775807 - 1", "UPDATE device SET ordinal = 9223372036854775807",
        "UPDATE kernel SET correlation = 9223372036854775807, device_id = 987654321, stream_id = 987654321",
        "UPDATE range SET duration_ns = 9223372036854775807", "UPDATE kernel SET start_ns = -9223372036854775807 - 1",
        "UPDATE meta SET value = '9223372036854775807' WHERE key = 'session_start_realtime_ns'",
        "UPDATE allocation SET bytes = 9223372036854775807", "UPDATE collective SET bytes = 9223372036854775807",
        "UPDATE api_call SET thread_id = 987654321, correlation = 9223372036854775807"}) {
    makeSampleTrace(path("damaged.sqlite"), {.layers = 1, .steps = 2});
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(path("damaged.sqlite").c_str(), &database), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(database, damage, nullptr, nullptr, nullptr), SQLITE_OK) << damage;
    sqlite3_close(database);
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{"summary", path("damaged.sqlite")},
          {"advise", path("damaged.sqlite")},
          {"export", path("damaged.sqlite"), "--format", "chrome", "-o", "-"},
          {"export", path("damaged.sqlite"), "--format", "html", "-o", "-"}}) {
      const Outcome outcome = plumb(arguments);
      EXPECT_EQ(outcome.signal, 0) << damage << arguments[0] << outcome.errors;
      EXPECT_FALSE(outcome.timedOut) << damage;
      EXPECT_THAT(outcome.exitCode, testing::AnyOf(0, 1, 2)) << damage;
      const size_t most = outcome.exitCode == 0 && arguments[0] == "export" ? 2 : 1;  // what is left out is said, too
      EXPECT_LE(linesOf(outcome.errors).size(), most) << outcome.errors;
    }
  }
}

// ---- stopped --------------------------------------------------------------------------------------------------------

class Stopped : public Cli {
 protected:
  // Files of a name that begins with `start`.
  [[nodiscard]] std::vector<std::string> files(const std::string& start) const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(m_folder)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with(start)) found.push_back(name);
    }
    return found;
  }
  // An import that waits for the rest of its input, ended by a signal.
  void stopImport(int signal) {
    ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
    Process import(
        {.arguments = {kPlumb, "import", path("pipe"), "-o", path("out.sqlite")}, .environment = {}, .directory = {}});
    {
      std::ofstream pipe(path("pipe"));
      pipe << "{\"traceEvents\": [" << std::flush;
      for (int i = 0; i < 600 && files("out.sqlite.importing-").empty(); ++i) usleep(50'000);
      EXPECT_EQ(files("out.sqlite").size(), 1u);
      kill(import.pid(), signal);
      EXPECT_EQ(import.wait().signal, signal);
    }
    fs::remove(path("pipe"));
  }
};

TEST_F(Stopped, AnInterruptedImportLeavesNothing) {
  stopImport(SIGTERM);
  EXPECT_THAT(files("out.sqlite"), IsEmpty());
}

TEST_F(Stopped, TheNextImportRemovesWhatAKilledOneLeft) {
  stopImport(SIGKILL);
  EXPECT_EQ(files("out.sqlite").size(), 1u);
  std::ofstream(path("out.sqlite.importing-notes")) << "mine";
  std::ofstream(path("t.json")) << R"([{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1}])";
  EXPECT_EQ(plumb({"import", path("t.json"), "-o", path("out.sqlite")}).exitCode, 0);
  EXPECT_THAT(files("out.sqlite"), testing::UnorderedElementsAre("out.sqlite", "out.sqlite.importing-notes"));
}

TEST_F(Stopped, ImportingWhatIsNoTraceNextToOneThatIs) {
  std::ofstream(path("t.json")) << R"([{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1}])";
  std::ofstream(path("expected.txt")) << "rank 3 is missing";
  const Outcome outcome = plumb({"import", path("expected.txt"), path("t.json"), "-o", path("out.sqlite")});
  EXPECT_EQ(outcome.exitCode, 3);
  EXPECT_THAT(outcome.errors, HasSubstr("expected.txt is no trace that can be imported: it is left out."));
  EXPECT_THAT(outcome.output, HasSubstr("1 event of 1 file,"));
  EXPECT_EQ(plumb({"import", path("t.json"), "-o", path("one.sqlite"), "--rank", "-7"}).exitCode, 2);
}

// SQLite's sorting needs room; that it has none is no fault of the trace.
TEST_F(Hostile, AFullFolderForTemporaryFilesIsNamed) {
  {
    TraceBuilder trace(path("large.sqlite"));
    const int64_t process = trace.addRank(0), device = trace.addDevice(process);
    const int64_t stream = trace.addStream(process, device, 7);
    for (int64_t i = 0; i < 60'000; ++i) trace.addKernel({process, device, stream, i * 100, 50}, "kernel");
  }
  const auto limited = [&](const std::string& arguments) {
    return run({.arguments = {"bash", "-c", "ulimit -f 500; exec " + kPlumb + " " + arguments + " >/dev/null"},
                .environment = {{"SQLITE_TMPDIR", m_folder.string()}},
                .directory = m_folder.string()});
  };
  const std::string sentence = "The folder for temporary files, " + m_folder.string() + ", takes no more (";
  expectRefused(limited("export large.sqlite --format chrome -o -"), sentence, 1);
  expectRefused(limited("query large.sqlite 'SELECT * FROM kernel ORDER BY random()'"), sentence, 1);
}

TEST_F(Hostile, ATimeoutIsANumberOfSeconds) {
  for (const std::string timeout : {"nan", "inf", "0", "-1", "1e300", "soon"}) {
    const std::string sentence = "'" + timeout + "' is no number of seconds from 0.001 to 1000000";
    expectRefused(plumb({"advise", sample(), "--timeout", timeout}), sentence);
    expectRefused(plumb({"check", sample(), "--rules", "none.sql", "--timeout", timeout}), sentence);
  }
  EXPECT_EQ(plumb({"advise", sample(), "--timeout", "2.5"}).exitCode, 0);
}

TEST_F(Hostile, ARuleThatGivesOnlyAGainIsShownWithoutEmptyBrackets) {
  std::filesystem::create_directories(path("rules"));
  std::ofstream(path("rules/own.sql"))
      << "-- Own\n-- own\n-- remedy: none\nSELECT 'it is so' AS finding, 5000000000 AS gain_ns";
  std::ofstream(path("rules/bad.sql")) << "-- Bad\n-- bad\nSELECT 1";
  const Outcome advice = plumb({"advise", sample()}, {{"PLUMB_RULES", path("rules")}});
  EXPECT_EQ(advice.exitCode, 0);
  EXPECT_THAT(advice.output, HasSubstr("it is so\n   gain: up to 5.000 s"));
  EXPECT_THAT(advice.output, testing::Not(HasSubstr("()")));
  EXPECT_THAT(advice.output, HasSubstr("and '-- remedy: …': bad"));
}

TEST_F(Hostile, OnlyWhatIsNotStoredIsCalledLost) {
  const std::string entry = R"({"record_id": 1, "pg_id": 0, "process_group": ["0", "all"], "collective_seq_id": 1,
      "profiling_name": "nccl:all_reduce", "state": "scheduled", "time_created_ns": -1})";
  std::ofstream(path("dump.json")) << R"({"version": "2.4", "entries": [)" << entry << ", 17, " << entry << "]}";
  const Outcome imported = plumb({"import", path("dump.json"), "-o", path("dump.sqlite")});
  EXPECT_THAT(imported.output, HasSubstr("3 events of 1 file, 2 stored\nLost: 1 damaged event."));
}

}  // namespace
}  // namespace plumb::test
