// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/communication_matrix.h"

#include <gtest/gtest.h>

#include <map>

#include "analyzer/analyses/collective_references.h"
#include "analyzer/analyses/collectives.h"
#include "tests/unit/analyzer/testing.h"

namespace plumb::test {
namespace {

// Over all ranks, what is sent is bus factor x n x bytes of what each rank would send through the bus, by definition.
TEST(SentBy, AddsUpToTheBusFactor) {
  for (int64_t n = 1; n <= 9; ++n) {
    for (const char* operation : {"AllReduce", "AllGather", "ReduceScatter", "AllToAll"}) {
      double sum = 0;
      for (int64_t position = 0; position < n; ++position) {
        TrafficConvention convention{};
        for (const Sent& sent : sentBy(operation, position, n, 840, 0, convention)) {
          EXPECT_NE(sent.target, position);
          EXPECT_GE(sent.target, 0);
          EXPECT_LT(sent.target, n);
          sum += sent.bytes;
        }
      }
      EXPECT_NEAR(sum, static_cast<double>(n) * 840 * busFactorOf(operation, n).factor, 1e-9) << operation << n;
    }
    for (const char* operation : {"Broadcast", "Reduce"}) {
      double sum = 0;
      for (int64_t position = 0; position < n; ++position) {
        TrafficConvention convention{};
        for (const Sent& sent : sentBy(operation, position, n, 840, n / 2, convention)) sum += sent.bytes;
      }
      EXPECT_EQ(sum, 840.0 * static_cast<double>(n - 1)) << operation << n;
    }
  }
}

class Matrix : public testing::Test {
 protected:
  OneRank addRank(int64_t rank, int64_t worldSize) {
    OneRank added(m_builder, rank, worldSize);
    m_communicators[rank] = m_builder.addCommunicator(added.process, 5, worldSize, rank);
    return added;
  }
  int64_t add(const OneRank& rank, int64_t number, const std::string& operation, int64_t bytes, int64_t start = 0) {
    return m_builder.addCollective({.process = rank.process,
                                    .thread = rank.thread,
                                    .communicator = m_communicators[number],
                                    .startNs = start,
                                    .operation = operation,
                                    .sequence = m_sequence++,
                                    .bytes = bytes});
  }
  std::map<std::pair<int64_t, int64_t>, double> bytes(const Filter& filter = {}) {
    m_builder.finish();
    Trace trace = valueOf(Trace::open(m_file.path()));
    m_matrix = valueOf(communicationMatrix(trace, filter));
    std::map<std::pair<int64_t, int64_t>, double> found;
    for (const Traffic& t : m_matrix.traffic) found[{t.source.value_or(-1), t.target.value_or(-1)}] += t.bytes;
    return found;
  }
  TraceFile m_file;
  TraceBuilder m_builder{m_file.path()};
  std::map<int64_t, int64_t> m_communicators;
  int64_t m_sequence = 0;
  CommunicationMatrix m_matrix;
};

TEST_F(Matrix, SendsAreExactAndAReceiveCountsOnlyFromAMissingRank) {
  const OneRank a = addRank(0, 3), b = addRank(1, 3);
  const int64_t send = add(a, 0, "Send", 100), receive = add(b, 1, "Recv", 100), other = add(b, 1, "Recv", 7);
  m_builder.execute("UPDATE collective SET peer = 1 WHERE id = " + std::to_string(send));
  m_builder.execute("UPDATE collective SET peer = 0 WHERE id = " + std::to_string(receive));
  m_builder.execute("UPDATE collective SET peer = 2 WHERE id = " + std::to_string(other));
  const auto found = bytes();
  EXPECT_EQ(found.at({0, 1}), 100);
  EXPECT_EQ(found.at({-1, 1}), 7);  // position 2 is no rank that the file names
  EXPECT_EQ(m_matrix.traffic.size(), 2u);
}

TEST_F(Matrix, ARingGoesToTheNextRank) {
  const OneRank a = addRank(0, 2), b = addRank(1, 2);
  add(a, 0, "AllReduce", 1000);
  add(b, 1, "AllReduce", 1000);
  add(b, 1, "AllGather", 1000, 500);
  Filter early;
  early.to = TimePoint(100);
  const auto found = bytes(early);
  EXPECT_EQ(found, (std::map<std::pair<int64_t, int64_t>, double>{{{0, 1}, 1000}, {{1, 0}, 1000}}));
  EXPECT_EQ(m_matrix.traffic[0].convention, TrafficConvention::Ring);
}

TEST_F(Matrix, SplitSizesSayWhatGoesWhere) {
  const OneRank a = addRank(0, 2);
  addRank(1, 2);
  const int64_t id = add(a, 0, "AllToAll", 1000);
  m_builder.execute("INSERT INTO collective_detail VALUES (" + std::to_string(id) + ", 100, 100, " +
                    std::to_string(m_builder.text("[25, 75]")) + ", NULL, 0, NULL)");
  EXPECT_EQ(bytes().at({0, 1}), 750);
  EXPECT_EQ(m_matrix.traffic[0].convention, TrafficConvention::Exact);
}

TEST_F(Matrix, WithoutAPlaceItCannotBeSaid) {
  const OneRank a(m_builder, 0, 2);
  m_communicators[0] = m_builder.addCommunicator(a.process, 5, 4, -1);
  add(a, 0, "AllReduce", 1000);
  EXPECT_TRUE(bytes().empty());
  EXPECT_EQ(m_matrix.withoutPlace, 1);
}

TEST(CollectiveReferences, ABenchmarkOfTheSameKindIsInterpolated) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    const auto add = [&](int64_t ranks, int64_t bytes, int64_t ns) {
      const double algbw = static_cast<double>(bytes) / (static_cast<double>(ns) * 1e-9);
      trace.execute(
          "INSERT INTO collective_benchmark (source_id, operation_id, datatype_id, reduction_id,"
          " device_name_id, n_ranks, n_hosts, bytes, element_count, in_place, duration_ns,"
          " algbw_bytes_per_s, busbw_bytes_per_s) VALUES (" +
          std::to_string(trace.text("all_reduce.txt")) + ", " + std::to_string(trace.text("AllReduce")) + ", 0, 0, " +
          std::to_string(trace.text("A100")) + ", " + std::to_string(ranks) + ", 1, " + std::to_string(bytes) +
          ", 1, 0, " + std::to_string(ns) + ", " + std::to_string(algbw) + ", " +
          std::to_string(algbw * 2 * static_cast<double>(ranks - 1) / static_cast<double>(ranks)) + ")");
    };
    add(8, 1000, 1000);
    add(8, 3000, 2000);
    add(4, 2000, 10);
    trace.addRoof(rank.process, 0, "network", 5e9);
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const auto references = valueOf(CollectiveReferences::load(trace));
  const auto between = references.find("AllReduce", 8, 2000);
  ASSERT_TRUE(between);
  EXPECT_NEAR(between->busbwBytesPerSecond, 2000 / 1500e-9 * 1.75, 1);
  EXPECT_EQ(between->source, "nccl-tests all_reduce.txt, 8 ranks of A100");
  EXPECT_NEAR(references.find("AllReduce", 8, 3000)->busbwBytesPerSecond, 3000 / 2000e-9 * 1.75, 1);
  EXPECT_NEAR(references.find("AllReduce", 8, 99'000)->busbwBytesPerSecond, 3000 / 2000e-9 * 1.75, 1);
  EXPECT_EQ(references.find("AllGather", 8, 2000)->source, "measured network roof");
  EXPECT_EQ(references.find("AllGather", 8, 2000)->busbwBytesPerSecond, 5e9);
  EXPECT_EQ(references.whyNoBenchmark("AllReduce", 8), "");
  EXPECT_EQ(references.whyNoBenchmark("AllReduce", 2), "nccl-tests measured this with 4, 8 ranks, not 2");
  EXPECT_EQ(references.whyNoBenchmark("AllGather", 8), "nccl-tests measured only AllReduce");
}

TEST(CollectiveReferences, WithoutAnyThereIsNone) {
  const TraceFile file;
  { const TraceBuilder trace(file.path()); }
  Trace trace = valueOf(Trace::open(file.path()));
  EXPECT_FALSE(valueOf(CollectiveReferences::load(trace)).find("AllReduce", 8, 1));
}

}  // namespace
}  // namespace plumb::test
