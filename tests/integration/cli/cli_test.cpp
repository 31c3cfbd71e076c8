// SPDX-License-Identifier: Apache-2.0
// The program `plumb` as a user or a script meets it: real processes, their output, errors and exit codes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/integration/cli/cli.h"

namespace plumb::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

size_t columnsOf(const std::string& line) {
  size_t columns = 0;
  for (const char c : line) columns += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return columns;
}

TEST_F(Cli, SummarySaysWhereTimeAndMemoryWent) {
  const Outcome outcome = plumb({"summary", sample()});
  EXPECT_EQ(outcome.exitCode, 0) << outcome.errors;
  EXPECT_THAT(
      outcome.output,
      AllOf(HasSubstr("Software device: kernels ran on the CPU"), HasSubstr("GPU time per rank"),
            HasSubstr("span = compute + exposed communication + exposed memory + idle"), HasSubstr("Time per step"),
            HasSubstr("Top kernels"), HasSubstr("Collectives"), HasSubstr("ReduceScatter")));
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("Peak device memory by category"), HasSubstr("optimizer state"), HasSubstr("155.00 MiB"),
                    HasSubstr("info [recorder]: Recorded on the software device")));
  EXPECT_THAT(outcome.output, Not(HasSubstr("\x1b")));  // colours are for terminals
  EXPECT_THAT(outcome.output, Not(HasSubstr("by the kernels' names")));
  for (const std::string& line : linesOf(outcome.output)) EXPECT_LE(columnsOf(line), 100u) << line;
}

TEST_F(Cli, SeveralReportsSayWhatEachSaysAlone) {
  const std::vector<std::string> names = {"breakdown", "overlap", "idle", "kernels", "launch"};
  std::string expected;
  for (const std::string& name : names) {
    expected += (expected.empty() ? "# " : "\r\n# ") + name + "\r\n";
    expected += plumb({"report", name, sample(), "--format", "csv"}).output;
  }
  const Outcome together = plumb({"report", "breakdown,overlap,idle,kernels,launch", sample(), "--format", "csv"});
  EXPECT_EQ(together.exitCode, 0) << together.errors;
  EXPECT_EQ(together.output, expected);
}

TEST_F(Cli, SeveralReportsOfAFileThatIsNotThereSaySoOnce) {
  const Outcome outcome = plumb({"report", "breakdown,idle", path("absent.sqlite")});
  EXPECT_EQ(outcome.exitCode, 2);
  EXPECT_EQ(outcome.output, "");
  EXPECT_EQ(outcome.errors, "plumb: There is no file " + path("absent.sqlite") + ".\n");
}

TEST_F(Cli, SummarySharesAddUpTo100ButForTheirRounding) {
  const Outcome outcome = plumb({"summary", sample()});
  int rows = 0;
  for (const std::string& line : linesOf(outcome.output)) {
    std::istringstream words(line);
    std::vector<std::string> all;
    for (std::string word; words >> word;) all.push_back(word);
    // rank, span unit, then four times: duration unit share %
    if (all.size() < 19 || (all[0] != "0" && all[0] != "1")) continue;
    double sum = 0;
    for (size_t i = 5; i < 19; i += 4) sum += std::stod(all[i]);
    EXPECT_NEAR(sum, 100, 4 * 0.05 + 1e-6) << line;
    ++rows;
  }
  EXPECT_EQ(rows, 4);
}

