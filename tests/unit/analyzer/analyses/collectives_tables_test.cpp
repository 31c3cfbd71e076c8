// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/collectives_tables.h"

#include <gtest/gtest.h>

#include "analyzer/analyses/analysis_tables.h"
#include "tests/unit/analyzer/testing.h"

namespace plumb::test {
namespace {

// recorded and matched of the only row.
std::pair<int64_t, std::string> onlyInstance(const std::string& path) {
  Trace trace = valueOf(Trace::open(path));
  if (const Status added = registerAnalysisTables(trace); !added.ok()) throw std::runtime_error(added.error().message);
  auto row = valueOf(trace.query("SELECT recorded, matched FROM analysis_collective_instances"));
  if (!row.next()) return {};
  std::pair<int64_t, std::string> found{row.integer(0), row.text(1)};
  EXPECT_FALSE(row.next());
  return found;
}

TEST(CollectiveInstancesTable, KernelsWithoutRecordsCannotBeMatched) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    trace.addKernel(rank.work(10, 5), "ncclKernel_AllReduce_RING_LL_Sum_float");
    trace.addKernel(rank.work(20, 5), "ncclKernel_AllReduce_RING_LL_Sum_float");
    trace.addKernel(rank.work(30, 5), "gemm");
  }
  EXPECT_EQ(onlyInstance(file.path()),
            (std::pair<int64_t, std::string>(
                2, "cannot say: communication kernels of which there are no collective records")));
}

TEST(CollectiveInstancesTable, NeitherCanRecordsWithoutASequenceNumber) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    const int64_t communicator = trace.addCommunicator(rank.process, 7, 2, 0);
    trace.addCollective(
        {.process = rank.process, .thread = rank.thread, .communicator = communicator, .startNs = 10, .sequence = -1});
  }
  EXPECT_EQ(onlyInstance(file.path()),
            (std::pair<int64_t, std::string>(1, "cannot say: records without a sequence number or a communicator")));
}

TEST(CollectiveInstancesTable, WithoutCommunicationThereIsNone) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    trace.addKernel(rank.work(30, 5), "gemm");
  }
  EXPECT_EQ(onlyInstance(file.path()).second, "");
}

}  // namespace
}  // namespace plumb::test
