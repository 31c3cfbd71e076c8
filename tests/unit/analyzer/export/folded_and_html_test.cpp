// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "analyzer/export/folded.h"
#include "analyzer/export/html/html_text.h"
#include "analyzer/export/html/report_page.h"
#include "analyzer/export/html/report_table.h"
#include "analyzer/reports/reports.h"
#include "analyzer/sqlext/sql_surface.h"
#include "tests/unit/analyzer/export/export_testing.h"

namespace plumb::test {
namespace {

using testing::HasSubstr;
using testing::Not;

std::map<std::string, int64_t> foldedOf(Trace& trace, exports::FoldedWeight weight) {
  const Folder folder;
  auto out = valueOf(exports::OutputFile::create(folder.file("folded"), false));
  valueOf(exports::exportFolded(trace, weight, out));
  valueOf(out.finish());
  std::map<std::string, int64_t> stacks;
  std::istringstream lines(contentOf(folder.file("folded")));
  for (std::string line; std::getline(lines, line);) {
    const size_t space = line.rfind(' ');
    stacks[line.substr(0, space)] = std::stoll(line.substr(space + 1));
  }
  return stacks;
}

TEST(Folded, HasTheRangesAroundTheLaunch) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    trace.addRange(rank.process, rank.thread, 0, 1000, "step");
    trace.addRange(rank.process, rank.thread, 100, 300, "forward; or so", 1);
    trace.addApiCall(rank.process, rank.thread, 200, 10, "cudaLaunchKernel", 1);
    trace.addKernel(rank.work(5000, 70, 1), "gemm");
    trace.addApiCall(rank.process, rank.thread, 500, 10, "cudaLaunchKernel", 2);
    trace.addKernel(rank.work(6000, 30, 2), "gemm");
    trace.addKernel(rank.work(7000, 5), "orphan");
  }
  Trace trace = valueOf(Trace::open(file.path()));
  EXPECT_THAT(foldedOf(trace, exports::FoldedWeight::Gpu),
              testing::ElementsAre(testing::Pair("rank 0;(no launch recorded);orphan", 5),
                                   testing::Pair("rank 0;step;forward: or so;gemm", 70),
                                   testing::Pair("rank 0;step;gemm", 30)));
  EXPECT_THAT(foldedOf(trace, exports::FoldedWeight::Host),
              testing::ElementsAre(testing::Pair("rank 0;step", 690), testing::Pair("rank 0;step;cudaLaunchKernel", 10),
                                   testing::Pair("rank 0;step;forward: or so", 290),
                                   testing::Pair("rank 0;step;forward: or so;cudaLaunchKernel", 10)));
}

TEST(Folded, AddsUpToTheTimeOfAllWork) {
  const TraceFile file;
  makeSampleTrace(file.path(), {.ranks = 2, .layers = 2, .steps = 3});
  Trace trace = valueOf(Trace::open(file.path()));
  int64_t sum = 0;
  for (const auto& [stack, ns] : foldedOf(trace, exports::FoldedWeight::Gpu)) sum += ns;
  const auto total =
      rowsOf(trace,
             "SELECT (SELECT sum(duration_ns) FROM kernels) + (SELECT coalesce(sum(duration_ns), 0) FROM copies)"
             " + (SELECT coalesce(sum(duration_ns), 0) FROM memory_sets)");
  EXPECT_EQ(std::to_string(sum), total[0]);
}

std::string pageOf(const std::string& path) {
  const Folder folder;
  Trace trace = valueOf(Trace::open(path));
  valueOf(registerSqlSurface(trace, valueOf(findReports({}))));
  auto out = valueOf(exports::OutputFile::create(folder.file("page.html"), false));
  valueOf(exports::exportReportPage(trace, {.title = {}, .version = "1", .reportFolders = {}, .ruleFolders = {}}, out));
  valueOf(out.finish());
  return contentOf(folder.file("page.html"));
}