TEST_F(Cli, ReportInThreeFormatsHasTheSameNumbers) {
  const auto rows = json(plumb({"report", "kernels", sample(), "--format", "json"}));
  const Outcome csv = plumb({"report", "kernels", sample(), "--format", "csv"});
  const Outcome table = plumb({"report", "kernels", sample()});
  const auto csvLines = linesOf(csv.output);
  ASSERT_EQ(csvLines.size(), rows.size() + 1);
  std::string header;
  const auto objects = nlohmann::ordered_json::parse(plumb({"report", "kernels", sample(), "--format", "json"}).output);
  for (const auto& [name, value] : objects[0].items()) header += (header.empty() ? "" : ",") + name;
  EXPECT_EQ(csvLines[0], header + "\r");
  ASSERT_EQ(linesOf(table.output).size(), rows.size() + 2);
  EXPECT_EQ(linesOf(table.output).back(), "left out, because empty in every row: detail");
  const auto& first = rows[0];
  EXPECT_EQ(first["name"], "ncclDevKernel_AllGather_RING_LL");
  EXPECT_TRUE(first["total_ns"].is_number_integer());
  EXPECT_THAT(csvLines[1], AllOf(testing::StartsWith("0,4711,ncclDevKernel_AllGather_RING_LL,"),
                                 HasSubstr(",40," + first["total_ns"].dump() + ",")));
  EXPECT_THAT(linesOf(table.output)[1], AllOf(HasSubstr("ncclDevKernel_AllGather_RING_LL"), HasSubstr(" ms")));
  double share = 0;
  for (const auto& row : rows) share += row["rank"] == 0 ? row["share_pct"].get<double>() : 0;
  EXPECT_NEAR(share, 100, 1e-9);
}

TEST_F(Cli, EveryReportRuns) {
  for (const char* name :
       {"kernels", "copies", "collectives", "ranges", "api", "memory", "steps", "breakdown", "roofline"}) {
    EXPECT_FALSE(json(plumb({"report", name, sample(), "--format", "json"})).empty()) << name;
    EXPECT_EQ(plumb({"report", name, "--columns"}).exitCode, 0) << name;
  }
  EXPECT_THAT(plumb({"report", "--list"}).output, HasSubstr("kernels"));
}

TEST_F(Cli, ReportsTakeThePeaksOfTheUser) {
  const Outcome given =
      plumb({"report", "roofline", sample(), "--peak", "memory=3TB/s", "--peak", "fp32=60TFLOPS", "--format", "csv"});
  EXPECT_EQ(given.exitCode, 0);
  EXPECT_THAT(given.output, HasSubstr("3000000000000,given"));
  EXPECT_THAT(given.output, HasSubstr("60000000000000,given"));
  expectRefused(plumb({"report", "roofline", sample(), "--peak", "memory"}), "write RESOURCE=RATE");
  expectRefused(plumb({"report", "roofline", sample(), "--peak", "speed=1"}), "There is no peak of speed");
  expectRefused(plumb({"report", "roofline", sample(), "--peak", "memory=fast"}), "is no rate");
}

TEST_F(Cli, ReportOfOneRank) {
  for (const auto& row : json(plumb({"report", "steps", sample(), "--rank", "1", "--format", "json"}))) {
    EXPECT_EQ(row["rank"], 1);
    EXPECT_EQ(row["compute_ns"].get<int64_t>() + row["exposed_communication_ns"].get<int64_t>() +
                  row["exposed_memory_ns"].get<int64_t>() + row["idle_ns"].get<int64_t>(),
              row["span_ns"].get<int64_t>());
  }
}

TEST_F(Cli, AUsersReportIsFoundAtRunTime) {
  fs::create_directories(path("mine"));
  std::ofstream(path("mine") + "/longest.sql")
      << "-- Longest\n-- Which kernel took longest?\n-- d_ns (ns): its duration\n"
         "SELECT max(duration_ns) AS d_ns FROM kernels";
  const Outcome outcome = plumb({"report", "longest", sample()}, {{"PLUMB_REPORTS", path("mine")}});
  EXPECT_EQ(outcome.exitCode, 0) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("µs"));
  fs::create_directories(path(".config/plumb"));
  fs::rename(path("mine"), path(".config/plumb/reports"));
  EXPECT_EQ(plumb({"report", "longest", sample()}).exitCode, 0);
}

