// SPDX-License-Identifier: Apache-2.0
#include "plugins/cupti/record_layout.h"

#include <cstring>

#include "plugins/cupti/cupti_abi.h"

namespace plumb::cupti {

size_t probeRecordBytes(const CuptiTable& table, uint32_t kind) noexcept {
  constexpr size_t kProbeBytes = 2048;
  alignas(8) uint8_t buffer[kProbeBytes] = {};
  // Whatever the length, a record of a known kind follows; cuptiActivityGetNextRecord says where.
  const uint32_t next = abi::kRuntime;
  for (size_t offset = 8; offset + sizeof next <= kProbeBytes; offset += 8) {
    memcpy(buffer + offset, &next, sizeof next);
  }
  memcpy(buffer, &kind, sizeof kind);
  auto* record = reinterpret_cast<CUpti_Activity*>(buffer);
  if (table.activityGetNextRecord(buffer, kProbeBytes, &record) != CUPTI_SUCCESS) {
    return 0;
  }
  const auto* found = reinterpret_cast<const uint8_t*>(record);
  return found > buffer && found < buffer + kProbeBytes ? static_cast<size_t>(found - buffer) : 0;
}

size_t prefixBytes(uint32_t kind) noexcept {
  switch (kind) {
    case abi::kMemcpy:
      return sizeof(abi::Memcpy);
    case abi::kMemset:
      return sizeof(abi::Memset);
    case abi::kKernel:
    case abi::kConcurrentKernel:
      return sizeof(abi::Kernel);
    case abi::kDriver:
    case abi::kRuntime:
      return sizeof(abi::Api);
    case abi::kDevice:
      return sizeof(abi::Device);
    case abi::kContext:
      return sizeof(abi::Context);
    case abi::kMemcpyPeer:
      return sizeof(abi::MemcpyPeer);
    case abi::kStream:
      return sizeof(abi::Stream);
    case abi::kSynchronization:
      return sizeof(abi::Synchronization);
    case abi::kExternalCorrelation:
      return sizeof(abi::ExternalCorrelation);
    case abi::kMemory:
      return sizeof(abi::Memory);
    default:
      return 0;
  }
}

}  // namespace plumb::cupti
