// SPDX-License-Identifier: Apache-2.0
// --definition hta of critical_path and stragglers against what HolisticTraceAnalysis says of real recordings
// (PLUMB_TEST_TRACES, as in recordings_test.cpp).
#include "analyzer/analyses/hta/hta_critical_path.h"

#include <cstdlib>

#include "analyzer/analyses/hta/hta_stragglers.h"
#include "analyzer/reports/reports.h"
#include "analyzer/sqlext/sql_surface.h"
#include "analyzer/trace/trace.h"
#include "tests/unit/analyzer/import/support.h"

namespace plumb::test {
namespace {

struct Reference {
  const char* file;
  const char* annotation;
  int64_t instance;
  int64_t graphNodes, graphEdges, nodes, events;
  std::map<std::string, int64_t> timeBy;
};

const std::vector<Reference>& references() {
  static const std::vector<Reference> kReferences = {
      {"critical_path_alexnet",
       "[param|pytorch.model.alex_net|0|0|0|measure|forward]",
       1,
       462,
       421,
       149,
       77,
       {{"cpu_bound", 32042},
        {"gpu_compute_bound", 3712},
        {"gpu_kernel_kernel_overhead", 50},
        {"gpu_kernel_launch_overhead", 30}}},
      {"critical_path_alexnet",
       "",
       0,
       1470,
       1417,
       948,
       495,
       {{"cpu_bound", 43283339},
        {"gpu_compute_bound", 60572},
        {"gpu_kernel_kernel_overhead", 9709},
        {"gpu_kernel_launch_overhead", 2035}}},
      {"critical_path_event_sync",
       "ProfilerStep",
       0,
       56,
       57,
       40,
       22,
       {{"cpu_bound", 2335}, {"gpu_compute_bound", 38}, {"gpu_kernel_launch_overhead", 28}}},
      {"critical_path_event_sync",
       "",
       0,
       56,
       57,
       40,
       22,
       {{"cpu_bound", 2335}, {"gpu_compute_bound", 38}, {"gpu_kernel_launch_overhead", 28}}},
      {"critical_path_event_sync_multi_stream",
       "",
       0,
       80,
       82,
       59,
       31,
       {{"cpu_bound", 1025},
        {"gpu_compute_bound", 124},
        {"gpu_kernel_kernel_overhead", 15},
        {"gpu_kernel_launch_overhead", 14}}},
      {"critical_path_simple_add",
       "[param|pytorch.model.alex_net|0|0|0|measure|forward]",
       1,
       458,
       415,
       315,
       159,
       {{"cpu_bound", 241190},
        {"gpu_compute_bound", 508},
        {"gpu_kernel_kernel_overhead", 9},
        {"gpu_kernel_launch_overhead", 17}}},
      {"critical_path_simple_add",
       "",
       0,
       1510,
       1452,
       1160,
       600,
       {{"cpu_bound", 41380750},
        {"gpu_compute_bound", 40992},
        {"gpu_kernel_kernel_overhead", 11897},
        {"gpu_kernel_launch_overhead", 1595}}},
      {"dlrm_8ranks_v100_rank0",
       "ProfilerStep",
       0,
       4000,
       3998,
       1483,
       743,
       {{"cpu_bound", 3590},
        {"gpu_compute_bound", 103},
        {"gpu_kernel_kernel_overhead", 1044},
        {"gpu_kernel_launch_overhead", 7}}},
      {"dlrm_8ranks_v100_rank1",
       "ProfilerStep",
       0,
       4060,
       4058,
       842,
       423,
       {{"cpu_bound", 1311}, {"gpu_communication_bound", 7635}, {"gpu_kernel_launch_overhead", 12}}},
      {"dlrm_8ranks_v100_rank2",
       "ProfilerStep",
       0,
       4054,
       4052,
       1495,
       749,
       {{"cpu_bound", 3596},
        {"gpu_compute_bound", 105},
        {"gpu_kernel_kernel_overhead", 1010},
        {"gpu_kernel_launch_overhead", 8}}},
      {"dlrm_8ranks_v100_rank3",
       "ProfilerStep",
       0,
       4168,
       4166,
       898,
       451,
       {{"cpu_bound", 1696}, {"gpu_communication_bound", 6132}, {"gpu_kernel_launch_overhead", 14}}},
      {"h100_bert_small",
       "ProfilerStep",
       0,
       792,
       791,
       669,
       336,
       {{"cpu_bound", 1999}, {"gpu_compute_bound", 40}, {"gpu_kernel_launch_overhead", 7}}},
      {"h100_image_classifier",
       "ProfilerStep",
       0,
       2000,
       1998,
       1687,
       845,
       {{"cpu_bound", 4584}, {"gpu_kernel_launch_overhead", 7}}},
      {"h100_image_classifier", "", 0, 2002, 2000, 1687, 845, {{"cpu_bound", 4584}, {"gpu_kernel_launch_overhead", 7}}},
      {"mi300_bert_small",
       "ProfilerStep",
       0,
       796,
       795,
       637,
       320,
       {{"cpu_bound", 1776},
        {"gpu_compute_bound", 10},
        {"gpu_kernel_kernel_overhead", 230},
        {"gpu_kernel_launch_overhead", 18}}},
      {"mi300_qwen05b",
       "ProfilerStep",
       0,
       10452,
       10451,
       2679,
       1343,
       {{"cpu_bound", 16314},
        {"gpu_compute_bound", 27043},
        {"gpu_kernel_kernel_overhead", 1026},
        {"gpu_kernel_launch_overhead", 31}}},
      {"nccl_metadata_a100", "ProfilerStep", 0, 15616, 15613, 6160, 3080, {{"cpu_bound", 101646}}},
      {"nccl_metadata_a100", "", 0, 31216, 31213, 12306, 6153, {{"cpu_bound", 203044}}},
      {"rocm_mi250_minitoy", "ProfilerStep", 0, 204, 202, 82, 41, {{"cpu_bound", 7448}}},
      {"sampled_rank0",
       "ProfilerStep",
       0,
       4734,
       4731,
       1778,
       890,
       {{"cpu_bound", 266597},
        {"gpu_compute_bound", 948},
        {"gpu_kernel_kernel_overhead", 30},
        {"gpu_kernel_launch_overhead", 6}}},
      {"sampled_rank1",
       "ProfilerStep",
       0,
       4612,
       4609,
       1467,
       735,
       {{"cpu_bound", 255413},
        {"gpu_compute_bound", 220},
        {"gpu_kernel_kernel_overhead", 17099},
        {"gpu_kernel_launch_overhead", 4}}},
      {"sglang_decode_graphs",
       "",
       0,
       164,
       162,
       106,
       54,
       {{"cpu_bound", 463284},
        {"gpu_compute_bound", 75},
        {"gpu_kernel_kernel_overhead", 10149},
        {"gpu_kernel_launch_overhead", 10}}},
      {"triton_driver_launch", "ProfilerStep", 0, 10, 9, 6, 3, {{"cpu_bound", 1386}}},
      {"vllm_decode_graphs",
       "",
       0,
       186,
       184,
       28,
       14,
       {{"gpu_compute_bound", 321}, {"gpu_kernel_kernel_overhead", 10421}}},
      {"vllm_graph_capture", "", 0, 3446, 3445, 3426, 1713, {{"cpu_bound", 49247}}},
  };
  return kReferences;
}

TEST_F(ImportTest, HtaCriticalPathsComeOut) {
  const char* folder = std::getenv("PLUMB_TEST_TRACES");
  if (folder == nullptr || *folder == 0) GTEST_SKIP() << "PLUMB_TEST_TRACES names no folder of recordings";
  std::string imported;
  for (const Reference& reference : references()) {
    SCOPED_TRACE(std::string(reference.file) + " " + reference.annotation);
    if (imported != reference.file) {
      std::remove(output().c_str());
      const auto result = import({std::string(folder) + "/kineto/" + reference.file + ".json.gz"});
      ASSERT_TRUE(result.ok()) << result.error().message;
      imported = reference.file;
    }
    auto trace = Trace::open(output());
    ASSERT_TRUE(trace.ok()) << trace.error().message;
    hta::Region region;
    if (*reference.annotation != 0) region.annotation = hta::Annotation{reference.annotation, reference.instance};
    const auto paths = hta::criticalPaths(trace.value(), region, std::nullopt);
    ASSERT_TRUE(paths.ok()) << paths.error().message;
    ASSERT_EQ(paths.value().size(), 1u);
    const hta::CriticalPath& path = paths.value().front();
    EXPECT_EQ(path.problem, "");
    EXPECT_EQ(path.graphNodes, static_cast<size_t>(reference.graphNodes));
    // HTA sorts work of one microsecond in no certain order; off the path an edge can depend on it.
    EXPECT_NEAR(static_cast<double>(path.graphEdges), static_cast<double>(reference.graphEdges), 1);
    EXPECT_EQ(path.nodes, static_cast<size_t>(reference.nodes));
    EXPECT_EQ(path.events, static_cast<size_t>(reference.events));
    EXPECT_EQ(path.edges.size(), path.nodes - 1);
    std::map<std::string, int64_t> timeBy = path.timeBy();
    timeBy.erase("");
    EXPECT_EQ(timeBy, reference.timeBy);
    // The same through the report, whose --step is HTA's instance and --range a part of the annotation's name.
    const auto reports = findReports({});
    ASSERT_TRUE(reports.ok());
    ASSERT_TRUE(registerSqlSurface(trace.value(), reports.value()).ok());
    auto rows = trace.value().query(
        "SELECT path_nodes, path_events, graph_nodes FROM report_hta_critical_path(NULL, iif(?1 = '', NULL, ?2),"
        " nullif(?1, ''))");
    ASSERT_TRUE(rows.ok()) << rows.error().message;
    rows.value().bind(1, std::string_view(reference.annotation));
    rows.value().bind(2, reference.instance);
    ASSERT_TRUE(rows.value().next()) << rows.value().status().error().message;
    EXPECT_EQ(rows.value().integer(0), reference.nodes);
    EXPECT_EQ(rows.value().integer(1), reference.events);
    EXPECT_EQ(rows.value().integer(2), reference.graphNodes);
  }
}

TEST_F(ImportTest, HtaStragglersComeOut) {
  const char* folder = std::getenv("PLUMB_TEST_TRACES");
  if (folder == nullptr || *folder == 0) GTEST_SKIP() << "PLUMB_TEST_TRACES names no folder of recordings";
  std::vector<std::string> files;
  for (const char* rank : {"0", "1", "2", "3"}) {
    files.push_back(std::string(folder) + "/kineto/dlrm_8ranks_v100_rank" + rank + ".json.gz");
  }
  const auto result = import(files);
  ASSERT_TRUE(result.ok()) << result.error().message;
  auto trace = Trace::open(output());
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  const auto rows = hta::findStragglers(trace.value());
  ASSERT_TRUE(rows.ok()) << rows.error().message;
  ASSERT_EQ(rows.value().size(), 4u);
  const double starts[] = {0.828868, 0.827319, 0.831118, 0.827369};
  const double durations[] = {0.025690, 0.027239, 0.023391, 0.027089};
  const bool isStraggler[] = {true, false, true, false};
  for (size_t i = 0; i < 4; ++i) {
    const hta::LateStart& row = rows.value()[i];
    EXPECT_EQ(row.rank, static_cast<int64_t>(i));
    EXPECT_EQ(row.iteration, 10);
    EXPECT_EQ(row.stream, 84);
    EXPECT_NEAR(row.start, starts[i], 5e-7);
    EXPECT_NEAR(row.duration, durations[i], 5e-7);
    EXPECT_EQ(row.isStraggler, isStraggler[i]);
  }
}

}  // namespace
}  // namespace plumb::test