// More than is held in memory until its turn to be printed; and a name that is not one word.
TEST_F(Cli, LargeReportsAmongSeveralComeWhole) {
  fs::create_directories(path("mine"));
  std::ofstream(path("mine/many rows.sql"))
      << "-- Many\n-- Many rows?\n-- step: which\n-- n: a number\n"
         "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 60000)"
         " SELECT s.step, c.n FROM steps s, c ORDER BY s.step, c.n;";
  const std::map<std::string, std::string> mine = {{"PLUMB_REPORTS", path("mine")}};
  const Outcome alone = plumb({"report", "many rows", sample(), "--format", "csv"}, mine);
  const Outcome both = plumb({"report", "many rows,health", sample(), "--format", "csv"}, mine);
  ASSERT_EQ(both.exitCode, 0) << both.errors;
  EXPECT_GT(alone.output.size(), size_t{1} << 20);
  EXPECT_TRUE(both.output.starts_with("# many rows\r\n" + alone.output));
  const Outcome last = plumb({"report", "health,many rows", sample(), "--format", "csv"}, mine);
  EXPECT_TRUE(last.output.ends_with("# many rows\r\n" + alone.output));
  const Outcome counted =
      plumb({"query", sample(), "SELECT count(*) FROM \"report_many rows\" UNION ALL SELECT 1 FROM kernels", "--format",
             "csv"},
            mine);
  EXPECT_EQ(counted.exitCode, 0) << counted.errors;
}

TEST_F(Cli, QueryPrintsWhatSqlSays) {
  const auto rows = json(plumb(
      {"query", sample(), "SELECT rank, count(*) AS n FROM kernels GROUP BY rank ORDER BY rank", "--format", "json"}));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["rank"], 0);
  EXPECT_EQ(plumb({"query", sample(), "SELECT 'a,b' AS x", "--format", "csv"}).output, "x\r\n\"a,b\"\r\n");
  EXPECT_EQ(plumb({"query", sample(), "SELECT max(busy_ns <= span_ns) AS ok FROM analysis_breakdown"}).output,
            "ok\n 1\n");
}

TEST_F(Cli, QueryNamesTheErrorAndCannotWrite) {
  expectRefused(plumb({"query", sample(), "SELECT nope FROM kernels"}), "no such column: nope");
#if SQLITE_VERSION_NUMBER >= 3038000
  expectRefused(plumb({"query", sample(), "SELECT nope FROM kernels"}), "line 1, column 8");
#endif
  for (const char* sql : {"DELETE FROM kernel", "DROP TABLE kernel", "ATTACH 'x.sqlite' AS x", "VACUUM INTO 'x.sqlite'",
                          "PRAGMA user_version=9"}) {
    const std::string before = plumb({"query", sample(), "SELECT count(*) FROM kernel"}).output;
    EXPECT_EQ(plumb({"query", sample(), sql}).exitCode, 2) << sql;
    EXPECT_EQ(plumb({"query", sample(), "SELECT count(*) FROM kernel"}).output, before);
  }
  EXPECT_FALSE(fs::exists(path("x.sqlite")));
}

