// SPDX-License-Identifier: Apache-2.0
// Programs that people wrote for Nsight Systems' export (nsys-ai, nsys-tui, nsys2prv from PyPI), run on a trace of
// ours. They are looked for in the folder that PLUMB_PEERS names, then in PATH; a test whose program is not there is
// skipped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "tests/support/database.h"
#include "tests/support/process.h"
#include "tests/support/trace_builder.h"

namespace plumb::test {
namespace {

namespace fs = std::filesystem;

std::string findProgram(const std::string& name) {
  std::string folders;
  if (const char* named = std::getenv("PLUMB_PEERS")) folders = std::string(named) + ":";
  if (const char* path = std::getenv("PATH")) folders += path;
  std::istringstream list(folders);
  for (std::string folder; std::getline(list, folder, ':');) {
    std::error_code failed;
    const fs::path program = fs::path(folder) / name;
    if (!folder.empty() && fs::is_regular_file(program, failed)) return program.string();
  }
  return {};
}

class NsysPeers : public testing::Test {
 protected:
  void SetUp() override {
    makeSampleTrace(m_folder.file("run.sqlite"), {.ranks = 1});
    const Outcome exported = run({.arguments = {PLUMB_BUILD_DIR "/bin/plumb", "export", m_folder.file("run.sqlite"),
                                                "--format", "nsys", "-o", m_folder.file("nsys.sqlite")},
                                  .environment = {},
                                  .directory = {}});
    ASSERT_EQ(exported.exitCode, 0) << exported.errors;
    m_trace = std::make_unique<Database>(m_folder.file("run.sqlite"));
  }

  // What a program prints; skips the test when it is not there.
  std::string outputOf(const std::string& program, std::vector<std::string> arguments,
                       std::map<std::string, std::string> environment = {}) {
    arguments.insert(arguments.begin(), program);
    environment.emplace("HOME", m_folder.path());
    const Outcome outcome = run({.arguments = arguments,
                                 .environment = environment,
                                 .directory = m_folder.path(),
                                 .timeout = std::chrono::seconds(240)});
    EXPECT_EQ(outcome.exitCode, 0) << outcome.errors;
    return outcome.output + outcome.errors;
  }

  static double numberIn(const std::string& text, const std::string& pattern) {
    std::smatch found;
    EXPECT_TRUE(std::regex_search(text, found, std::regex(pattern))) << pattern << " in " << text;
    return found.size() > 1 ? std::stod(found[1].str()) : std::nan("");
  }

  // Union of the kernels' time, by whether they are NCCL's, in ms.
  double unionMs(const std::string& condition) const {
    return static_cast<double>(m_trace->number(
               "WITH k AS (SELECT start_ns AS s, start_ns + duration_ns AS e FROM kernels WHERE flags & 1 = 0 AND " +
               condition +
               "), m AS (SELECT s, e, max(e) OVER (ORDER BY s, e ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS "
               "before FROM k) "
               "SELECT coalesce(sum(e - max(s, coalesce(before, s))), 0) FROM m WHERE before IS NULL OR e > before")) /
           1e6;
  }

  std::string trace() const { return m_folder.file("nsys.sqlite"); }

