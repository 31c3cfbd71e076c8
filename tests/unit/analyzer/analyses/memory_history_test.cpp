// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/memory_history.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "analyzer/analyses/memory_allocations.h"
#include "analyzer/analyses/memory_inference.h"
#include "analyzer/analyses/memory_series.h"
#include "tests/unit/analyzer/testing.h"

namespace plumb::test {
namespace {

struct Allocation {
  int64_t start, end, address, bytes;
  bool isDeclared;
};

// Random allocations that do not overlap, some of them declared; every moment is counted by hand.
class RandomMemory : public testing::Test {
 protected:
  static constexpr int64_t kLength = 400;
  void SetUp() override {
    std::mt19937 random(3);
    const auto number = [&](int64_t below) { return std::uniform_int_distribution<int64_t>(0, below - 1)(random); };
    const OneRank rank(m_builder);
    for (int64_t i = 0; i < 60; ++i) {
      const int64_t start = number(kLength);
      Allocation a{start, start + number(200), 10'000 * (i + 1), 1 + number(900), number(2) == 0};
      if (number(8) == 0) a.end = kLength * 2;  // lives on
      m_builder.addAllocation({.process = rank.process,
                               .device = rank.device,
                               .startNs = a.start,
                               .address = a.address,
                               .bytes = a.bytes,
                               .freedNs = a.end < kLength * 2 ? std::optional(a.end) : std::nullopt});
      if (a.isDeclared) m_builder.addRegion(rank.process, a.start, a.address, a.bytes, "activation/x");
      m_allocations.push_back(a);
    }
    m_builder.finish();
    m_trace.emplace(valueOf(Trace::open(m_file.path())));
  }
  [[nodiscard]] std::pair<int64_t, int64_t> liveAt(int64_t time) const {  // all, declared
    std::pair<int64_t, int64_t> live;
    for (const Allocation& a : m_allocations) {
      if (a.start > time || a.end <= time) continue;
      live.first += a.bytes;
      if (a.isDeclared) live.second += a.bytes;
    }
    return live;
  }
  TraceFile m_file;
  TraceBuilder m_builder{m_file.path()};
  std::vector<Allocation> m_allocations;
  std::optional<Trace> m_trace;
};

TEST_F(RandomMemory, EveryMomentOfAnyWindowIsTheSumOfWhatLives) {
  for (const auto& [from, to] : {std::pair<int64_t, int64_t>(0, kLength), {17, 18}, {50, 211}, {399, 800}}) {
    Filter filter;
    filter.from = TimePoint(from);
    filter.to = TimePoint(to);
    const DeviceMemory memory = valueOf(analyzeMemory(*m_trace, filter)).devices.at(0);
    int64_t peak = 0;
    auto point = memory.points.begin();
    for (int64_t t = from; t < std::min(to, kLength * 2); ++t) {
      while (point != memory.points.end() && std::next(point) != memory.points.end() &&
             std::next(point)->time <= TimePoint(t)) {
        ++point;
      }
      const auto [all, declared] = liveAt(t);
      peak = std::max(peak, all);
      if (point == memory.points.end() || point->time > TimePoint(t)) {
        EXPECT_EQ(all, 0) << t;
        continue;
      }
      EXPECT_EQ(point->totalBytes, all) << t;
      EXPECT_EQ(point->bytes[static_cast<size_t>(MemoryCategory::Activation)], declared) << t;
    }
    EXPECT_EQ(memory.peak.totalBytes, peak);
    int64_t listed = 0;
    for (const LiveMemory& live : memory.liveAtPeak) listed += live.bytes;
    EXPECT_EQ(listed, peak);
  }
}

TEST_F(RandomMemory, SamplesKeepThePeak) {
  const auto changes = valueOf(memorySeries(*m_trace, {}, std::nullopt));
  const auto samples = valueOf(memorySeries(*m_trace, {}, 10));
  EXPECT_LT(samples.size(), changes.size());
  const auto largest = [](const std::vector<MemorySample>& rows, std::string_view series) {
    int64_t most = 0;
    for (const MemorySample& row : rows) {
      if (row.series == series) most = std::max(most, row.bytes);
    }
    return most;
  };
  int64_t peak = 0;
  for (int64_t t = 0; t < kLength; ++t) peak = std::max(peak, liveAt(t).first);
  EXPECT_EQ(largest(changes, "allocated"), peak);
  EXPECT_EQ(largest(samples, "allocated"), peak);
  EXPECT_EQ(largest(samples, "reserved"), peak);  // no pool: each allocation is the driver's
  // Categories add up to what is allocated.
  std::map<TimePoint, int64_t> sums;
  for (const MemorySample& row : samples) {
    if (row.series == "allocated") sums[row.time] -= row.bytes;
    if (row.series != "allocated" && row.series != "reserved") sums[row.time] += row.bytes;
  }
  for (const MemorySample& row : samples) {
    if (row.series == "allocated") {
      EXPECT_EQ(sums[row.time], 0);
    }
  }
}

TEST_F(RandomMemory, GroupsHoldEveryAllocationOnce) {
  int64_t count = 0, bytes = 0, expected = 0;
  for (const AllocationGroup& group : valueOf(groupAllocations(*m_trace))) {
    count += group.count;
    bytes += group.bytes;
    EXPECT_LE(group.largestBytes, group.sizeClassBytes);
    EXPECT_GT(2 * group.largestBytes, group.sizeClassBytes);
    EXPECT_EQ(group.isDeclared, group.name == "activation/x");
  }
  for (const Allocation& a : m_allocations) expected += a.bytes;
  EXPECT_EQ(count, static_cast<int64_t>(m_allocations.size()));
  EXPECT_EQ(bytes, expected);
}

TEST(MemoryHistory, WhatHasNoAddressIsApart) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    const int64_t second = trace.addDevice(rank.process, {.ordinal = 1});
    for (const int64_t device : {rank.device, second}) {
      trace.addAllocation({.process = rank.process, .device = device, .startNs = 10, .address = 0, .bytes = 100});
    }
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const MemoryAnalysis analysis = valueOf(analyzeMemory(trace));
  ASSERT_EQ(analysis.devices.size(), 2u);
  for (const DeviceMemory& device : analysis.devices) {
    EXPECT_EQ(device.peak.totalBytes, 100);
    EXPECT_EQ(device.liveAtPeak.at(0).address, 0u);
  }
}

TrainingPhases twoSteps() {
  TrainingPhases phases;
  for (const int64_t begin : {100, 200}) {
    phases.steps.push_back(intervalOf(begin, 90));
    phases.forward.push_back(intervalOf(begin + 10, 30));
    phases.backward.push_back(intervalOf(begin + 40, 30));
    phases.optimizer.push_back(intervalOf(begin + 70, 15));
  }
  return phases;
}

TEST(InferCategory, EachRule) {
  const TrainingPhases phases = twoSteps();
  const auto infer = [&](int64_t start, std::optional<int64_t> end) {
    return inferCategory(TimePoint(start), end ? std::optional(TimePoint(*end)) : std::nullopt, phases);
  };
  EXPECT_EQ(infer(50, {}), MemoryCategory::Parameter);
  EXPECT_EQ(infer(50, 400), MemoryCategory::Parameter);
  EXPECT_EQ(infer(50, 150), MemoryCategory::Unattributed);
  EXPECT_EQ(infer(105, 195), MemoryCategory::Input);
  EXPECT_EQ(infer(105, {}), MemoryCategory::Unattributed);
  EXPECT_EQ(infer(115, 145), MemoryCategory::Activation);
  EXPECT_EQ(infer(115, 120), MemoryCategory::Workspace);
  EXPECT_EQ(infer(145, 150), MemoryCategory::Activation);
  EXPECT_EQ(infer(145, 205), MemoryCategory::Gradient);
  EXPECT_EQ(infer(145, {}), MemoryCategory::Gradient);
  EXPECT_EQ(infer(175, {}), MemoryCategory::OptimizerState);
  EXPECT_EQ(infer(175, 180), MemoryCategory::Workspace);
  EXPECT_EQ(infer(275, {}), MemoryCategory::Unattributed);  // a later optimizer phase
  EXPECT_EQ(infer(295, {}), MemoryCategory::Unattributed);  // after the steps
  EXPECT_EQ(inferCategory(TimePoint(0), {}, TrainingPhases()), MemoryCategory::Unattributed);
}

TEST(InferCategory, DeclaredAndInferredStayApartAndTheRuleIsMeasured) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    trace.addRange(rank.process, rank.thread, 100, 100, "step");
    trace.addRange(rank.process, rank.thread, 110, 30, "forward", 1);
    trace.addRange(rank.process, rank.thread, 140, 30, "backward", 1);
    const auto allocate = [&](int64_t start, int64_t address, int64_t bytes, std::optional<int64_t> freed) {
      trace.addAllocation({.process = rank.process,
                           .device = rank.device,
                           .startNs = start,
                           .address = address,
                           .bytes = bytes,
                           .freedNs = freed});
    };
    allocate(10, 1000, 50, {});  // a parameter, declared
    trace.addRegion(rank.process, 10, 1000, 50, "parameter/w");
    allocate(20, 2000, 30, {});  // gradients that are there from the start: taken for parameters
    trace.addRegion(rank.process, 20, 2000, 30, "gradient/w");
    allocate(115, 3000, 20, 150);  // not declared: an activation
    allocate(120, 4000, 5, {});    // not declared, and no rule fits
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const MemoryState peak = valueOf(analyzeMemory(trace)).devices.at(0).peak;
  EXPECT_EQ(peak.totalBytes, 105);
  EXPECT_EQ(peak.bytes[static_cast<size_t>(MemoryCategory::Parameter)], 50);
  EXPECT_EQ(peak.bytes[static_cast<size_t>(MemoryCategory::Activation)], 0);
  EXPECT_EQ(peak.inferred[static_cast<size_t>(MemoryCategory::Activation)], 20);
  EXPECT_EQ(peak.inferred[static_cast<size_t>(MemoryCategory::Unattributed)], 5);
  EXPECT_EQ(peak.bytes[static_cast<size_t>(MemoryCategory::Unattributed)], 25);
  const auto accuracy = valueOf(measureInference(trace, {}));
  ASSERT_EQ(accuracy.size(), 1u);
  const auto& parameter = accuracy[0].categories[static_cast<size_t>(MemoryCategory::Parameter)];
  EXPECT_EQ(parameter.declaredBytes, 50);
  EXPECT_EQ(parameter.rightBytes, 50);
  EXPECT_EQ(parameter.inferredBytes, 80);
  EXPECT_EQ(accuracy[0].categories[static_cast<size_t>(MemoryCategory::Gradient)].rightBytes, 0);
}

}  // namespace
}  // namespace plumb::test