TEST_F(Cli, ReportsAreLimitedAndGrouped) {
  fs::create_directories(path("mine"));
  std::ofstream(path("mine/spans.sql"))
      << "-- Spans\n-- Which?\n-- what: grouped by\n-- n: kernels\n-- by: all, stream\n"
         "SELECT :by AS what, count(*) AS n\n"
         "FROM gpu_window(:rank, :step, NULL, :from_ns, :to_ns) w\n"
         "JOIN kernel k ON k.process_id = w.process_id AND k.start_ns >= w.start_ns\n"
         "  AND k.start_ns < w.end_ns\n"
         "GROUP BY CASE :by WHEN 'stream' THEN k.stream_id END ORDER BY n;\n";
  const std::map<std::string, std::string> mine = {{"PLUMB_REPORTS", path("mine")}};
  const auto rows = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"report", "spans", sample(), "--format", "json"});
    return json(plumb(options, mine));
  };
  const int64_t all = rows({})[0]["n"], step = rows({"--step", "1"})[0]["n"], rank = rows({"--rank", "1"})[0]["n"];
  EXPECT_EQ(rows({})[0]["what"], "all");
  EXPECT_GT(rows({"--by", "stream"}).size(), 1u);
  EXPECT_LT(step, all);
  EXPECT_LT(rank, all);
  const auto half = json(plumb({"query", sample(), "SELECT (min(start_ns) + max(start_ns)) / 2000000 AS ms FROM kernel",
                                "--format", "json"}))[0]["ms"]
                        .get<int64_t>();
  const int64_t before = rows({"--to", std::to_string(half) + ".50ms"})[0]["n"];
  const int64_t after = rows({"--from", std::to_string(half * 1000 + 500) + "us"})[0]["n"];
  EXPECT_EQ(before + after, all);
  expectRefused(plumb({"report", "spans", sample(), "--range", "forward"}, mine),
                "The report spans takes no --range; of the filters it takes --rank, --step, --from, --to and --by.");
  expectRefused(plumb({"report", "spans", sample(), "--by", "grid"}, mine),
                "has no --by 'grid'; it has all and stream");
  const Outcome described = plumb({"report", "spans", "--columns"}, mine);
  EXPECT_THAT(described.output, AllOf(HasSubstr("Filters: --rank, --step, --from, --to and --by"),
                                      HasSubstr("--by: all (default), stream"), HasSubstr("report_spans(")));
  EXPECT_EQ(json(plumb({"query", sample(), "SELECT n FROM report_spans(NULL, 1)", "--format", "json"}, mine))[0]["n"],
            step);
  EXPECT_THAT(plumb({"report", "spans", sample(), "--format", "markdown"}, mine).output,
              HasSubstr("| what | n |\n|---|---:|\n| all | "));
}

TEST_F(Cli, ATableFitsTheLineAndSaysWhatItLeftOut) {
  const Outcome narrow = plumb({"report", "kernels", sample()}, {{"COLUMNS", "80"}});
  const size_t end = narrow.output.find("left out");
  for (size_t at = 0; at < end;) {
    const size_t next = std::min(narrow.output.find('\n', at), narrow.output.size());
    if (next < end) EXPECT_LE(next - at, 80 + 16u) << "characters, of which µ and … are two or three bytes";
    at = next + 1;
  }
  EXPECT_THAT(narrow.output, HasSubstr("--wide or --format csv has all"));
  const Outcome wide = plumb({"report", "kernels", sample(), "--wide"}, {{"COLUMNS", "80"}});
  EXPECT_THAT(wide.output, AllOf(HasSubstr("stddev"), Not(HasSubstr("to fit"))));
}

TEST_F(Cli, AGateSaysWhatItSkippedAndDidNotCompare) {
  std::ofstream(path("gate.yaml")) << "rules:\n"
                                      "  - {name: one, value: SELECT 1 AS n, max: 2}\n"
                                      "  - {name: other, when: SELECT 0, value: SELECT 3, max: 2}\n";
  const Outcome checked = plumb({"check", sample(), "--rules", path("gate.yaml"), "--baseline", sample()});
  EXPECT_EQ(checked.exitCode, 0);
  EXPECT_THAT(checked.output, AllOf(HasSubstr("pass  one: n = 1, wanted at most 2\n"), HasSubstr("skip  other: "),
                                    HasSubstr("1 of 2 checks passed, 1 does not apply\n")));
  EXPECT_THAT(checked.errors, HasSubstr("Nothing was compared with"));
  std::ofstream(path("null.yaml"))
      << "rules:\n  - {name: ops, value: SELECT max(cpu_self_ns) FROM report_ops WHERE name = 'none', max: 1}\n";
  EXPECT_THAT(plumb({"check", sample(), "--rules", path("null.yaml")}).output,
              HasSubstr("FAIL  ops: cannot say, because the value is NULL: SELECT max(cpu_self_ns)"));
}

