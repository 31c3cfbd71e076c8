// SPDX-License-Identifier: Apache-2.0
// What other programs say about real recordings of other people, which are not part of the project: PLUMB_TEST_TRACES
// names the folder that holds them. Our reports say the same.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "analyzer/analyses/event_totals.h"
#include "analyzer/trace/trace.h"
#include "tests/unit/analyzer/import/support.h"

namespace plumb::test {
namespace {

std::optional<std::string> folderOfRecordings() {
  const char* folder = std::getenv("PLUMB_TEST_TRACES");
  if (folder == nullptr || *folder == 0) return std::nullopt;
  return std::string(folder) + "/";
}

// Total, number, mean, median, shortest, longest and deviation as `nsys stats` prints them. Names are cut there.
using Printed = std::multiset<std::string>;

Printed printedBy(const std::string& file, const std::string& report) {
  std::ifstream in(file);
  std::string line;
  while (std::getline(in, line) && line.find("(" + report + ")") == std::string::npos) continue;
  for (int i = 0; i < 3; ++i) std::getline(in, line);  // blank, heads, rule
  Printed rows;
  while (std::getline(in, line) && line.find_first_not_of(' ') != std::string::npos) {
    std::istringstream words(line);
    std::string share, row;
    words >> share;
    for (int i = 0; i < 7; ++i) {
      std::string word;
      words >> word;
      row += word + " ";
    }
    rows.insert(row);
  }
  return rows;
}

// One digit behind the point, the half rounded up.
double tenths(double value) { return std::floor(value * 10 + 0.5) / 10; }

Printed printed(std::vector<EventTotals> totals) {
  Printed rows;
  for (EventTotals& group : totals) {
    const SampleStatistics s = group.durations.statistics();
    rows.insert(fmt::format("{} {} {:.1f} {:.1f} {} {} {:.1f} ", s.total, s.count, tenths(s.mean), tenths(s.median),
                            s.shortest, s.longest, tenths(s.stddev.value_or(0))));
  }
  return rows;
}

TEST_F(ImportTest, NsysStatsSaysTheSameOfKernelsAndCalls) {
  const auto folder = folderOfRecordings();
  if (!folder) GTEST_SKIP() << "PLUMB_TEST_TRACES names no folder of recordings";
  const std::string base = *folder + "nsys/a100_llm_2_7b";
  const auto result = import({base + ".sqlite"});
  ASSERT_TRUE(result.ok()) << result.error().message;
  auto trace = Trace::open(output());
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  const Printed kernels = printedBy(base + ".nsys_stats.txt", "cuda_gpu_kern_sum");
  ASSERT_GT(kernels.size(), 20u);
  EXPECT_EQ(printed(groupKernels(trace.value(), {}, KernelGrouping::FullName).value()), kernels);
  const Printed calls = printedBy(base + ".nsys_stats.txt", "cuda_api_sum");
  ASSERT_GT(calls.size(), 10u);
  EXPECT_EQ(printed(totalCalls(trace.value(), {}, CallGrouping::Name).value()), calls);
}

// The cells of a line of CSV.
std::vector<std::string> cellsOf(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    if (c == ',' && !quoted) cells.emplace_back();
    if (c != '"' && (c != ',' || quoted)) cells.back() += c;
  }
  return cells;
}

// TraceLens' table of kernels, by the operator that launched them. It leaves out kernels without a launch in the trace.
TEST_F(ImportTest, TraceLensSaysTheSameOfOperatorsKernels) {
  const auto folder = folderOfRecordings();
  if (!folder) GTEST_SKIP() << "PLUMB_TEST_TRACES names no folder of recordings";
  for (const char* name : {"h100_bert_small", "h100_image_classifier", "mi300_bert_small", "mi300_qwen05b"}) {
    SCOPED_TRACE(name);
    std::remove(output().c_str());
    const auto result = import({*folder + "kineto/" + name + ".json.gz"});
    ASSERT_TRUE(result.ok()) << result.error().message;
    auto trace = Trace::open(output());
    ASSERT_TRUE(trace.ok()) << trace.error().message;
    std::map<std::string, std::pair<double, int64_t>> want, have;  // nanoseconds, number
    std::ifstream file(*folder + "kineto/" + name + ".kernel_summary.csv");
    std::string line;
    std::getline(file, line);
    while (std::getline(file, line)) {
      const std::vector<std::string> cells = cellsOf(line);
      ASSERT_GT(cells.size(), 5u);
      auto& [time, count] = want[cells[1]];
      time += 1000 * std::stod(cells[4]);
      count += std::stoll(cells[5]);
    }
    auto groups = groupKernels(trace.value(), {}, KernelGrouping::Operator);
    ASSERT_TRUE(groups.ok()) << groups.error().message;
    for (EventTotals& group : groups.value()) {
      const SampleStatistics s = group.durations.statistics();
      auto& [time, count] = have[group.detail];
      time += static_cast<double>(s.total);
      count += s.count;
    }
    for (const auto& [op, numbers] : want) {
      EXPECT_EQ(have[op].second, numbers.second) << op;
      EXPECT_NEAR(have[op].first, numbers.first, 1e-6 * numbers.first) << op;
    }
  }
}

}  // namespace
}  // namespace plumb::test
