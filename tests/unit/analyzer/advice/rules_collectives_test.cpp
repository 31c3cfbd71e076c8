// SPDX-License-Identifier: Apache-2.0
// Bundled rules about collectives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/analyzer/advice/rules.h"

namespace plumb::test {
namespace {

using testing::HasSubstr;

// Rank 1 is late; meanwhile rank 0 computes on its other stream for a while.
void addCollectives(TraceBuilder& trace, int64_t count, int64_t bytes, int64_t periodNs, int64_t transferNs,
                    int64_t lateNs, int64_t coveredNs = 0) {
  for (int64_t i = 0; i < 2; ++i) {
    const OneRank rank(trace, i, 2);
    const int64_t communicator = trace.addCommunicator(rank.process, 7, 2, i);
    for (int64_t n = 0; n < count; ++n) {
      const int64_t external = 100 + n, correlation = trace.newCorrelation();
      const int64_t arrival = n * periodNs + (i == 1 ? lateNs : 0);
      trace.addKernel(
          rank.work(arrival - periodNs + transferNs + lateNs, periodNs - transferNs - lateNs + (i == 1 ? lateNs : 0)),
          "gemm");
      trace.addCollective({.process = rank.process,
                           .thread = rank.thread,
                           .communicator = communicator,
                           .startNs = arrival - 3 * kUs,
                           .sequence = n,
                           .elementCount = bytes / 4,
                           .bytes = bytes,
                           .externalId = external});
      trace.addLink(rank.process, external, correlation);
      trace.addApiCall(rank.process, rank.thread, arrival - 3 * kUs, kUs, "cudaLaunchKernelExC", correlation);
      trace.addKernel(rank.work(arrival, n * periodNs + lateNs + transferNs - arrival, correlation),
                      "ncclDevKernel_AllReduce");
      if (i == 0 && coveredNs > 0) trace.addKernel(rank.otherWork(arrival, coveredNs), "gemm");
    }
  }
}

TEST(Rules, ExposedCommunication) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    addCollectives(trace, 10, 64 << 20, 1000 * kUs, 300 * kUs, 0);
  }
  const Advice advice = adviceOn(file);
  EXPECT_EQ(gainOf(advice, "exposed_communication"), 10 * 300 * kUs);
  EXPECT_EQ(gainOf(advice, "stragglers"), -1);
  EXPECT_EQ(gainOf(advice, "small_collectives"), -1);
}

// Transfers after which the host launches the next work, before they end or just after.
void addTransfers(TraceBuilder& trace, int64_t launchNs) {
  const Host host{trace, OneRank(trace, 0, 2)};
  for (int64_t i = 0; i < 10; ++i) {
    const int64_t at = i * 1000 * kUs, end = at + 800 * kUs;
    host.launch(at - 5 * kUs, at, 500 * kUs);
    host.launch(at + 100 * kUs, at + 500 * kUs, 300 * kUs, "ncclDevKernel_AllReduce");
    host.launch(end + launchNs, end + std::max<int64_t>(launchNs, 0) + 3 * kUs, 50 * kUs);
  }
}

TEST(Rules, ATransferThatHoldsUpNothingIsNoGain) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    addTransfers(trace, 2 * kUs);
  }
  const auto late = findingOf(adviceOn(file), "exposed_communication");
  ASSERT_TRUE(late);
  EXPECT_EQ(late->gain, Duration());
  EXPECT_THAT(late->finding, HasSubstr("in 3.00 ms of it the next work had not been launched yet"));
  EXPECT_THAT(late->arithmetic, HasSubstr("3.00 ms - 3.00 ms in which the host had not launched the next work yet"));
  EXPECT_THAT(late->remedy, HasSubstr("Let the host launch further ahead first"));
}

TEST(Rules, ATransferThatHoldsUpQueuedWorkCostsItsTimeAndDdpIsNotToldToUseDdp) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    addTransfers(trace, -310 * kUs);
    trace.text("DistributedDataParallel.forward");
  }
  const auto queued = findingOf(adviceOn(file), "exposed_communication");
  ASSERT_TRUE(queued);
  EXPECT_EQ(queued->gain, Duration(10 * 300 * kUs));
  EXPECT_THAT(queued->remedy, HasSubstr("DistributedDataParallel reduces gradients per bucket"));
}

