// SPDX-License-Identifier: Apache-2.0
#include "collector/transport/record_check.h"

#include <array>
#include <cstring>

namespace plumb::transport {
namespace {

constexpr auto makeSizes() {
  std::array<uint32_t, static_cast<size_t>(RecordKind::kCount)> sizes{};
  const auto set = [&sizes](RecordKind kind, size_t bytes) {
    sizes[static_cast<size_t>(kind)] = static_cast<uint32_t>(bytes);
  };
  set(RecordKind::kString, sizeof(StringRecord));
  set(RecordKind::kThreadName, sizeof(ThreadNameRecord));
  set(RecordKind::kDevice, sizeof(DeviceRecord));
  set(RecordKind::kStream, sizeof(StreamRecord));
  set(RecordKind::kKernel, sizeof(KernelRecord));
  set(RecordKind::kMemoryCopy, sizeof(MemoryCopyRecord));
  set(RecordKind::kMemorySet, sizeof(MemorySetRecord));
  set(RecordKind::kApiCall, sizeof(ApiCallRecord));
  set(RecordKind::kSynchronization, sizeof(SynchronizationRecord));
  set(RecordKind::kAllocation, sizeof(AllocationRecord));
  set(RecordKind::kCorrelationLink, sizeof(CorrelationLinkRecord));
  set(RecordKind::kRangeBegin, sizeof(RangeBeginRecord));
  set(RecordKind::kRangeEnd, sizeof(RangeEndRecord));
  set(RecordKind::kPayloadField, sizeof(PayloadFieldRecord));
  set(RecordKind::kMemoryRegion, sizeof(MemoryRegionRecord));
  set(RecordKind::kMemoryRegionEnd, sizeof(MemoryRegionEndRecord));
  set(RecordKind::kCommunicator, sizeof(CommunicatorRecord));
  set(RecordKind::kCollective, sizeof(CollectiveRecord));
  set(RecordKind::kCollectiveDetail, sizeof(CollectiveDetailRecord));
  set(RecordKind::kLibraryCall, sizeof(LibraryCallRecord));
  set(RecordKind::kCounterSample, sizeof(CounterSampleRecord));
  set(RecordKind::kClockPair, sizeof(ClockPairRecord));
  set(RecordKind::kPlugin, sizeof(PluginRecord));
  set(RecordKind::kDiagnostic, sizeof(DiagnosticRecord));
  return sizes;
}

constexpr auto kSizes = makeSizes();

constexpr bool everyKindHasASize() {
  for (size_t kind = 1; kind < kSizes.size(); ++kind) {
    if (kSizes[kind] < sizeof(RecordHeader)) {
      return false;
    }
  }
  return true;
}
static_assert(everyKindHasASize(), "a new record kind is missing here");

}  // namespace

uint32_t minimumRecordBytes(RecordKind kind) noexcept {
  const auto index = static_cast<size_t>(kind);
  return index < kSizes.size() ? kSizes[index] : 0;
}

uint32_t wellFormedRecordBytes(std::span<const std::byte> bytes) noexcept {
  if (bytes.size() < sizeof(RecordHeader)) {
    return 0;
  }
  RecordHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  const uint32_t size = header.size_bytes;
  if (size < sizeof(RecordHeader) || size % 8 != 0 || size > bytes.size() || size < minimumRecordBytes(header.kind) ||
      header.clock > Clock::kCupti || header.kind == RecordKind::kInvalid) {
    return 0;
  }
  if (header.kind == RecordKind::kString) {
    StringRecord string;
    std::memcpy(&string, bytes.data(), sizeof string);
    if (string.length_bytes > size - sizeof(StringRecord)) {
      return 0;
    }
  }
  return size;
}

}  // namespace plumb::transport
