// SPDX-License-Identifier: Apache-2.0
// The reports of --definition hta and tracelens under filters: what they would say of a trace that holds only the
// events that begin inside.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analyzer/analyses/analysis_tables.h"
#include "tests/unit/analyzer/testing.h"

namespace plumb::test {
namespace {

constexpr int64_t kUs = 1000;
constexpr int64_t kFrom = 300 * kUs, kTo = 700 * kUs;

// Launches every 40 us with work on two streams that begins 10 us later, 0 to 1000 us; `isCut`: only what begins
// between kFrom and kTo.
void makeLaunches(const std::string& path, bool isCut) {
  TraceBuilder trace(path);
  const OneRank rank(trace);
  const auto has = [&](int64_t start) { return !isCut || (start >= kFrom && start < kTo); };
  for (int64_t i = 0; i < 25; ++i) {
    const int64_t start = i * 40 * kUs, workStart = start + 10 * kUs, correlation = i + 1;
    if (has(start)) trace.addApiCall(rank.process, rank.thread, start, 5 * kUs, "cudaLaunchKernel", correlation);
    if (!has(workStart)) continue;
    TraceBuilder::Work work = rank.work(workStart, (15 + 4 * (i % 7) + (i % 3 == 1 ? 30 : 0)) * kUs, correlation);
    if (i % 3 == 1) work.stream = rank.otherStream;
    if (i % 3 == 1) {
      trace.addKernel(work, "ncclDevKernel_AllReduce");
    } else {
      trace.addKernel(work, i % 2 == 0 ? "gemm" : "relu");
    }
  }
}

std::vector<std::string> rowsOf(const std::string& path, const std::string& call) {
  Trace trace = valueOf(Trace::open(path));
  EXPECT_EQ(errorOf(registerAnalysisTables(trace)), "");
  auto rows = valueOf(trace.query("SELECT * FROM " + call));
  std::vector<std::string> texts;
  while (rows.next()) {
    std::string& text = texts.emplace_back();
    for (int i = 0; i < rows.columnCount(); ++i) text += std::string(rows.text(i)) + "|";
  }
  EXPECT_EQ(errorOf(rows.status()), "") << call;
  return texts;
}

TEST(ForeignDefinitions, UnderAFilterAreThoseOfATraceCutThere) {
  const TraceFile whole;
  const std::string cut = whole.path() + ".cut";
  makeLaunches(whole.path(), false);
  makeLaunches(cut, true);
  const std::string filter = "(NULL, NULL, NULL, " + std::to_string(kFrom) + ", " + std::to_string(kTo) + ")";
  for (const char* table :
       {"hta_temporal_breakdown", "hta_idle_time", "hta_kernel_types", "hta_kernels", "hta_launch_stats",
        "hta_queue_length", "hta_memory_bandwidth", "hta_steps", "tracelens_gpu_timeline"}) {
    const auto expected = rowsOf(cut, table);
    EXPECT_EQ(rowsOf(whole.path(), table + filter), expected) << table;
    EXPECT_EQ(rowsOf(whole.path(), table + std::string("(0)")), rowsOf(whole.path(), table)) << table;
    if (expected.empty()) continue;
    EXPECT_NE(rowsOf(whole.path(), table), expected) << table << ": the test would prove nothing";
  }
  std::remove(cut.c_str());
}

}  // namespace
}  // namespace plumb::test