// Every element that must be closed is, in order. The page's own markup only: attribute values have no '>' unescaped.
std::string wrongNesting(const std::string& page) {
  std::vector<std::string> open;
  for (size_t at = page.find('<'); at != std::string::npos; at = page.find('<', at + 1)) {
    const size_t end = page.find('>', at);
    if (end == std::string::npos) return "an open tag at the end";
    std::string tag = page.substr(at + 1, end - at - 1);
    if (tag.starts_with("!") || tag.ends_with("/")) continue;
    const bool closes = tag.starts_with("/");
    const std::string name = tag.substr(closes ? 1 : 0, tag.find_first_of(" \n", 1) - (closes ? 1 : 0));
    if (name == "br" || name == "meta" || name == "li" || name == "p" || name == "link") continue;
    if (!closes) {
      open.push_back(name);
    } else if (open.empty() || open.back() != name) {
      return "</" + name + "> closes " + (open.empty() ? "nothing" : open.back());
    } else {
      open.pop_back();
    }
  }
  return open.empty() ? "" : "<" + open.back() + "> is not closed";
}

TEST(ReportPage, TellsWhatTheRunWasAndWhereItsTimeWent) {
  const TraceFile file;
  makeSampleTrace(file.path(), {.ranks = 2, .layers = 2, .steps = 5});
  const std::string page = pageOf(file.path());
  EXPECT_EQ(wrongNesting(page), "");
  for (const char* heading : {"Where the time went", "Advice", "A typical step", "Memory", "Roofline", "Kernels"}) {
    EXPECT_THAT(page, HasSubstr(heading));
  }
  EXPECT_THAT(page, Not(HasSubstr("Cannot say, because: no such")));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("http://")));
  EXPECT_THAT(page, Not(HasSubstr("https://")));
}

TEST(ReportPage, HasHeadingsInWordsAndExactValuesUnderThePointer) {
  const TraceFile file;
  makeSampleTrace(file.path(), {.ranks = 2, .layers = 2, .steps = 5});
  const std::string page = pageOf(file.path());
  EXPECT_THAT(page, HasSubstr(">Exposed communication</th>"));
  EXPECT_THAT(page, HasSubstr(" ns\">"));
  for (const char* raw : {"_ns</th>", "_pct</th>", "_bytes</th>", "_per_s</th>"})
    EXPECT_THAT(page, Not(HasSubstr(raw)));
}

// The medians come before a list that may be cut; a process's id is a name, not an amount.
TEST(ReportPage, OfManyStepsHasTheirMediansAndTheTimeToTheNextOne) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    const int64_t other = trace.addProcess({.pid = 2455477}), device = trace.addDevice(other);
    trace.addKernel({other, device, trace.addStream(other, device, 7), 0, 10'000'000}, "gemm");
    for (int64_t step = 0; step < 40; ++step) {
      const int64_t begin = step * 5'000'000, correlation = trace.newCorrelation();
      trace.addRange(rank.process, rank.thread, begin, 5'000'000, "step");
      trace.addApiCall(rank.process, rank.thread, begin + 3'000'000, 1000, "cudaLaunchKernel", correlation);
      trace.addKernel(rank.work(begin + 3'500'000, 1'000'000, correlation), "gemm");
    }
  }
  const std::string page = pageOf(file.path());
  EXPECT_THAT(page, HasSubstr("A training step takes <b>5.00 ms</b> from its start to that of the next one "
                              "(median of 39 steady steps"));
  EXPECT_THAT(page, HasSubstr("Its own work on the GPU, from first to last, takes 1.00 ms (median of 40 steady steps"));
  EXPECT_THAT(page, HasSubstr(">2455477</td>"));
  EXPECT_THAT(page, Not(HasSubstr("2,455,477")));
  for (const char* statistic : {">median</td>", ">p10</td>", ">p90</td>"}) EXPECT_THAT(page, HasSubstr(statistic));
  EXPECT_THAT(page, HasSubstr("and 10 more rows: plumb report steps FILE"));
}

