// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/memory_growth.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "analyzer/analyses/fragmentation.h"
#include "analyzer/analyses/hand_calculation.h"
#include "tests/unit/analyzer/testing.h"

namespace plumb::test {
namespace {

class Growth : public testing::Test {
 protected:
  Growth() : m_rank(m_builder) {}
  void allocate(int64_t start, std::optional<int64_t> freed, int64_t bytes, const std::string& name) {
    m_address += 100'000;
    m_builder.addAllocation({.process = m_rank.process,
                             .device = m_rank.device,
                             .startNs = start,
                             .address = m_address,
                             .bytes = bytes,
                             .freedNs = freed});
    if (!name.empty()) m_builder.addRegion(m_rank.process, start, m_address, bytes, name);
  }
  void steps(int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      m_builder.addRange(m_rank.process, m_rank.thread, 1000 + 100 * i, 90, "step");
    }
  }
  DeviceGrowth analyze(const Filter& filter = {}) {
    m_builder.finish();
    Trace trace = valueOf(Trace::open(m_file.path()));
    auto devices = valueOf(memoryGrowth(trace, filter));
    return devices.empty() ? DeviceGrowth{} : devices.at(0);
  }
  static const NameGrowth* find(const DeviceGrowth& growth, const std::string& name) {
    const auto found = std::ranges::find(growth.names, name, &NameGrowth::name);
    return found == growth.names.end() ? nullptr : &*found;
  }
  TraceFile m_file;
  TraceBuilder m_builder{m_file.path()};
  OneRank m_rank;
  int64_t m_address = 0;
};

TEST_F(Growth, WhatIsKeptEachStepGrowsAndWhatIsFreedDoesNot) {
  steps(6);
  allocate(10, {}, 500, "parameter/w");  // before all steps
  for (int64_t i = 0; i < 6; ++i) {
    allocate(1010 + 100 * i, 1050 + 100 * i, 70, "activation/a");
    allocate(1020 + 100 * i, {}, 9, "unattributed/log");  // kept
  }
  const DeviceGrowth growth = analyze();
  ASSERT_EQ(growth.steps.size(), 6u);
  EXPECT_EQ(growth.steps[0].liveBytes, 509);
  EXPECT_EQ(growth.steps[5].liveBytes, 500 + 6 * 9);
  ASSERT_EQ(growth.names.size(), 1u);
  const NameGrowth& log = growth.names[0];
  EXPECT_EQ(log.name, "unattributed/log");
  EXPECT_EQ(log.growth(), 45);
  EXPECT_EQ(log.grewCount, 5);
  EXPECT_EQ(log.survivorCount, 3);  // of steps 1, 2 and 3: live at the ends of more than 2 steps
}

TEST_F(Growth, OneThatOutlivesItsLikeIsASurvivor) {
  steps(6);
  for (int64_t i = 0; i < 6; ++i) {
    const bool isKept = i == 1;
    allocate(1010 + 100 * i, isKept ? std::nullopt : std::optional(1110 + 100 * i), 64, "activation/a");
  }
  const DeviceGrowth growth = analyze();
  const NameGrowth* a = find(growth, "activation/a");
  ASSERT_TRUE(a);
  EXPECT_EQ(a->survivorCount, 1);
  EXPECT_EQ(a->survivorBytes, 64);
  EXPECT_EQ(a->category, MemoryCategory::Activation);
}

TEST_F(Growth, WithoutNamesTheSizeIsTheName) {
  steps(3);
  for (int64_t i = 0; i < 3; ++i) allocate(1010 + 100 * i, {}, 77, "");
  EXPECT_TRUE(find(analyze(), "unnamed, 77 bytes"));
}

TEST_F(Growth, OneStepSaysNothing) {
  steps(1);
  allocate(10, {}, 5, "");
  EXPECT_TRUE(analyze().steps.empty());
}

TEST_F(Growth, LiveAtEachStepsEndIsCountedByHand) {
  std::mt19937 random(9);
  const auto number = [&](int64_t below) { return std::uniform_int_distribution<int64_t>(0, below - 1)(random); };
  struct Life {
    int64_t start, end, bytes;
  };
  std::vector<Life> lives;
  steps(8);
  for (int i = 0; i < 80; ++i) {
    const int64_t start = 900 + number(950);
    Life life{start, start + 1 + number(600), 1 + number(50)};
    if (number(6) == 0) life.end = 100'000;
    allocate(life.start, life.end < 100'000 ? std::optional(life.end) : std::nullopt, life.bytes,
             i % 3 ? "activation/" + std::to_string(i % 5) : "");
    lives.push_back(life);
  }
  const DeviceGrowth growth = analyze();
  ASSERT_EQ(growth.steps.size(), 8u);
  int64_t grown = 0;
  for (const NameGrowth& name : growth.names) grown += name.growth();
  EXPECT_EQ(grown, growth.steps.back().liveBytes - growth.steps.front().liveBytes);
  for (const StepMemory& step : growth.steps) {
    const int64_t end = 1090 + 100 * step.step;  // what happens at the very end belongs to what follows
    int64_t live = 0;
    for (const Life& life : lives) live += life.start < end && life.end >= end ? life.bytes : 0;
    EXPECT_EQ(step.liveBytes, live) << step.step;
  }
}

class Fragments : public testing::Test {
 protected:
  Fragments() : m_rank(m_builder) {}
  void add(int64_t start, std::optional<int64_t> end, int64_t address, int64_t bytes, const std::string& space,
           bool fromPool = true) {
    m_builder.addAllocation({.process = m_rank.process,
                             .device = m_rank.device,
                             .startNs = start,
                             .address = address,
                             .bytes = bytes,
                             .freedNs = end,
                             .space = space,
                             .fromPool = fromPool});
  }
  DeviceFragmentation analyze(const Filter& filter = {}) {
    m_builder.finish();
    Trace trace = valueOf(Trace::open(m_file.path()));
    return valueOf(analyzeFragmentation(trace, filter)).at(0);
  }
  TraceFile m_file;
  TraceBuilder m_builder{m_file.path()};
  OneRank m_rank;
};

TEST_F(Fragments, TheLargestFreeBlockOfSegments) {
  add(10, {}, 1000, 100, "reserved");
  add(20, {}, 5000, 200, "reserved");
  add(30, {}, 1000, 40, "device");  // leaves 60 behind it
  add(31, {}, 5050, 50, "device");  // leaves 50 and 100
  add(30, 90, 5150, 20, "pending_free");
  const DeviceFragmentation device = analyze();
  EXPECT_EQ(device.source, ReservedSource::Segments);
  const FragmentationMoment& end = device.moments.back();
  EXPECT_STREQ(end.what, "end");
  EXPECT_EQ(end.reservedBytes, 300);
  EXPECT_EQ(end.allocatedBytes, 90);
  EXPECT_EQ(end.segmentCount, 2);
  EXPECT_EQ(end.freeBytes, 60 + 50 + 50 + 30);  // 31, before the pending block is free
  EXPECT_EQ(end.largestFreeBytes, 60);
  EXPECT_STREQ(device.moments[0].what, "most reserved");
  EXPECT_EQ(device.moments[0].time, TimePoint(31)) << "when most of it was handed out";
}

TEST_F(Fragments, FreeBytesAreThoseOfEveryByte) {
  std::mt19937 random(4);
  const auto number = [&](int64_t below) { return std::uniform_int_distribution<int64_t>(0, below - 1)(random); };
  std::vector<bool> isReserved(4000), isTaken(4000);
  for (int64_t at = number(50); at < 3500; at += 1 + number(300)) {
    const int64_t bytes = 1 + number(250);
    add(10, {}, 100'000 + at, bytes, "reserved");
    for (int64_t i = at; i < at + bytes; ++i) isReserved[static_cast<size_t>(i)] = true;
    for (int64_t inside = at + number(20); inside < at + bytes; inside += 1 + number(60)) {
      const int64_t length = std::min(1 + number(40), at + bytes - inside);
      add(20, {}, 100'000 + inside, length, "device");
      for (int64_t i = inside; i < inside + length; ++i) isTaken[static_cast<size_t>(i)] = true;
      inside += length;
    }
    at += bytes;
  }
  int64_t free = 0, run = 0, largest = 0;
  for (size_t i = 0; i < isReserved.size(); ++i) {
    const bool isFree = isReserved[i] && !isTaken[i];
    free += isFree;
    run = isFree ? run + 1 : 0;
    largest = std::max(largest, run);
  }
  const DeviceFragmentation device = analyze();
  const FragmentationMoment& end = device.moments.back();
  EXPECT_EQ(end.freeBytes, free);
  EXPECT_EQ(end.largestFreeBytes, largest);
  EXPECT_EQ(*end.reservedBytes - end.allocatedBytes, free);
}

TEST_F(Fragments, TheAllocatorsCountersAreItsWord) {
  add(10, {}, 1000, 40, "device");
  const auto sample = [&](int64_t time, const std::string& name, int64_t value) {
    m_builder.execute("INSERT INTO counter_sample VALUES (" + std::to_string(m_rank.process) + ", " +
                      std::to_string(time) + ", " + std::to_string(m_builder.text(name)) + ", " +
                      std::to_string(value) + ")");
  };
  sample(10, "torch reserved bytes, device 0", 1000);
  sample(20, "torch reserved bytes, device 0", 3000);
  sample(10, "torch allocated bytes, device 0", 400);
  sample(30, "torch allocated bytes, device 0", 2900);
  const DeviceFragmentation device = analyze();
  EXPECT_EQ(device.source, ReservedSource::Counter);
  EXPECT_EQ(device.moments[0].reservedBytes, 3000);
  EXPECT_EQ(device.moments[0].allocatedBytes, 2900) << "the most while so much was reserved";
  EXPECT_EQ(device.moments[2].allocatedBytes, 2900);
  EXPECT_EQ(device.moments[0].freeBytes, std::nullopt);
}

TEST_F(Fragments, APoolWithoutASizeCannotBeSaid) {
  add(10, {}, 1000, 40, "device");
  const DeviceFragmentation device = analyze();
  EXPECT_EQ(device.source, ReservedSource::Unknown);
  ASSERT_EQ(device.moments.size(), 1u);
  EXPECT_EQ(device.moments[0].reservedBytes, std::nullopt);
  EXPECT_EQ(device.moments[0].allocatedBytes, 40);
}

TEST_F(Growth, ByHandAShardedAdamW) {
  steps(2);
  allocate(10, {}, 4000, "parameter/w.shard");
  allocate(11, {}, 4000, "gradient/w.shard");
  allocate(12, {}, 4000, "optimizer_state/w.m");
  allocate(13, {}, 4000, "optimizer_state/w.v");
  allocate(1010, 1080, 500, "activation/a");
  allocate(1010, 1080, 300, "parameter/w.cast");  // lives in one step only
  m_builder.execute("UPDATE process SET world_size = 2");
  m_builder.finish();
  Trace trace = valueOf(Trace::open(m_file.path()));
  const HandCalculation hand = valueOf(calculateByHand(trace)).at(0);
  EXPECT_EQ(hand.parameterCount, 1000);
  EXPECT_EQ(hand.shardedOver, 2);
  EXPECT_EQ(hand.optimizerFactor, 2);
  ASSERT_GE(hand.rows.size(), 5u);
  EXPECT_EQ(hand.rows[0].expectedBytes, 4000);
  EXPECT_EQ(hand.rows[0].measuredBytes, 4300);
  EXPECT_EQ(hand.rows[1].expectedBytes, std::nullopt);  // no collective tells what of the gradients is whole
  EXPECT_NE(hand.rows[1].note.find("cannot say, because the last step has no reduce-scatter"), std::string::npos);
  EXPECT_EQ(hand.rows[2].expectedBytes, 8000);
  EXPECT_EQ(hand.rows[3].expectedBytes, std::nullopt);
  EXPECT_EQ(hand.rows[5].component, "activation");
  EXPECT_EQ(hand.rows[5].expectedBytes, std::nullopt);
}

TEST_F(Growth, ByHandTheWholeLayersInFlightAreThoseOfTheCollectives) {
  steps(2);
  allocate(10, {}, 4000, "parameter/w.shard");
  allocate(11, {}, 4000, "gradient/w.shard");
  allocate(1110, 1180, 3300, "gradient/block 1/whole");
  allocate(1110, 1180, 1700, "communication_buffer/gathered");
  m_builder.execute("UPDATE process SET world_size = 4");
  const int64_t communicator = m_builder.addCommunicator(m_rank.process, 7, 2, 0);  // replicated over two groups
  const auto collective = [&](int64_t start, const char* operation, int64_t bytes) {
    m_builder.addCollective({.process = m_rank.process,
                             .thread = m_rank.thread,
                             .communicator = communicator,
                             .startNs = start,
                             .operation = operation,
                             .bytes = bytes});
  };
  for (const int64_t bytes : {100, 700, 800, 800, 700}) collective(1110, "AllGather", bytes);
  for (const int64_t bytes : {1600, 1400, 200}) collective(1150, "ReduceScatter", bytes);
  m_builder.finish();
  Trace trace = valueOf(Trace::open(m_file.path()));
  const HandCalculation hand = valueOf(calculateByHand(trace)).at(0);
  EXPECT_EQ(hand.shardedOver, 2);
  EXPECT_EQ(hand.rows[1].formula, "4 P + 1600 + 200");
  EXPECT_EQ(hand.rows[1].expectedBytes, 4000 + 1600 + 200);
  EXPECT_EQ(hand.rows[3].expectedBytes, 2 * 4000 + 1600 + 200);
  const auto buffers = std::ranges::find(hand.rows, "communication_buffer", &HandRow::component);
  ASSERT_NE(buffers, hand.rows.end());
  EXPECT_EQ(buffers->formula, "100 + 800 + 700");
}

TEST(LayersInFlight, WeightsThatAreNotGatheredAgainAreAllThere) {
  const LayersInFlight flight = layersInFlight(
      {{false, 100, 2}, {false, 700, 2}, {false, 700, 2}, {true, 1400, 2}, {true, 1400, 2}, {true, 200, 2}});
  EXPECT_TRUE(flight.keepsWeights);
  EXPECT_EQ(flight.weightBytes, (std::vector<int64_t>{100, 700, 700}));
  EXPECT_EQ(flight.gradientBytes, (std::vector<int64_t>{1400, 200}));
  EXPECT_EQ(layersInFlight({{true, 50, 2}}).gradientBytes, std::vector<int64_t>{50});
}

TEST_F(Growth, ByHandWithoutParametersCannotBeSaid) {
  allocate(10, {}, 4000, "");
  m_builder.finish();
  Trace trace = valueOf(Trace::open(m_file.path()));
  EXPECT_EQ(valueOf(calculateByHand(trace)).at(0).parameterCount, std::nullopt);
}

}  // namespace
}  // namespace plumb::test