TEST_F(Cli, QueryTakesParametersWithTheirTypes) {
  const auto row = json(
      plumb({"query", sample(), "SELECT typeof(:a) AS a, typeof(:b) AS b, typeof(@c) AS c, typeof($d) AS d, :e AS e",
             "-p", "a=12", "-p", "b=1.5", "-p", "c='12'", "-p", "d=NULL", "-p", "e=x=y", "--format", "json"}))[0];
  EXPECT_EQ(row["a"], "integer");
  EXPECT_EQ(row["b"], "real");
  EXPECT_EQ(row["c"], "text");
  EXPECT_EQ(row["d"], "null");
  EXPECT_EQ(row["e"], "x=y");
  expectRefused(plumb({"query", sample(), "SELECT :rank"}), "The SQL's parameter rank has no value");
  EXPECT_THAT(plumb({"query", sample(), "SELECT 1", "-p", "rank=0"}).errors,
              HasSubstr("The SQL has no parameter :rank"));
}

TEST_F(Cli, QueryRunsScripts) {
  const std::string script = path("script.sql");
  std::ofstream(script) << "-- two questions\nSELECT 1 AS a;;\nSELECT :x AS b; -- the end\n";
  EXPECT_EQ(plumb({"query", sample(), "-f", script, "-p", "x=7", "--format", "csv"}).output, "a\r\n1\r\n\nb\r\n7\r\n");
  EXPECT_EQ(json(plumb({"query", sample(), "-f", script, "-p", "x=7", "--format", "json"})),
            nlohmann::json::parse(R"([[{"a": 1}], [{"b": 7}]])"));
  std::ofstream(script) << "SELECT 1 AS a;\n\n  SELECT nothing FROM kernels;\n";
  const Outcome wrong = plumb({"query", sample(), "-f", script});
  EXPECT_EQ(wrong.exitCode, 2);
  EXPECT_EQ(linesOf(wrong.errors).size(), 1u) << wrong.errors;
#if SQLITE_VERSION_NUMBER >= 3038000
  EXPECT_THAT(wrong.errors, HasSubstr("line 3, column 10"));
#endif
  expectRefused(plumb({"query", sample(), "-f", path("nowhere.sql")}), "cannot be read");
  expectRefused(plumb({"query", sample(), " ; -- nothing"}), "no statement");
  EXPECT_THAT(plumb({"query", sample(), "SELECT 1; SELECT 2"}).errors, HasSubstr("More than one SQL statement"));
}

TEST_F(Cli, QueryExplainsItsPlanAsATree) {
  const Outcome outcome =
      plumb({"query", sample(), "--explain",
             "SELECT * FROM (SELECT name_id, count(*) AS n FROM kernel GROUP BY 1 LIMIT 3) ORDER BY n"});
  EXPECT_EQ(outcome.exitCode, 0) << outcome.errors;
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("├─ "), HasSubstr("SCAN kernel"), HasSubstr("\n│  ")));
}

TEST_F(Cli, AReaderThatHasSeenEnoughEndsItQuietly) {
  const std::string command =
      "trap '' PIPE; " + kPlumb + " query " + sample() +
      " \"WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 300000) SELECT x FROM n\""
      " --format csv | head -n 1";
  const Outcome outcome = run({.arguments = {"bash", "-c", command}, .environment = {}, .directory = {}});
  EXPECT_EQ(outcome.output, "x\r\n");
  EXPECT_EQ(outcome.errors, "");
}

TEST_F(Cli, WrongUsageIsTwo) {
  EXPECT_EQ(plumb({}).exitCode, 2);
  EXPECT_EQ(plumb({"nonsense"}).exitCode, 2);
  EXPECT_EQ(plumb({"summary"}).exitCode, 2);
  EXPECT_EQ(plumb({"report", "kernels", sample(), "--format", "xml"}).exitCode, 2);
  expectRefused(plumb({"report", "nothing", sample()}), "There is no report nothing; there are: api, ");
  expectRefused(plumb({"report", "kernel", sample()}), "There is no report kernel; the nearest are kernels, ");
  expectRefused(plumb({"report", "rofline", "--columns"}), "There is no report rofline; the nearest is roofline");
  expectRefused(plumb({"report", "kernels"}), "Name a trace file");
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"query"},
                                                {"query", sample()},
                                                {"summary", "--rank", "0", sample()},
                                                {"sumary", sample()},
                                                {"report", "kernels", sample(), "--format", "xml"},
                                                {"report", "kernels", sample(), "--from", "1.5ns"},
                                                {"report", "kernels", sample(), "--rank", "x"},
                                                {"query", sample(), "SELECT 1", "-p", "a"}}) {
    const Outcome outcome = plumb(wrong);
    EXPECT_EQ(outcome.exitCode, 2) << wrong.back();
    EXPECT_EQ(linesOf(outcome.errors).size(), 1u) << outcome.errors;
  }
}

