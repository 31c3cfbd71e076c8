// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/fusion_chains.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/analyzer/testing.h"

namespace plumb::test {
namespace {

// One rank of a device whose memory moves 1 byte/ns, and operators of it that launch a kernel each, one after another.
class Operators {
 public:
  explicit Operators(TraceBuilder& trace) : m_trace(trace), m_rank(trace) {
    trace.addRoof(m_rank.process, 0, "memory", 1e9);
    trace.addRoof(m_rank.process, 0, "fp32", 1e12);
  }

  // tensors: how many of 1000 floats it is called with. share: of the memory roof that its kernel attains.
  void run(const std::string& name, int tensors, int64_t bytes, double share) {
    const std::string id = std::to_string(++m_count), correlation = std::to_string(100 + m_count);
    std::string dims = "[", types = "[";
    for (int i = 0; i < tensors; ++i) {
      dims += i == 0 ? "[1000]" : ", [1000]";
      types += i == 0 ? R"("float")" : R"(, "float")";
    }
    m_trace.execute("INSERT INTO operator_argument_set VALUES (" + id + ", " + text(dims + "]") + ", " +
                    text(types + "]") + ", 0, 0, 0)");
    m_trace.execute(
        "INSERT INTO operator (id, process_id, thread_id, start_ns, duration_ns, name_id, argument_set_id)"
        " VALUES (" +
        id + ", " + std::to_string(m_rank.process) + ", " + std::to_string(m_rank.thread) + ", 0, 50, " + text(name) +
        ", " + id + ")");
    m_trace.execute("INSERT INTO operator_launch VALUES (" + std::to_string(m_rank.process) + ", " + correlation +
                    ", " + id + ")");
    m_trace.addKernel(
        m_rank.work(m_count * kPeriod, static_cast<int64_t>(static_cast<double>(bytes) / share), 100 + m_count),
        "kernel");
  }
  void runUnknown() {
    ++m_count;
    m_trace.addKernel(m_rank.work(m_count * kPeriod, 1000, 100 + m_count), "kernel");
  }

 private:
  static constexpr int64_t kPeriod = 100'000;
  std::string text(const std::string& value) { return std::to_string(m_trace.text(value)); }

  TraceBuilder& m_trace;
  OneRank m_rank;
  int64_t m_count = 0;
};

constexpr int64_t kTensor = 4000;  // bytes

TEST(FusionChains, SaveWhatOneWritesAndTheNextReads) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    Operators operators(trace);
    operators.run("aten::add", 2, 3 * kTensor, 0.8);
    operators.run("aten::relu", 1, 2 * kTensor, 0.8);
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const auto chains = valueOf(findFusionChains(trace, {}));
  ASSERT_EQ(chains.size(), 1u);
  EXPECT_EQ(chains[0].operations, "aten::add + aten::relu");
  EXPECT_EQ(chains[0].kernelCount, 2);
  EXPECT_EQ(chains[0].duration, Duration(5 * kTensor * 10 / 8));
  EXPECT_DOUBLE_EQ(chains[0].bytes, 5 * kTensor);
  EXPECT_DOUBLE_EQ(chains[0].betweenBytes, 2 * kTensor);
  EXPECT_EQ(chains[0].saved, Duration(2 * kTensor * 10 / 8));
  EXPECT_LT(chains[0].firstKernel, chains[0].lastKernel);
}

TEST(FusionChains, SaveAllButTheLastResult) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    Operators operators(trace);
    for (int i = 0; i < 4; ++i) operators.run("aten::relu", 1, 2 * kTensor, 0.8);
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const auto chains = valueOf(findFusionChains(trace, {}));
  ASSERT_EQ(chains.size(), 1u);
  EXPECT_EQ(chains[0].operations, "aten::relu repeatedly");
  EXPECT_DOUBLE_EQ(chains[0].betweenBytes, 6 * kTensor);  // of 8
}

TEST(FusionChains, HoldKernelsThatAreSlowerThanMemory) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    Operators operators(trace);
    operators.run("aten::relu", 1, 2 * kTensor, 0.8);
    operators.run("aten::relu", 1, 2 * kTensor, 0.3);
    operators.run("aten::relu", 1, 2 * kTensor, 0.8);
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const auto chains = valueOf(findFusionChains(trace, {}));
  ASSERT_EQ(chains.size(), 1u);
  EXPECT_EQ(chains[0].kernelCount, 3);
  EXPECT_EQ(chains[0].betweenBytes, 4 * kTensor) << "of 6 tensors that are read and written";
}

TEST(FusionChains, EndAtWorkFromACacheAndWhereNothingIsKnown) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    Operators operators(trace);
    operators.run("aten::relu", 1, 2 * kTensor, 0.8);
    operators.runUnknown();
    operators.run("aten::relu", 1, 2 * kTensor, 0.8);
    operators.run("aten::relu", 1, 2 * kTensor, 1.6);  // from a cache
    operators.run("aten::relu", 1, 2 * kTensor, 0.8);
  }
  Trace trace = valueOf(Trace::open(file.path()));
  EXPECT_TRUE(valueOf(findFusionChains(trace, {})).empty());
}

TEST(FusionChains, OfTheSameOperationsAreTold) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    Operators operators(trace);
    for (int i = 0; i < 3; ++i) {
      operators.run("aten::mul", 2, 3 * kTensor, 0.8);
      operators.run("aten::sigmoid", 1, 2 * kTensor, 0.8);
      operators.runUnknown();
    }
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const auto chains = valueOf(findFusionChains(trace, {}));
  ASSERT_EQ(chains.size(), 1u);
  EXPECT_EQ(chains[0].count, 3);
  Filter first;
  first.to = TimePoint(350'000);
  EXPECT_EQ(valueOf(findFusionChains(trace, first)).at(0).count, 1);
}

}  // namespace
}  // namespace plumb::test