  TemporaryFolder m_folder;
  std::unique_ptr<Database> m_trace;
};

TEST_F(NsysPeers, NsysAiFindsTheSameKernelsAndTimes) {
  const std::string program = findProgram("nsys-ai");
  if (program.empty())
    GTEST_SKIP() << "nsys-ai is not installed: pip install nsys-ai, and name its folder in PLUMB_PEERS";
  const auto kernels = static_cast<double>(m_trace->number("SELECT count(*) FROM kernels WHERE flags & 1 = 0"));
  const std::string info = outputOf(program, {"info", trace()});
  EXPECT_EQ(numberIn(info, "Kernels: ([0-9]+)"), kernels);
  EXPECT_EQ(numberIn(info, "NVTX: ([0-9]+)"), static_cast<double>(m_trace->number("SELECT count(*) FROM NVTX_EVENTS")));
  const std::string overlap = outputOf(program, {"overlap", trace(), "--gpu", "0", "--trim", "0", "100"});
  EXPECT_EQ(numberIn(overlap, "Kernels: +([0-9]+) compute") + numberIn(overlap, "compute \\+ ([0-9]+) NCCL"), kernels);
  EXPECT_NEAR(numberIn(overlap, "Compute only: +([0-9.]+)ms") + numberIn(overlap, "NCCL only: +([0-9.]+)ms") +
                  numberIn(overlap, "Overlap: +([0-9.]+)ms"),
              unionMs("1"), 0.2);
  EXPECT_NEAR(numberIn(overlap, "NCCL only: +([0-9.]+)ms") + numberIn(overlap, "Overlap: +([0-9.]+)ms"),
              unionMs("full_name LIKE '%nccl%'"), 0.2);
}

// An export that went through a trace and back: the program prints what it prints of the original.
TEST_F(NsysPeers, NsysAiPrintsTheSameOfAnExportThatCameBack) {
  const std::string program = findProgram("nsys-ai");
  const char* traces = std::getenv("PLUMB_TEST_TRACES");
  if (program.empty())
    GTEST_SKIP() << "nsys-ai is not installed: pip install nsys-ai, and name its folder in PLUMB_PEERS";
  if (traces == nullptr || *traces == 0) GTEST_SKIP() << "PLUMB_TEST_TRACES names no folder of recordings";
  const std::string original = m_folder.file("original.sqlite"), imported = m_folder.file("imported.sqlite"),
                    back = m_folder.file("back.sqlite");
  fs::copy_file(fs::path(traces) / "nsys" / "h100_2gpu_video_before.sqlite", original);
  fs::permissions(original, fs::perms::owner_write, fs::perm_options::add);
  outputOf(PLUMB_BUILD_DIR "/bin/plumb", {"import", original, "-o", imported});
  outputOf(PLUMB_BUILD_DIR "/bin/plumb", {"export", imported, "--format", "nsys", "-o", back});
  const std::regex counts("Kernels: [0-9]+ .* NVTX: [0-9]+");
  const auto countsIn = [&](const std::string& file) {
    const std::string text = outputOf(program, {"info", file});
    std::smatch found;
    EXPECT_TRUE(std::regex_search(text, found, counts)) << text;
    return found.str();
  };
  EXPECT_EQ(countsIn(back), countsIn(original));
  const auto waitsIn = [&](const std::string& file) {
    const std::string text = outputOf(program, {"skill", "run", "sync_cost_analysis", file});
    const size_t first = text.find("Total Wall-Clock"), last = text.find("density)");
    EXPECT_NE(last, std::string::npos) << text;
    return text.substr(first, last - first);
  };
  EXPECT_EQ(waitsIn(back), waitsIn(original));
}

TEST_F(NsysPeers, NsysTuiFindsTheSameKernelsAndTimes) {
  const std::string program = findProgram("nsys-tui");
  if (program.empty())
    GTEST_SKIP() << "nsys-tui is not installed: pip install nsys-tui, and name its folder in PLUMB_PEERS";
  const std::string summary = outputOf(program, {"summary", trace(), "--gpu", "0"});
  EXPECT_EQ(numberIn(summary, "Kernels: ([0-9]+)"),
            static_cast<double>(m_trace->number("SELECT count(*) FROM kernels WHERE flags & 1 = 0")));
  // Its "compute" is the sum over all kernels, overlapping or not.
  const int64_t sum = m_trace->number("SELECT sum(duration_ns) FROM kernels WHERE flags & 1 = 0");
  EXPECT_NEAR(numberIn(summary, "Compute: ([0-9.]+)ms"), static_cast<double>(sum) / 1e6, 0.1);
  const std::string top =
      m_trace->text("SELECT name FROM kernels GROUP BY name ORDER BY sum(duration_ns) DESC LIMIT 1");
  EXPECT_THAT(summary, testing::HasSubstr(top));
}

// Of the export, and of the trace itself: views are enough for it.
TEST_F(NsysPeers, Nsys2prvTranslatesEveryEvent) {
  const std::string program = findProgram("nsys2prv");
  if (program.empty())
    GTEST_SKIP() << "nsys2prv is not installed: pip install nsys2prv, and name its folder in PLUMB_PEERS";
  // It asks `nsys stats` for the API calls, and Nsight Systems is not here: the same table, by the same names.
  const std::string stub = m_folder.file("nsys");
  std::ofstream(stub) << R"py(#!/usr/bin/env python3
import csv, sqlite3, sys
base = sys.argv[sys.argv.index("-o") + 1]
db = sqlite3.connect(sys.argv[-1])
with open(base + "_cuda_api_trace.csv", "w", newline="") as out:
    writer = csv.writer(out)
    writer.writerow(["Start (ns)", "Duration (ns)", "Name", "Result", "CorrID", "Pid", "Tid", "T-Pri", "Thread Name"])
    writer.writerows(db.execute("""SELECT r.start, r."end" - r.start, s.value, r.returnValue, r.correlationId,
        r.globalTid / 0x1000000 % 0x1000000, r.globalTid % 0x1000000, 20, '' FROM CUPTI_ACTIVITY_KIND_RUNTIME r
        JOIN StringIds s ON s.id = r.nameId ORDER BY 1"""))
)py";
  ::chmod(stub.c_str(), 0755);
  const std::string path = m_folder.path() + ":" + (std::getenv("PATH") ? std::getenv("PATH") : "");
  for (const std::string& file : {trace(), m_folder.file("run.sqlite")}) {
    outputOf(program, {"-t", "cuda_api_trace,nvtx_pushpop_trace", file, "out"}, {{"PATH", path}});
    std::ifstream written(m_folder.file("out.prv"));
    const std::string prv(std::istreambuf_iterator<char>(written), {});
    fs::remove(m_folder.file("out.prv"));
    const auto countOf = [&](const std::string& event) {
      int64_t count = 0;
      const std::regex pattern(":" + event + ":[1-9][0-9]*");
      for (auto at = std::sregex_iterator(prv.begin(), prv.end(), pattern); at != std::sregex_iterator(); ++at) ++count;
      return count;
    };
    EXPECT_EQ(countOf("63000006") + countOf("63000007"),
              m_trace->number("SELECT count(*) FROM kernels WHERE flags & 1 = 0"))
        << file;
    EXPECT_EQ(countOf("63000000"), m_trace->number("SELECT count(*) FROM api_calls")) << file;
  }
}

}  // namespace
}  // namespace plumb::test