TEST_F(Cli, HelpHasExamplesAndVersionIsOneLine) {
  const Outcome help = plumb({"--help"});
  EXPECT_EQ(help.exitCode, 0);
  EXPECT_THAT(help.output,
              AllOf(HasSubstr("plumb record -o run.sqlite -- torchrun"), HasSubstr("summary"), HasSubstr("Exit code")));
  EXPECT_EQ(linesOf(plumb({"--version"}).output).size(), 1u);
}

// plumb-launch gets what plumb got, word by word.
TEST_F(Cli, RecordPassesArgumentsOnUntouched) {
  fs::create_directories(path("bin"));
  fs::copy_file(kPlumb, path("bin/plumb"));
  std::ofstream(path("bin/plumb-launch")) << "#!/bin/sh\nfor a in \"$@\"; do printf '<%s>' \"$a\"; done\nexit 7\n";
  chmod(path("bin/plumb-launch").c_str(), 0755);
  const auto own = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), path("bin/plumb"));
    return run({.arguments = std::move(arguments), .environment = {}, .directory = {}});
  };
  const Outcome outcome = own({"record", "-o", "a b.sqlite", "--", "python", "--help", "--", "-x", ""});
  EXPECT_EQ(outcome.output, "<record><-o><a b.sqlite><--><python><--help><--><-x><>");
  EXPECT_EQ(outcome.exitCode, 7);
  EXPECT_EQ(own({"doctor", "--help"}).output, "<doctor><--help>");
  EXPECT_EQ(own({"calibrate"}).output, "<calibrate>");
  fs::remove(path("bin/plumb-launch"));
  expectRefused(own({"record", "true"}), "plumb-launch cannot be started", 1);
}

TEST_F(Cli, IndexHandsTheFileToTheRecorder) {
  fs::create_directories(path("bin"));
  fs::copy_file(kPlumb, path("bin/plumb"));
  std::ofstream(path("bin/plumb-recorder")) << "#!/bin/sh\necho \"$@\"\n";
  chmod(path("bin/plumb-recorder").c_str(), 0755);
  EXPECT_EQ(run({.arguments = {path("bin/plumb"), "index", "x.sqlite"}, .environment = {}, .directory = {}}).output,
            "--finish x.sqlite\n");
}

TEST_F(Cli, BadFilesAreRefusedInOneSentence) {
  const auto file = [&](const std::string& name, const std::string& content) {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  };
  makeSampleTrace(path("newer.sqlite"));
  makeSampleTrace(path("other.sqlite"));
  for (const auto& [name, pragma] :
       {std::pair{"newer.sqlite", "PRAGMA user_version=2"}, {"other.sqlite", "PRAGMA application_id=1"}}) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(path(name).c_str(), &database), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(database, pragma, nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(database);
  }
  for (const char* command : {"summary", "report", "query"}) {
    const auto refused = [&](const std::string& trace, const std::string& part) {
      std::vector<std::string> arguments = {command};
      if (arguments[0] == "report") arguments.push_back("kernels");
      arguments.push_back(trace);
      if (arguments[0] == "query") arguments.push_back("SELECT 1");
      expectRefused(plumb(arguments), part);
    };
    refused(path("missing"), "There is no file");
    refused(m_folder.string(), "is a folder");
    refused(file("empty", ""), "is empty (0 bytes)");
    refused(file("text", "hello, this is not a database"), "is not a Plumbline file");
    refused(file("text", "{\"traceEvents\": []}"), "has to be imported first: plumb import FILE -o run.sqlite");
    refused(file("short", std::string("SQLite format 3\0", 16)), "is damaged");
    refused(path("newer.sqlite"), "newer Plumbline (schema 2, this program reads 1): update");
    refused(path("other.sqlite"), "not a Plumbline file");
  }
}

