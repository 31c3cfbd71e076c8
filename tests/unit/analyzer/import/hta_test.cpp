// SPDX-License-Identifier: Apache-2.0
// --definition hta against values that HolisticTraceAnalysis printed for real recordings (PLUMB_TEST_TRACES, as in
// recordings_test.cpp): to the printed digit.
#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <regex>

#include <nlohmann/json.hpp>

#include "analyzer/analyses/hta/hta_breakdown.h"
#include "analyzer/analyses/hta/hta_launches.h"
#include "analyzer/analyses/hta/hta_statistics.h"
#include "analyzer/trace/trace.h"
#include "tests/unit/analyzer/import/support.h"

namespace plumb::test {
namespace {

using nlohmann::json;

// HTA numbered the only file of a run 0, whatever its rank.
const hta::Rank& rankAt(const hta::Run& run, const json& row) { return run.ranks.at(row.at("rank").get<size_t>()); }

void expectNear(double value, const json& expected, double digits, const std::string& what) {
  EXPECT_NEAR(value, expected.get<double>(), 0.5000001 * std::pow(10, -digits)) << what;
}

void expectTemporal(const hta::Run& run, const json& rows) {
  for (const json& row : rows) {
    const auto time = hta::temporalBreakdown(rankAt(run, row));
    ASSERT_TRUE(time);
    EXPECT_EQ(time->idle, row.at("idle_time(us)").get<int64_t>());
    EXPECT_EQ(time->compute, row.at("compute_time(us)").get<int64_t>());
    EXPECT_EQ(time->nonCompute, row.at("non_compute_time(us)").get<int64_t>());
    EXPECT_EQ(time->kernel, row.at("kernel_time(us)").get<int64_t>());
    for (const auto& [part, key] : {std::pair{time->idle, "idle_time_pctg"},
                                    {time->compute, "compute_time_pctg"},
                                    {time->nonCompute, "non_compute_time_pctg"}}) {
      const double share = static_cast<double>(part) / static_cast<double>(time->kernel);
      EXPECT_DOUBLE_EQ(hta::rounded(100 * share, 2), row.at(key).get<double>()) << key;
    }
  }
}

void expectOverlap(const hta::Run& run, const json& rows) {
  for (const json& row : rows) {
    const auto percent = hta::overlapPercent(rankAt(run, row));
    const json& expected = row.at("comp_comm_overlap_pctg");
    EXPECT_EQ(percent.has_value(), !expected.is_null());
    if (percent && !expected.is_null()) {
      EXPECT_DOUBLE_EQ(*percent, expected.get<double>());
    }
  }
}

void expectIdle(const hta::Run& run, const json& rows) {
  size_t count = 0;
  for (const hta::Rank& rank : run.ranks) count += hta::idleTime(rank).size();
  EXPECT_EQ(count, rows.size());
  for (const json& row : rows) {
    bool isFound = false;
    for (const hta::StreamIdle& idle : hta::idleTime(rankAt(run, row))) {
      if (idle.stream != row.at("stream").get<int64_t>() || row.at("idle_category") != idle.category) continue;
      isFound = true;
      EXPECT_EQ(idle.time, row.at("idle_time").get<int64_t>()) << row;
      EXPECT_EQ(idle.ratio.has_value(), !row.at("idle_time_ratio").is_null());
      if (idle.ratio) expectNear(*idle.ratio, row.at("idle_time_ratio"), 2, row.dump());
    }
    EXPECT_TRUE(isFound) << row;
  }
}

constexpr size_t kKernels = 5;  // how the reference was made

void expectKernels(const hta::Run& run, const json& breakdown) {
  const auto types = hta::kernelTypeTimes(run.ranks);
  EXPECT_EQ(types.size(), breakdown.at("types").size());
  int64_t total = 0;
  for (const auto& [name, time] : types) total += time;
  for (const json& row : breakdown.at("types")) {
    const auto type = types.find(row.at("kernel_type").get<std::string>());
    ASSERT_NE(type, types.end()) << row;
    EXPECT_EQ(type->second, row.at("sum").get<int64_t>()) << row;
    const double share = static_cast<double>(type->second) / static_cast<double>(total);
    EXPECT_DOUBLE_EQ(hta::rounded(100 * share, 1), row.at("percentage").get<double>()) << row;
  }
  for (const json& row : breakdown.at("top")) {
    bool isFound = false;
    for (const hta::KernelRow& kernel : hta::kernelBreakdown(run, rankAt(run, row), kKernels)) {
      // The reference cuts names.
      if (kernel.name.substr(0, 90) != row.at("name").get<std::string>().substr(0, 90)) continue;
      if (row.at("kernel_type") != hta::nameOf(kernel.type)) continue;
      if (std::abs(kernel.sum - row.at("sum (us)").get<double>()) > 0.5) continue;
      isFound = true;
      EXPECT_EQ(kernel.max, row.at("max (us)").get<double>()) << row;
      EXPECT_EQ(kernel.min, row.at("min (us)").get<double>()) << row;
      expectNear(kernel.mean, row.at("mean (us)"), 4, row.dump());
      expectNear(kernel.stddev, row.at("stddev"), 4, row.dump());
    }
    EXPECT_TRUE(isFound) << row;
  }
}

void expectLaunches(const hta::Run& run, const json& ranks) {
  for (const auto& [index, expected] : ranks.items()) {
    double cpu = 0, gpu = 0, delay = 0;
    std::vector<double> delays;
    for (const hta::LaunchRow& row : hta::launchStatistics(run.ranks.at(std::stoul(index)))) {
      cpu += static_cast<double>(row.cpu);
      gpu += static_cast<double>(row.gpu);
      delay += static_cast<double>(row.delay);
      delays.push_back(static_cast<double>(row.delay));
    }
    EXPECT_EQ(delays.size(), expected.at("n").get<size_t>());
    EXPECT_EQ(cpu, expected.at("cpu_sum").get<double>());
    EXPECT_EQ(gpu, expected.at("gpu_sum").get<double>());
    EXPECT_EQ(delay, expected.at("delay_sum").get<double>());
    if (delays.empty()) continue;
    const hta::Description all = hta::describe(delays);
    EXPECT_EQ(all.max, expected.at("delay_max").get<double>());
    EXPECT_EQ(all.p50, expected.at("delay_median").get<double>());
  }
}

void expectDescription(const hta::Description& found, const json& row, size_t at) {
  const std::array<std::optional<double>, 8> values = {
      static_cast<double>(found.count), found.mean, found.std, found.min, found.p25, found.p50, found.p75, found.max};
  for (size_t i = 0; i < values.size(); ++i) {
    if (!row.at(at + i).is_null() && values[i]) expectNear(*values[i], row.at(at + i), 3, row.dump());
  }
}

void expectQueues(const hta::Run& run, const json& rows) {
  for (const json& row : rows) {
    bool isFound = false;
    for (const hta::QueueRow& queue : hta::queueLengths(run.ranks.at(row.at(0).get<size_t>()))) {
      if (queue.stream != row.at(1).get<int64_t>()) continue;
      isFound = true;
      expectDescription(queue.length, row, 2);
    }
    EXPECT_TRUE(isFound) << row;
  }
}

void expectBandwidths(const hta::Run& run, const json& rows) {
  for (const json& row : rows) {
    const auto found = hta::memoryBandwidths(run, run.ranks.at(row.at(0).get<size_t>()));
    const auto mine = found.find(row.at(1).get<std::string>());
    ASSERT_NE(mine, found.end()) << row;
    expectDescription(mine->second, row, 2);
  }
}

void expectAll(const hta::Run& run, const json& expected) {
  expectTemporal(run, expected.at("temporal"));
  expectOverlap(run, expected.at("overlap"));
  if (expected.contains("steps")) {
    EXPECT_EQ(json(run.ranks.at(0).steps), expected.at("steps"));
  }
  if (expected.contains("idle")) expectIdle(run, expected.at("idle"));
  if (expected.contains("kernel_breakdown")) expectKernels(run, expected.at("kernel_breakdown"));
  if (expected.contains("launch")) expectLaunches(run, expected.at("launch"));
  if (expected.contains("queue")) expectQueues(run, expected.at("queue"));
  if (expected.contains("membw")) expectBandwidths(run, expected.at("membw"));
}

TEST_F(ImportTest, HtaNumbersComeOutToThePrintedDigit) {
  const char* folder = std::getenv("PLUMB_TEST_TRACES");
  if (folder == nullptr || *folder == 0) GTEST_SKIP() << "PLUMB_TEST_TRACES names no folder of recordings";
  std::ifstream file(std::string(folder) + "/expected.json");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const auto expected = json::parse(std::regex_replace(text, std::regex(": NaN"), ": null"));
  const std::string kineto = std::string(folder) + "/kineto/";
  for (const auto& [name, reference] : expected.at("files").items()) {
    std::vector<std::string> files{kineto + name};
    std::string key = "hta";
    if (reference.contains("hta_both_ranks")) {
      key = "hta_both_ranks";
      files.push_back(kineto + "sampled_rank1.json.gz");
    }
    if (!reference.contains(key)) continue;
    if (name == "dlrm_8ranks_v100_rank0.json.gz") {
      for (const char* other : {"1", "2", "3"}) files.push_back(kineto + "dlrm_8ranks_v100_rank" + other + ".json.gz");
    }
    SCOPED_TRACE(name);
    std::remove(output().c_str());
    const auto result = import(files);
    ASSERT_TRUE(result.ok()) << result.error().message;
    auto trace = Trace::open(output());
    ASSERT_TRUE(trace.ok()) << trace.error().message;
    const auto run = hta::load(trace.value());
    ASSERT_TRUE(run.ok()) << run.error().message;
    expectAll(run.value(), reference.at(key));
  }
}

// Triton's operators have an argument "stream", by which HTA takes them for work of the GPU.
TEST_F(ImportTest, HtaCountsOperatorsThatNameAStreamAsGpuWork) {
  (void)imported(traceOf({hostEvent("cpu_op", "triton_poi_fused_0", "100", "40", R"({"stream": 615352160})"),
                          hostEvent("cpu_op", "triton_poi_fused_1", "150", "10", R"({"stream": "7"})"),
                          hostEvent("cpu_op", "no number", "200", "70", R"({"stream": "0x0"})"),
                          hostEvent("cpu_op", "aten::mm", "300", "70"), kernelEvent("gemm", "120", "5", 1)}));
  auto trace = Trace::open(output());
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  const auto run = hta::load(trace.value());
  ASSERT_TRUE(run.ok()) << run.error().message;
  const auto time = hta::temporalBreakdown(run.value().ranks.at(0));
  ASSERT_TRUE(time);
  EXPECT_EQ(time->kernel, 60);
  EXPECT_EQ(time->compute, 50);
  EXPECT_EQ(time->idle, 10);
  const auto kernels = hta::kernelBreakdown(run.value(), run.value().ranks.at(0), kKernels);
  EXPECT_EQ(kernels.size(), 3u);
  EXPECT_TRUE(hta::idleTime(run.value().ranks.at(0)).size() == 1)
      << "only kernels, copies and sets wait for each other";
}

}  // namespace
}  // namespace plumb::test
