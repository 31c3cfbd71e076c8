// SPDX-License-Identifier: Apache-2.0
#include "plugins/cupti/convert.h"

#include <cstring>

#include <gtest/gtest.h>

namespace plumb::cupti {
namespace {

TEST(ConvertKernel, EveryField) {
  abi::Kernel in{};
  in.kind = abi::kConcurrentKernel;
  in.start = 100;
  in.end = 250;
  in.correlationId = 7;
  in.deviceId = 1;
  in.contextId = 2;
  in.streamId = 13;
  in.gridX = 3;
  in.gridY = 4;
  in.gridZ = 5;
  in.blockX = 128;
  in.blockY = 2;
  in.blockZ = 1;
  in.registersPerThread = 64;
  in.staticSharedMemory = 1024;
  in.dynamicSharedMemory = 2048;
  in.localMemoryPerThread = 16;
  in.graphId = 9;
  in.graphNodeId = 77;
  const KernelRecord out = convertKernel(in, 42, Clock::kCupti);
  EXPECT_EQ(out.header.kind, RecordKind::kKernel);
  EXPECT_EQ(out.header.clock, Clock::kCupti);
  EXPECT_EQ(out.header.size_bytes, sizeof out);
  EXPECT_EQ(out.start_ns, 100);
  EXPECT_EQ(out.end_ns, 250);
  EXPECT_EQ(out.name, 42u);
  EXPECT_EQ(out.correlation, 7u);
  EXPECT_EQ(out.device_ordinal, 1u);
  EXPECT_EQ(out.context, 2u);
  EXPECT_EQ(out.stream, 13u);
  EXPECT_EQ(out.grid[0], 3);
  EXPECT_EQ(out.grid[1], 4);
  EXPECT_EQ(out.grid[2], 5);
  EXPECT_EQ(out.block[0], 128);
  EXPECT_EQ(out.block[1], 2);
  EXPECT_EQ(out.block[2], 1);
  EXPECT_EQ(out.registers_per_thread, 64u);
  EXPECT_EQ(out.static_shared_bytes, 1024u);
  EXPECT_EQ(out.dynamic_shared_bytes, 2048u);
  EXPECT_EQ(out.local_bytes_per_thread, 16u);
  EXPECT_EQ(out.graph_id, 9u);
  EXPECT_EQ(out.graph_node_id, 77u);
  EXPECT_EQ(out.flags, kEventFromGraph);
}

TEST(TimeFlags, SaysWhichTimesCannotBeUsed) {
  EXPECT_EQ(timeFlags(5, 9), 0u);
  EXPECT_EQ(timeFlags(5, 5), 0u) << "no length is a length";
  EXPECT_EQ(timeFlags(0, 0), kEventNoTime) << "the device's buffer was exhausted";
  EXPECT_EQ(timeFlags(5, 0), kEventNoTime) << "flushed before it ended";
  EXPECT_EQ(timeFlags(9, 5), kEventNoTime);
  EXPECT_EQ(timeFlags(5, UINT64_MAX), kEventNoTime);
}

TEST(ConvertMemcpy, EveryField) {
  abi::Memcpy in{};
  in.copyKind = 1;
  in.srcKind = 2;
  in.dstKind = 3;
  in.flags = 1;
  in.bytes = 4096;
  in.start = 10;
  in.end = 20;
  in.deviceId = 1;
  in.contextId = 2;
  in.streamId = 3;
  in.correlationId = 4;
  const MemoryCopyRecord out = convertMemcpy(in, Clock::kMonotonicRaw);
  EXPECT_EQ(out.header.kind, RecordKind::kMemoryCopy);
  EXPECT_EQ(out.header.clock, Clock::kMonotonicRaw);
  EXPECT_EQ(out.copy_kind, 1u);
  EXPECT_EQ(out.source_kind, 2u);
  EXPECT_EQ(out.target_kind, 3u);
  EXPECT_EQ(out.is_async, 1u);
  EXPECT_EQ(out.bytes, 4096u);
  EXPECT_EQ(out.start_ns, 10);
  EXPECT_EQ(out.end_ns, 20);
  EXPECT_EQ(out.device_ordinal, 1u);
  EXPECT_EQ(out.context, 2u);
  EXPECT_EQ(out.stream, 3u);
  EXPECT_EQ(out.correlation, 4u);
}

TEST(ConvertMemcpyPeer, KeepsTheStreamThatRanIt) {
  abi::MemcpyPeer in{};
  in.copyKind = 10;
  in.bytes = 64;
  in.start = 10;
  in.end = 20;
  in.deviceId = 0;
  in.streamId = 7;
  in.srcDeviceId = 0;
  in.dstDeviceId = 1;
  in.correlationId = 11;
  const MemoryCopyRecord out = convertMemcpyPeer(in, Clock::kCupti);
  EXPECT_EQ(out.copy_kind, 10u);
  EXPECT_EQ(out.bytes, 64u);
  EXPECT_EQ(out.stream, 7u);
  EXPECT_EQ(out.correlation, 11u);
}

TEST(ConvertMemset, EveryField) {
  abi::Memset in{};
  in.value = 0xFF;
  in.bytes = 12;
  in.start = 1;
  in.end = 2;
  in.streamId = 3;
  in.correlationId = 4;
  in.flags = 1;
  in.memoryKind = 3;
  const MemorySetRecord out = convertMemset(in, Clock::kCupti);
  EXPECT_EQ(out.header.kind, RecordKind::kMemorySet);
  EXPECT_EQ(out.value, 0xFFu);
  EXPECT_EQ(out.bytes, 12u);
  EXPECT_EQ(out.stream, 3u);
  EXPECT_EQ(out.correlation, 4u);
  EXPECT_EQ(out.is_async, 1u);
  EXPECT_EQ(out.memory_kind, 3u);
}

TEST(ConvertApi, ThreadLayerAndResult) {
  abi::Api in{};
  in.kind = abi::kDriver;
  in.start = 5;
  in.end = 8;
  in.threadId = 0xFFFFFFF0;  // a pthread_t cut to 32 bits is as good as any number
  in.correlationId = 3;
  in.returnValue = 2;
  const ApiCallRecord out = convertApi(in, 9, Clock::kCupti);
  EXPECT_EQ(out.header.kind, RecordKind::kApiCall);
  EXPECT_EQ(out.header.tid, 0xFFFFFFF0u);
  EXPECT_EQ(out.start_ns, 5);
  EXPECT_EQ(out.end_ns, 8);
  EXPECT_EQ(out.name, 9u);
  EXPECT_EQ(out.layer, 1u);
  EXPECT_EQ(out.correlation, 3u);
  EXPECT_EQ(out.result, 2);
  in.kind = abi::kRuntime;
  EXPECT_EQ(convertApi(in, 9, Clock::kCupti).layer, 0u);
}

TEST(ConvertSynchronization, NoStreamStaysNoStream) {
  abi::Synchronization in{};
  in.type = 4;
  in.start = 5;
  in.end = 8;
  in.streamId = UINT32_MAX;
  in.contextId = 1;
  in.cudaEventId = 6;
  in.correlationId = 3;
  const SynchronizationRecord out = convertSynchronization(in, Clock::kCupti);
  EXPECT_EQ(out.kind, 4u);
  EXPECT_EQ(out.stream, UINT32_MAX);
  EXPECT_EQ(out.context, 1u);
  EXPECT_EQ(out.event_id, 6u);
  EXPECT_EQ(out.correlation, 3u);
}

TEST(ConvertMemory, AllocationsAndReleases) {
  abi::Memory in{};
  in.operation = 1;
  in.memoryKind = 3;
  in.address = 0x7000;
  in.bytes = 256;
  in.timestamp = 99;
  in.streamId = 5;
  in.correlationId = 4;
  AllocationRecord out = convertMemory(in, Clock::kCupti);
  EXPECT_EQ(out.header.kind, RecordKind::kAllocation);
  EXPECT_EQ(out.is_free, 0u);
  EXPECT_EQ(out.space, MemorySpace::kDevice);
  EXPECT_EQ(out.address, 0x7000u);
  EXPECT_EQ(out.bytes, 256u);
  EXPECT_EQ(out.time_ns, 99);
  EXPECT_EQ(out.stream, UINT32_MAX) << "cudaMalloc is not stream-ordered";
  EXPECT_EQ(out.from_pool, 0u);
  in.operation = 2;
  in.isAsync = 1;
  in.poolType = 1;
  out = convertMemory(in, Clock::kCupti);
  EXPECT_EQ(out.is_free, 1u);
  EXPECT_EQ(out.stream, 5u);
  EXPECT_EQ(out.from_pool, 1u);
}

TEST(ConvertMemoryKind, EveryKind) {
  EXPECT_EQ(convertMemoryKind(0), MemorySpace::kUnknown);
  EXPECT_EQ(convertMemoryKind(1), MemorySpace::kPageable);
  EXPECT_EQ(convertMemoryKind(2), MemorySpace::kPinned);
  EXPECT_EQ(convertMemoryKind(3), MemorySpace::kDevice);
  EXPECT_EQ(convertMemoryKind(4), MemorySpace::kDevice);
  EXPECT_EQ(convertMemoryKind(5), MemorySpace::kManaged);
  EXPECT_EQ(convertMemoryKind(6), MemorySpace::kDeviceStatic);
  EXPECT_EQ(convertMemoryKind(7), MemorySpace::kManaged);
  EXPECT_EQ(convertMemoryKind(12345), MemorySpace::kUnknown);
}

TEST(ConvertDevice, UnitsAndKind) {
  abi::Device in{};
  in.name = "NVIDIA H100";
  in.globalMemorySize = 80ull << 30;
  in.globalMemoryBandwidth = 3'350'000'000;  // kB/s
  in.coreClockRate = 1'980'000;              // kHz
  in.numMultiprocessors = 132;
  in.maxWarpsPerMultiprocessor = 64;
  in.numThreadsPerWarp = 32;
  in.computeCapabilityMajor = 9;
  in.id = 3;
  for (uint8_t i = 0; i < 16; ++i) {
    in.uuid[i] = i;
  }
  DeviceRecord out = convertDevice(in, 5);
  EXPECT_EQ(out.name, 5u);
  EXPECT_EQ(out.memory_bytes, 80ull << 30);
  EXPECT_EQ(out.memory_bandwidth_bytes_per_s, 3'350'000'000'000u);
  EXPECT_EQ(out.core_clock_hz, 1'980'000'000u);
  EXPECT_EQ(out.multiprocessor_count, 132u);
  EXPECT_EQ(out.max_threads_per_multiprocessor, 2048u);
  EXPECT_EQ(out.compute_major, 9u);
  EXPECT_EQ(out.ordinal, 3u);
  EXPECT_EQ(std::memcmp(out.uuid, in.uuid, 16), 0);
  EXPECT_EQ(out.kind, DeviceKind::kGpu);
  in.name = kSoftwareDeviceName;
  EXPECT_EQ(convertDevice(in, 5).kind, DeviceKind::kSoftware);
  in.name = nullptr;
  EXPECT_EQ(convertDevice(in, 5).kind, DeviceKind::kGpu);
}

TEST(ConvertStream, PriorityIsSigned) {
  abi::Stream in{};
  in.contextId = 1;
  in.streamId = 14;
  in.priority = static_cast<uint32_t>(-5);
  in.flag = 2;
  const StreamRecord out = convertStream(in, 3);
  EXPECT_EQ(out.context, 1u);
  EXPECT_EQ(out.number, 14u);
  EXPECT_EQ(out.device_ordinal, 3u);
  EXPECT_EQ(out.priority, -5);
  EXPECT_EQ(out.kind, 2u);
}

}  // namespace
}  // namespace plumb::cupti
