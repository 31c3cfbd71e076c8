// SPDX-License-Identifier: Apache-2.0
// CUPTI's activity records -> ours. Pure: no state, no calls; names come in interned.
#pragma once
#include "collector/api/records.h"
#include "plugins/cupti/cupti_abi.h"

namespace plumb::cupti {

inline constexpr const char* kSoftwareDeviceName = "software device (CPU)";

KernelRecord convertKernel(const abi::Kernel& in, StringId name, Clock clock) noexcept;
MemoryCopyRecord convertMemcpy(const abi::Memcpy& in, Clock clock) noexcept;
MemoryCopyRecord convertMemcpyPeer(const abi::MemcpyPeer& in, Clock clock) noexcept;
MemorySetRecord convertMemset(const abi::Memset& in, Clock clock) noexcept;
ApiCallRecord convertApi(const abi::Api& in, StringId name, Clock clock) noexcept;
SynchronizationRecord convertSynchronization(const abi::Synchronization& in, Clock clock) noexcept;
AllocationRecord convertMemory(const abi::Memory& in, Clock clock) noexcept;
CorrelationLinkRecord convertExternalCorrelation(const abi::ExternalCorrelation& in) noexcept;
DeviceRecord convertDevice(const abi::Device& in, StringId name) noexcept;
StreamRecord convertStream(const abi::Stream& in, uint32_t deviceOrdinal) noexcept;

MemorySpace convertMemoryKind(uint32_t cuptiMemoryKind) noexcept;

// kEventNoTime if the times cannot be used (0: the device's buffer was exhausted; end before start), else 0.
uint32_t timeFlags(uint64_t start, uint64_t end) noexcept;

}  // namespace plumb::cupti