TEST_F(Cli, ADamagedFileEndsWithASentenceAndNoCrash) {
  makeSampleTrace(path("run.sqlite"));
  std::ifstream in(path("run.sqlite"), std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(in)), {});
  for (size_t page = 1; page < whole.size() / 4096; page += 5) {
    std::string damaged = whole;
    for (size_t i = 0; i < 4096; ++i) damaged[page * 4096 + i] = static_cast<char>(i * 131 + page);
    std::ofstream(path("damaged.sqlite"), std::ios::binary) << damaged;
    const Outcome outcome = plumb({"summary", path("damaged.sqlite")});
    EXPECT_EQ(outcome.signal, 0) << "page " << page;
    EXPECT_FALSE(outcome.timedOut) << "page " << page;
    EXPECT_THAT(outcome.exitCode, testing::AnyOf(0, 1, 2)) << "page " << page;
    EXPECT_EQ(linesOf(outcome.errors).size(), outcome.exitCode == 0 ? 0u : 1u) << outcome.errors;
  }
  std::ofstream(path("damaged.sqlite"), std::ios::binary) << whole.substr(0, whole.size() / 2);
  const Outcome cut = plumb({"summary", path("damaged.sqlite")});
  EXPECT_NE(cut.exitCode, 0);
  EXPECT_THAT(cut.errors, HasSubstr("is damaged"));
}

TEST_F(Cli, HostileTextDoesNotReachTheTerminal) {
  {
    TraceBuilder trace(path("evil.sqlite"));
    const std::string evil = "\x1b]0;owned\x07\x1b[2J\r\n\xff";
    const int64_t process = trace.addProcess({.rank = 0, .program = evil, .host = evil});
    const int64_t device = trace.addDevice(process, {.name = evil});
    const int64_t stream = trace.addStream(process, device, 7, evil);
    trace.addKernel({.process = process, .device = device, .stream = stream, .startNs = 0, .durationNs = 5}, evil);
    trace.addDiagnostic(process, evil, evil, evil, 1, evil);
    trace.setMeta("extra", evil);
    trace.execute("CREATE TRIGGER t AFTER INSERT ON kernel BEGIN DELETE FROM kernel; END");
    trace.execute("DROP VIEW kernels; CREATE VIEW kernels AS SELECT load_extension('/tmp/evil') AS name");
  }
  const std::string control = "\x1b\x07\r";
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"summary", path("evil.sqlite")},
        {"report", "kernels", path("evil.sqlite")},
        {"query", path("evil.sqlite"), "SELECT name, full_name FROM kernels"},
        {"query", path("evil.sqlite"), "SELECT 1 AS \"\x1b[2J\""}}) {
    const Outcome outcome = plumb(arguments);
    EXPECT_EQ(outcome.exitCode, 0) << outcome.errors;
    EXPECT_EQ(outcome.output.find_first_of(control), std::string::npos) << arguments[0];
  }
  const auto rows = json(plumb({"query", path("evil.sqlite"), "SELECT name FROM kernels", "--format", "json"}));
  EXPECT_THAT(rows[0]["name"].get<std::string>(), HasSubstr("\x1b]0;owned"));  // data stays data
  const auto several = json(plumb({"report", "kernels,health", path("evil.sqlite"), "--format", "json"}));
  EXPECT_EQ(several.at("kernels").size(), 1u);
  EXPECT_FALSE(several.at("health").empty());
}

TEST_F(Cli, WhatIsMissingIsSaid) {
  {
    TraceBuilder trace(path("empty.sqlite"));
    trace.addProcess({.program = "prog"});
    trace.finish(false);
  }
  const Outcome outcome = plumb({"summary", path("empty.sqlite")});
  EXPECT_EQ(outcome.exitCode, 0) << outcome.errors;
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("This file is not complete"),
                                    HasSubstr("Cannot say, because no kernel, copy or set was recorded"),
                                    HasSubstr("Cannot say, because the program marked no steps"),
                                    HasSubstr("Cannot say, because no device allocation was recorded")));
  EXPECT_EQ(plumb({"report", "kernels", path("empty.sqlite")}).output, "no rows\nNo kernel was recorded.\n");
  EXPECT_TRUE(json(plumb({"report", "memory", path("empty.sqlite"), "--format", "json"})).empty());
}