TEST(Rules, StragglersAreNotCountedAsCommunication) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    addCollectives(trace, 10, 64 << 20, 1000 * kUs, 20 * kUs, 400 * kUs);
  }
  const Advice advice = adviceOn(file);
  const auto straggler = findingOf(advice, "stragglers");
  ASSERT_TRUE(straggler);
  EXPECT_EQ(straggler->rank, 1);
  EXPECT_EQ(straggler->gain, Duration(9 * 400 * kUs)) << "the first one's skew is the program's start";
  EXPECT_EQ(gainOf(advice, "exposed_communication"), 10 * 20 * kUs) << "the transfers";
}

TEST(Rules, AStragglerCostsOnlyTheWaitsThatNothingCovers) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    addCollectives(trace, 10, 64 << 20, 1000 * kUs, 20 * kUs, 400 * kUs, 300 * kUs);
  }
  const auto straggler = findingOf(adviceOn(file), "stragglers");
  ASSERT_TRUE(straggler);
  EXPECT_THAT(straggler->finding, HasSubstr("caused 3.60 ms of waiting"));
  EXPECT_EQ(straggler->gain, Duration(10 * 100 * kUs));
  EXPECT_THAT(straggler->arithmetic, HasSubstr("1.00 ms in all while nothing computed there"));
}

// Ten collectives; the last one never saw rank 1, and rank 0 gave up after half a second.
void addMissingRank(TraceBuilder& trace) {
  addCollectives(trace, 10, 64 << 20, 1000 * kUs, 20 * kUs, 0);
  trace.execute("DELETE FROM collective WHERE sequence = 9 AND process_id = 2");
  trace.execute(
      "UPDATE kernel SET duration_ns = 500000000 WHERE id = (SELECT max(id) FROM kernel WHERE process_id = 1)");
  trace.execute("DELETE FROM kernel WHERE id = (SELECT max(id) FROM kernel WHERE process_id = 2)");
}

TEST(Rules, AMissingRankCostsNoTimeInWhichTheOthersComputed) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    addMissingRank(trace);
    trace.execute("CREATE TEMP TABLE work AS SELECT * FROM kernel WHERE id = 1");  // rank 0's gemm, again
    trace.execute("UPDATE work SET id = 9999, start_ns = 100000000, duration_ns = 200000000");
    trace.execute("INSERT INTO kernel SELECT * FROM work");
  }
  const auto missing = findingOf(adviceOn(file), "missing_rank");
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->gain, Duration(300 * kMs));
  EXPECT_THAT(missing->arithmetic,
              HasSubstr("the longest wait: 500.00 ms, of which nothing was computed in 300.00 ms"));
}

TEST(Rules, AMissingRankIsNamedAndItsWaitIsNotCommunication) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    addMissingRank(trace);
  }
  const Advice advice = adviceOn(file);
  const auto missing = findingOf(advice, "missing_rank");
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->rank, 1);
  EXPECT_EQ(missing->gain, Duration(500 * kMs));
  EXPECT_EQ(missing->gainRank, 0) << "who waited";
  ASSERT_TRUE(missing->span);
  EXPECT_GT(*missing->span, Duration(500 * kMs)) << "of the device of who waited";
  EXPECT_THAT(missing->finding, HasSubstr("rank 1 never came to AllReduce 9"));
  EXPECT_THAT(missing->finding, HasSubstr("rank 0 waited for it up to 500.00 ms"));
  EXPECT_EQ(gainOf(advice, "exposed_communication"), 9 * 20 * kUs) << "the transfers of the others";
  EXPECT_EQ(gainOf(advice, "stragglers"), -1);
}

