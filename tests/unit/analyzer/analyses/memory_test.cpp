// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/memory.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/unit/analyzer/testing.h"

namespace plumb::test {
namespace {

constexpr auto kParameter = static_cast<size_t>(MemoryCategory::Parameter);
constexpr auto kActivation = static_cast<size_t>(MemoryCategory::Activation);
constexpr auto kUnattributed = static_cast<size_t>(MemoryCategory::Unattributed);

TEST(Memory, PeakAndCategoriesByHand) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    const auto allocate = [&](int64_t start, int64_t address, int64_t bytes, std::optional<int64_t> freed) {
      trace.addAllocation({.process = rank.process,
                           .device = rank.device,
                           .startNs = start,
                           .address = address,
                           .bytes = bytes,
                           .freedNs = freed});
    };
    allocate(10, 1000, 100, {});
    trace.addRegion(rank.process, 12, 1000, 80, "parameter/w");  // 20 bytes of it stay unnamed
    allocate(20, 2000, 300, 40);
    trace.addRegion(rank.process, 21, 2000, 300, "activation/block 0", 39);
    allocate(40, 3000, 250, 60);  // begins when the other ends
    allocate(50, 4000, 30, 50);   // no time at all
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const MemoryAnalysis analysis = valueOf(analyzeMemory(trace));
  ASSERT_EQ(analysis.devices.size(), 1u);
  const DeviceMemory& memory = analysis.devices[0];
  EXPECT_EQ(memory.rank, 0);
  EXPECT_EQ(memory.peak.totalBytes, 400);
  EXPECT_EQ(memory.peak.time, TimePoint(20));  // named at 21, but for all its life
  std::vector<std::pair<int64_t, int64_t>> totals;
  for (const MemoryPoint& point : memory.points) {
    totals.emplace_back(point.time.ns(), point.totalBytes);
    EXPECT_EQ(std::accumulate(point.bytes.begin(), point.bytes.end(), int64_t{0}), point.totalBytes);
  }
  EXPECT_EQ(totals, (std::vector<std::pair<int64_t, int64_t>>{
                        {10, 100}, {12, 100}, {20, 400}, {40, 350}, {60, 100}, {1'000'000'000, 100}}));
  const MemoryPoint& declared = memory.points[2];
  EXPECT_EQ(declared.bytes[kParameter], 80);
  EXPECT_EQ(declared.bytes[kActivation], 300);
  EXPECT_EQ(declared.bytes[kUnattributed], 20);
  EXPECT_EQ(memory.allocationCount, 4);
  EXPECT_EQ(memory.reservedPeakBytes, 400);
  EXPECT_TRUE(memory.hasDeclarations);
}

TEST(Memory, ThePeakIsTakenAsItIsDeclaredNotAsItIsBorn) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    trace.addAllocation({.process = rank.process, .device = rank.device, .startNs = 10, .address = 1000, .bytes = 100});
    trace.addRegion(rank.process, 15, 1000, 60, "parameter/w");
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const DeviceMemory memory = valueOf(analyzeMemory(trace)).devices.at(0);
  EXPECT_EQ(memory.peak.totalBytes, 100);
  EXPECT_EQ(memory.peak.bytes[kParameter], 60);
  ASSERT_EQ(memory.liveAtPeak.size(), 2u);
  EXPECT_EQ(memory.liveAtPeak[0].name, "parameter/w");
  EXPECT_EQ(memory.liveAtPeak[0].bytes, 60);
  EXPECT_EQ(memory.liveAtPeak[1].name, "");
  EXPECT_EQ(memory.liveAtPeak[1].bytes, 40);
}

TEST(Memory, ANameOfAWholeAllocationHoldsFromItsBirth) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    trace.addAllocation({.process = rank.process, .device = rank.device, .startNs = 10, .address = 1000, .bytes = 100});
    trace.addRegion(rank.process, 15, 1000, 100, "parameter/w");
    trace.addAllocation(
        {.process = rank.process, .device = rank.device, .startNs = 20, .address = 2000, .bytes = 30, .freedNs = 50});
    trace.addRegion(rank.process, 25, 2000, 30, "activation/x", 45);
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const DeviceMemory memory = valueOf(analyzeMemory(trace)).devices.at(0);
  ASSERT_FALSE(memory.points.empty());
  for (const MemoryPoint& point : memory.points) EXPECT_EQ(point.bytes[kUnattributed], 0) << point.time.ns();
}

TEST(Memory, OtherSpacesDoNotBelongToThePeak) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    trace.addAllocation({.process = rank.process, .device = rank.device, .startNs = 10, .address = 1000, .bytes = 100});
    trace.addAllocation({.process = rank.process,
                         .device = {},
                         .startNs = 10,
                         .address = 9000,
                         .bytes = 5000,
                         .freedNs = 30,
                         .space = "pinned"});
    trace.addAllocation(
        {.process = rank.process, .device = {}, .startNs = 30, .address = 9000, .bytes = 6000, .space = "pinned"});
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const MemoryAnalysis analysis = valueOf(analyzeMemory(trace));
  EXPECT_EQ(analysis.devices.at(0).peak.totalBytes, 100);
  ASSERT_EQ(analysis.otherSpaces.size(), 1u);
  EXPECT_EQ(analysis.otherSpaces[0].spaces.at(0).space, "pinned");
  EXPECT_EQ(analysis.otherSpaces[0].spaces.at(0).peakBytes, 6000);
  EXPECT_EQ(analysis.otherSpaces[0].spaces.at(0).peakTime, TimePoint(30));
}

// A cache on one device is of no use on another.
TEST(Memory, WhatAnAllocatorReservesIsToldByDevice) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    const int64_t second = trace.addDevice(rank.process);
    for (const auto& [device, bytes] : {std::pair(rank.device, 100), {second, 300}, {second, 50}}) {
      trace.addAllocation({.process = rank.process,
                           .device = device,
                           .startNs = bytes,
                           .address = bytes * 1000,
                           .bytes = bytes,
                           .space = "reserved"});
    }
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const MemoryAnalysis analysis = valueOf(analyzeMemory(trace));
  ASSERT_EQ(analysis.otherSpaces.size(), 1u);
  std::vector<int64_t> peaks;
  for (const SpacePeak& peak : analysis.otherSpaces[0].spaces) {
    EXPECT_TRUE(peak.device.has_value());
    peaks.push_back(peak.peakBytes);
  }
  EXPECT_EQ(peaks, (std::vector<int64_t>{100, 350}));
}

TEST(Memory, APoolsReservationIsNotKnown) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    trace.addAllocation({.process = rank.process,
                         .device = rank.device,
                         .startNs = 10,
                         .address = 1000,
                         .bytes = 100,
                         .fromPool = true});
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const DeviceMemory memory = valueOf(analyzeMemory(trace)).devices.at(0);
  EXPECT_TRUE(memory.hasPool);
  EXPECT_EQ(memory.reservedPeakBytes, std::nullopt);
  EXPECT_EQ(memory.allocatedPeakBytes, 100);
}