TEST_F(Cli, AReportWithoutRowsSaysWhyBesideThem) {
  const Outcome table = plumb({"report", "hta_stragglers", sample()});
  EXPECT_THAT(table.output, testing::StartsWith("no rows\nHTA counts only kernels whose name begins with"));
  const Outcome csv = plumb({"report", "hta_stragglers", sample(), "--format", "csv"});
  EXPECT_EQ(csv.exitCode, 0);
  EXPECT_THAT(csv.errors, testing::StartsWith("plumb: report hta_stragglers: no rows. HTA counts only kernels"));
  EXPECT_THAT(csv.output, Not(HasSubstr("HTA counts")));
  const Outcome both = plumb({"report", "hta_stragglers,kernels,hta_stragglers", sample(), "--format", "json"});
  EXPECT_EQ(both.errors, csv.errors) << "each report comes once";
  EXPECT_EQ(json(both).size(), 2u);
}

TEST_F(Cli, ANumberThatIsNoneIsRefused) {
  for (const char* text : {"", "1x", "99999999999999999999"}) {
    expectRefused(plumb({"report", "kernels", sample(), "--rank", text}), "is no whole number of 64 bits");
  }
}

TEST_F(Cli, AFolderOfRulesOrReportsThatIsNotThereIsSaid) {
  const Outcome advice = plumb({"advise", sample()}, {{"PLUMB_RULES", path("gone")}});
  EXPECT_EQ(advice.exitCode, 0);
  EXPECT_THAT(advice.errors, HasSubstr("PLUMB_RULES names the folder " + path("gone") + ", which cannot be read"));
  EXPECT_THAT(plumb({"report", "kernels", sample()}, {{"PLUMB_REPORTS", path("gone")}}).errors,
              HasSubstr("PLUMB_REPORTS names the folder"));
}

TEST_F(Cli, AViewOfTheFileItselfIsNotRunAndOursIsNamed) {
  expectRefused(plumb({"query", sample(), "SELECT count(*) FROM main.kernels"}),
                "The view main.kernels is not used, because anybody can have written what views a file holds: name it "
                "kernels or temp.kernels");
  EXPECT_EQ(plumb({"query", sample(), "SELECT count(*) FROM temp.kernels"}).exitCode, 0);
}

TEST_F(Cli, ARunOfOneRankSaysWhyItHasNoCollectives) {
  {
    TraceBuilder trace(path("one.sqlite"));
    trace.addCommunicator(trace.addRank(0), 17, 1, 0);
  }
  EXPECT_THAT(plumb({"summary", path("one.sqlite")}).output, HasSubstr("every communicator has one rank"));
  EXPECT_THAT(plumb({"report", "collectives", path("one.sqlite")}).output,
              HasSubstr("No collective was recorded, because every communicator has one rank"));
}

TEST_F(Cli, ARecordingInProgressCanBeRead) {
  makeSampleTrace(path("live.sqlite"), {.complete = false});
  sqlite3* writer = nullptr;
  ASSERT_EQ(sqlite3_open(path("live.sqlite").c_str(), &writer), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(writer, "PRAGMA journal_mode=WAL; BEGIN IMMEDIATE; INSERT INTO meta VALUES('k','v')", nullptr,
                         nullptr, nullptr),
            SQLITE_OK);
  const Outcome outcome = plumb({"summary", path("live.sqlite")});
  EXPECT_EQ(outcome.exitCode, 0) << outcome.errors;
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("not complete"), HasSubstr("running or killed"), HasSubstr("ReduceScatter")));
  sqlite3_exec(writer, "COMMIT", nullptr, nullptr, nullptr);
  sqlite3_close(writer);
}

}  // namespace
}  // namespace plumb::test