TEST(ReportPage, NamesWhatTheTraceHasNothingOf) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    trace.addKernel(rank.work(100, 900, 1), "gemm");
  }
  const std::string page = pageOf(file.path());
  const std::string nothing = page.substr(page.find("What the file has nothing of"));
  EXPECT_THAT(nothing, HasSubstr("Collectives"));
  EXPECT_THAT(page, Not(HasSubstr("<h2>Collectives</h2>")));
  EXPECT_EQ(wrongNesting(page), "");
}

// A memory snapshot with an allocation each microsecond.
std::string pageOfSnapshot(bool hasTimes) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    trace.execute("UPDATE string SET text = 'PyTorch memory snapshot' WHERE id = (SELECT program_id FROM process)");
    trace.execute("UPDATE process SET end_ns = 50000");
    for (int64_t i = 0; i < 50; ++i) {
      trace.addAllocation(
          {.process = rank.process, .device = rank.device, .startNs = i * 1000, .address = 4096 * i, .bytes = 4096});
    }
    if (!hasTimes) {
      trace.addDiagnostic(rank.process, "warning", "import", "no_time", 50, "Its history shows their order.");
    }
  }
  return pageOf(file.path());
}

TEST(ReportPage, CountsEventsWhereMemoryHasNoTimes) {
  EXPECT_THAT(pageOfSnapshot(true), HasSubstr(">40.0 µs</text>"));
  EXPECT_THAT(pageOfSnapshot(false), HasSubstr(">event 40</text>"));
}

TEST(ReportPage, EscapesHostileNames) {
  const TraceFile file;
  const std::string hostile = "</td></svg><script>alert(\"1\")</script>'&\xff\x1b[2J\" onload=\"alert(3)";
  {
    TraceBuilder trace(file.path());
    trace.setMeta("command", hostile);
    const OneRank rank(trace);
    trace.execute("UPDATE string SET text = '</p><script>alert(2)</script>' WHERE id = (SELECT name_id FROM device)");
    trace.addRange(rank.process, rank.thread, 0, 1000, hostile);
    trace.addApiCall(rank.process, rank.thread, 10, 10, hostile, 1);
    trace.addKernel(rank.work(100, 900, 1), hostile);
    trace.addDiagnostic(rank.process, "error", hostile, hostile, 1, hostile);
  }
  const std::string page = pageOf(file.path());
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;"));
  EXPECT_THAT(page, Not(HasSubstr("\" onload")));
  EXPECT_EQ(page.find_first_of("\x1b\xff"), std::string::npos) << "neither control characters nor what is no UTF-8";
  EXPECT_EQ(wrongNesting(page), "");
}

TEST(ReportPage, OfAnEmptyTraceIsAPage) {
  const TraceFile file;
  { const TraceBuilder trace(file.path()); }
  EXPECT_EQ(wrongNesting(pageOf(file.path())), "");
}

TEST(ColumnTitles, AreWordsAndTellEqualOnesApart) {
  EXPECT_EQ(exports::columnTitle("exposed_communication_ns", "ns"), "Exposed communication");
  EXPECT_EQ(exports::columnTitle("kernel_busbw_bytes_per_s", "bytes/s"), "Kernel bus bandwidth");
  EXPECT_EQ(exports::columnTitle("intensity", "FLOP/byte"), "Intensity (FLOP/byte)");
  EXPECT_THAT(exports::columnTitles({{"total_ns", "ns", ""}, {"total_bytes", "bytes", ""}, {"calls", "", ""}}),
              testing::ElementsAre("Total time", "Total bytes", "Calls"));
}

TEST(HtmlText, EscapesWhatIsMarkup) {
  EXPECT_EQ(exports::html("<a href=\"x\">&'"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
}

}  // namespace
}  // namespace plumb::test