TEST(Memory, WhatACacheHoldsIsReservedButNotAllocated) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    trace.addAllocation(
        {.process = rank.process, .device = rank.device, .startNs = 10, .address = 1000, .bytes = 1000});
    trace.addRegion(rank.process, 10, 1000, 1000, "cached/segment");
    trace.addRegion(rank.process, 20, 1000, 400, "activation/a", 30);
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const DeviceMemory memory = valueOf(analyzeMemory(trace)).devices.at(0);
  EXPECT_EQ(memory.reservedPeakBytes, 1000);
  EXPECT_EQ(memory.allocatedPeakBytes, 400);
}

TEST(Memory, ARegionMaySeemToBeginJustBeforeItsAllocation) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    trace.addRegion(rank.process, 9'000, 1000, 100, "parameter/w");  // another clock
    trace.addAllocation(
        {.process = rank.process, .device = rank.device, .startNs = 10'000, .address = 1000, .bytes = 100});
    trace.addRegion(rank.process, 0, 7000, 100, "input/host");  // in no device allocation
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const MemoryAnalysis analysis = valueOf(analyzeMemory(trace));
  EXPECT_EQ(analysis.devices.at(0).points.back().bytes[kParameter], 100);
  EXPECT_EQ(analysis.regionsOutsideAllocations, 1);
}

TEST(Memory, HostileSizesAreLeftOut) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    for (const int64_t bytes : {int64_t{-1}, int64_t{0}, INT64_MAX}) {
      trace.addAllocation(
          {.process = rank.process, .device = rank.device, .startNs = 10, .address = -100, .bytes = bytes});
      trace.addRegion(rank.process, 10, -100, bytes, "parameter/w");
    }
    trace.addAllocation(
        {.process = rank.process, .device = rank.device, .startNs = 10, .address = 100, .bytes = 50, .freedNs = -7});
  }
  Trace trace = valueOf(Trace::open(file.path()));
  EXPECT_TRUE(valueOf(analyzeMemory(trace)).devices.empty());
}

TEST(Memory, EveryCategoryOfTheSchemaIsKnown) {
  const TraceFile file;
  TraceBuilder(file.path()).finish();
  Trace trace = valueOf(Trace::open(file.path()));
  auto rows = valueOf(trace.query("SELECT name FROM memory_category ORDER BY position"));
  size_t position = 0;
  while (rows.next()) EXPECT_EQ(rows.text(0), nameOf(static_cast<MemoryCategory>(position++)));
  EXPECT_EQ(position, kMemoryCategoryCount);
}

}  // namespace
}  // namespace plumb::test
