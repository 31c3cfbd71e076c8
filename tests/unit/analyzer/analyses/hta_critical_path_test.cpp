// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/hta/hta_critical_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/analyzer/testing.h"

namespace plumb::test {
namespace {

constexpr int64_t kUs = 1000;

hta::CriticalPath pathOf(const std::string& file, const hta::Region& region = {}) {
  Trace trace = valueOf(Trace::open(file));
  auto paths = valueOf(hta::criticalPaths(trace, region, std::nullopt));
  if (paths.size() != 1) throw std::runtime_error("no path");
  return paths.front();
}

// A launch 10-20 us of a kernel 30-130 us, a wait for its stream 25-140 us and another call 142-148 us, in a range.
void makeLaunchAndWait(const std::string& path, bool hasWaitRecord) {
  TraceBuilder trace(path);
  const OneRank rank(trace);
  trace.addRange(rank.process, rank.thread, 0, 150 * kUs, "forward");
  trace.addApiCall(rank.process, rank.thread, 10 * kUs, 10 * kUs, "cudaLaunchKernel", 1);
  trace.addKernel(rank.work(30 * kUs, 100 * kUs, 1), "gemm");
  trace.addApiCall(rank.process, rank.thread, 25 * kUs, 115 * kUs, "cudaStreamSynchronize", 2);
  trace.addApiCall(rank.process, rank.thread, 142 * kUs, 6 * kUs, "cudaMalloc", 3);
  if (hasWaitRecord) {
    trace.execute(
        "INSERT INTO synchronization(process_id, stream_id, start_ns, duration_ns, kind, correlation) VALUES(" +
        std::to_string(rank.process) + "," + std::to_string(rank.stream) + ",26000,113000,3,2)");
  }
}

TEST(HtaCriticalPath, GoesFromTheLaunchOverTheKernelToTheCallThatWaitsForIt) {
  const TraceFile file;
  makeLaunchAndWait(file.path(), true);
  const hta::CriticalPath path = pathOf(file.path());
  EXPECT_EQ(path.problem, "");
  // The wait weighs nothing, the orders around it neither.
  EXPECT_EQ(path.timeBy(),
            (std::map<std::string, int64_t>{
                {"", 0}, {"cpu_bound", 6}, {"gpu_compute_bound", 100}, {"gpu_kernel_launch_overhead", 20}}));
  EXPECT_EQ(path.nodes, 6u);
  EXPECT_EQ(path.events, 4u);
  EXPECT_EQ(path.nameOf(path.edges[1]), "void gemm(float*)");
  EXPECT_EQ(path.nameOf(path.edges.back()), "cudaMalloc");
  // Three calls, a kernel and the record of the wait.
  EXPECT_EQ(path.graphNodes, 10u);
}

TEST(HtaCriticalPath, WithoutARecordOfTheWaitEndsWithTheKernel) {
  const TraceFile file;
  makeLaunchAndWait(file.path(), false);
  const hta::CriticalPath path = pathOf(file.path());
  EXPECT_EQ(path.nodes, 3u);
  EXPECT_EQ(path.nameOf(path.edges.back()), "void gemm(float*)");
}

TEST(HtaCriticalPath, LooksInsideTheRangeThatIsNamed) {
  const TraceFile file;
  makeLaunchAndWait(file.path(), true);
  EXPECT_EQ(pathOf(file.path(), {hta::Annotation{"forw", 0}, std::nullopt}).nodes, 6u);
  EXPECT_THAT(pathOf(file.path(), {hta::Annotation{"forw", 1}, std::nullopt}).problem,
              testing::HasSubstr("no such range"));
  EXPECT_THAT(pathOf(file.path(), {std::nullopt, 3}).problem, testing::HasSubstr("no such range or step"));
}

// What an edge of a path says, to compare paths of different files.
std::vector<std::string> describedEdges(const hta::CriticalPath& path) {
  std::vector<std::string> edges;
  for (const hta::PathEdge& edge : path.edges) {
    edges.push_back(std::string(hta::nameOf(edge.type)) + " " + std::to_string(edge.time) + " " + path.nameOf(edge) +
                    " " + hta::nameOf(edge.boundBy));
  }
  return edges;
}

// Five rounds of a range around a launch, longer on a later rank; ranks by turns, as a recorder writes them.
void makeRounds(const std::string& path, const std::vector<int64_t>& ranks) {
  TraceBuilder trace(path);
  std::vector<OneRank> places;
  for (const int64_t rank : ranks) places.emplace_back(trace, rank, 2);
  for (int64_t round = 0; round < 5; ++round) {
    for (size_t i = 0; i < ranks.size(); ++i) {
      const OneRank& place = places[i];
      const int64_t begin = (round * 100 + ranks[i] * 7) * kUs, correlation = 1 + round;
      trace.addRange(place.process, place.thread, begin, (60 + ranks[i] * 10) * kUs, ranks[i] ? "second" : "first");
      trace.addApiCall(place.process, place.thread, begin + 5 * kUs, 10 * kUs, "cudaLaunchKernel", correlation);
      trace.addKernel(place.work(begin + 20 * kUs, (70 + ranks[i]) * kUs, correlation), "gemm");
    }
  }
}

TEST(HtaCriticalPath, OfARankIsTheSameBesideOtherRanks) {
  const TraceFile file;
  makeRounds(file.path(), {0, 1});
  std::vector<hta::CriticalPath> together;
  {
    Trace trace = valueOf(Trace::open(file.path()));
    together = valueOf(hta::criticalPaths(trace, {}, std::nullopt));
  }
  ASSERT_EQ(together.size(), 2u);
  for (const int64_t rank : {0, 1}) {
    makeRounds(file.path(), {rank});
    const hta::CriticalPath alone = pathOf(file.path());
    const hta::CriticalPath& beside = together[static_cast<size_t>(rank)];
    EXPECT_FALSE(alone.edges.empty());
    EXPECT_EQ(describedEdges(beside), describedEdges(alone));
    EXPECT_EQ(beside.graphEdges, alone.graphEdges);
    EXPECT_EQ(beside.events, alone.events);
  }
}

}  // namespace
}  // namespace plumb::test