// A flight recorder's dumps: rank 1 called the first collective and did not complete it, so it never called the second.
TEST(Rules, ARankThatDidNotCompleteACollectiveIsNotSaidToHaveMissedTheNext) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    for (int64_t rank = 0; rank < 2; ++rank) {
      const int64_t process = trace.addRank(rank, 2), thread = trace.addThread(process);
      const int64_t communicator = trace.addCommunicator(process, 9, 2, rank, "");
      trace.execute("INSERT INTO communicator_state VALUES(" + std::to_string(communicator) + ", " +
                    std::to_string(trace.text("7")) + ", " + std::to_string(trace.text("DATA")) +
                    ", NULL, NULL, NULL)");
      for (int64_t member = 0; member < 2; ++member) {
        trace.execute("INSERT INTO communicator_member VALUES(" + std::to_string(communicator) + ", " +
                      std::to_string(member) + ", " + std::to_string(member) + ")");
      }
      for (int64_t sequence = 1; sequence <= 2 - rank; ++sequence) {
        const int64_t id = trace.addCollective({.process = process,
                                                .thread = thread,
                                                .communicator = communicator,
                                                .startNs = sequence * kMs,
                                                .sequence = sequence});
        const std::string sizes = std::to_string(trace.text("16"));
        trace.execute(
            "INSERT INTO collective_state(collective_id, name_id, state, input_sizes_id, output_sizes_id) VALUES(" +
            std::to_string(id) + ", " + std::to_string(trace.text("nccl:all_reduce")) + ", '" +
            (rank == 0 && sequence == 1 ? "completed" : "started") + "', " + sizes + ", " + sizes + ")");
      }
    }
  }
  const auto found = findingOf(adviceOn(file), "missing_rank");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->title, "A rank did not complete a collective");
  EXPECT_THAT(found->finding, HasSubstr("rank 1 did not complete nccl:all_reduce 1 of process group 7; rank 0 compl"));
  EXPECT_THAT(found->remedy, HasSubstr("the GPU and the network"));
}

TEST(Rules, SmallCollectivesAreComparedWithLargerOnesThatAreSmallToo) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    addCollectives(trace, 40, 4096, 100 * kUs, 10 * kUs, 0);
    trace.execute("UPDATE collective SET bytes = 262144, element_count = 65536 WHERE sequence >= 35");
  }
  const auto finding = findingOf(adviceOn(file), "small_collectives");
  ASSERT_TRUE(finding);
  EXPECT_NEAR(static_cast<double>(finding->gain->ns()), 35e4 * 63 / 64, 1);
  EXPECT_THAT(finding->arithmetic, HasSubstr("AllReduce of 256.0 KiB"));
}

TEST(Rules, SmallCollectives) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    addCollectives(trace, 40, 4096, 100 * kUs, 10 * kUs, 0);
    // The last five are as fast with 16384 times the bytes.
    trace.execute("UPDATE collective SET bytes = 67108864, element_count = 16777216 WHERE sequence >= 35");
  }
  EXPECT_NEAR(static_cast<double>(gainOf(adviceOn(file), "small_collectives")), 35e4 * 16383 / 16384, 1);
}

TEST(Rules, SmallCollectivesAreComparedWithWhatLargerOnesReachMostly) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    addCollectives(trace, 40, 4096, 100 * kUs, 10 * kUs, 0);
    trace.execute("UPDATE collective SET bytes = 262144, element_count = 65536 WHERE sequence >= 35");
    // The last was interrupted, so that all large ones together are slower than the small ones.
    trace.execute("UPDATE kernel SET duration_ns = 10000000 WHERE start_ns >= (SELECT max(start_ns) FROM kernel)");
  }
  const auto finding = findingOf(adviceOn(file), "small_collectives");
  ASSERT_TRUE(finding);
  EXPECT_NEAR(static_cast<double>(finding->gain->ns()), 35e4 * 63 / 64, 1);
}

TEST(Rules, SmallCollectivesUnderComputeCostLittle) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    addCollectives(trace, 40, 4096, 100 * kUs, 10 * kUs, 0, 9 * kUs);  // covered on rank 0 only
    trace.execute("UPDATE collective SET bytes = 67108864, element_count = 16777216 WHERE sequence >= 35");
  }
  Filter first;
  first.rank = 0;
  const auto finding = findingOf(adviceOn(file, first), "small_collectives");
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->gain, Duration(40 * kUs));
  EXPECT_THAT(finding->arithmetic, HasSubstr("no more than the 40 µs of AllReduce while nothing computed"));
}

TEST(Rules, SmallCollectivesAloneHaveNothingToBeComparedWith) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    addCollectives(trace, 40, 4096, 100 * kUs, 10 * kUs, 0);
  }
  EXPECT_THAT(reasonOf(adviceOn(file), "small_collectives"), HasSubstr("no larger collectives"));
}

}  // namespace
}  // namespace plumb::test
