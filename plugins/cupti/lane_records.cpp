// SPDX-License-Identifier: Apache-2.0
// The lane's buffers: handed to CUPTI, and read when they come back.
#include "plugins/cupti/convert.h"
#include "plugins/cupti/lane.h"
#include "plugins/cupti/record_layout.h"

namespace plumb::cupti {
namespace {

constexpr int64_t kPatienceNs = 200'000'000;
constexpr uint32_t kFirstThatTakesNoBuffer = 27;  // CUDA 12.9; CUPTI before it crashes when it gets no buffer

}  // namespace

void Lane::requestBuffer(uint8_t** buffer, size_t* bytes, size_t* maxRecords) noexcept {
  *maxRecords = 0;
  *buffer = m_pool.take();
  if (!*buffer) {
    m_refusedBuffers.fetch_add(1, std::memory_order_relaxed);
    if (m_version < kFirstThatTakesNoBuffer) {
      *buffer = m_pool.takeBeyondCap();
    }
  }
  *bytes = *buffer ? BufferPool::kBlockBytes : 0;
}

void Lane::completeBuffer(uint8_t* buffer, size_t bytes, size_t validBytes) noexcept {
  if (!buffer) {
    return;
  }
  if (!m_pool.claim(buffer)) {
    m_doubleBuffers.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  validBytes = validBytes < bytes ? validBytes : bytes;
  const uint8_t* end = buffer + validBytes;
  const uint8_t* last = nullptr;
  CUpti_Activity* record = nullptr;
  while (validBytes && !m_dead.load(std::memory_order_relaxed)) {
    const CUptiResult result = m_table.activityGetNextRecord(buffer, validBytes, &record);
    const auto* here = reinterpret_cast<const uint8_t*>(record);
    if (result == CUPTI_ERROR_MAX_LIMIT_REACHED) {
      break;
    }
    if (result != CUPTI_SUCCESS || here < buffer || here >= end || (last && here <= last)) {
      m_badRecords.fetch_add(1, std::memory_order_relaxed);
      break;
    }
    last = here;
    const size_t needed = prefixBytes(static_cast<uint32_t>(record->kind));
    if (needed && needed <= static_cast<size_t>(end - here)) {
      convertRecord(record);
    } else if (needed) {
      m_badRecords.fetch_add(1, std::memory_order_relaxed);
    }
  }
  m_pool.giveBack(buffer, validBytes);
}

void Lane::rememberTargetThread(uint32_t tid) noexcept {
  const uint32_t bit = tid % kThreadBits;
  std::atomic<uint64_t>& word = m_targetThreads[bit / 64];
  const uint64_t mask = uint64_t{1} << (bit % 64);
  if ((word.load(std::memory_order_relaxed) & mask) == 0) {
    word.fetch_or(mask, std::memory_order_relaxed);
  }
}

bool Lane::isTargetThread(uint32_t tid) const noexcept {
  const uint32_t bit = tid % kThreadBits;
  return (m_targetThreads[bit / 64].load(std::memory_order_relaxed) >> (bit % 64) & 1) != 0;
}

template <class Record>
void Lane::write(const Record& record) noexcept {
  const bool patient = !isTargetThread(m_host.threadId());
  if (!patient || m_noPatience.load(std::memory_order_relaxed)) {
    const bool written = m_host.write(record);
    if (written && patient) {
      m_noPatience.store(false, std::memory_order_relaxed);
    }
    return;
  }
  if (!m_host.writePatiently(record, kPatienceNs)) {
    m_noPatience.store(true, std::memory_order_relaxed);
  }
}

void Lane::convertRecord(const CUpti_Activity* record) noexcept {
  switch (static_cast<uint32_t>(record->kind)) {
    case abi::kKernel:
    case abi::kConcurrentKernel: {
      const auto& in = *reinterpret_cast<const abi::Kernel*>(record);
      rememberContext(in.contextId, in.deviceId);
      const KernelRecord out = convertKernel(in, m_host.intern(in.name ? in.name : "unnamed kernel"), m_clock);
      m_badTimes.fetch_add(out.flags & kEventNoTime, std::memory_order_relaxed);
      if (!in.name) m_unnamedKernels.fetch_add(1, std::memory_order_relaxed);
      write(out);
      break;
    }
    case abi::kMemcpy: {
      const MemoryCopyRecord out = convertMemcpy(*reinterpret_cast<const abi::Memcpy*>(record), m_clock);
      m_badTimes.fetch_add(out.flags & kEventNoTime, std::memory_order_relaxed);
      write(out);
      break;
    }
    case abi::kMemcpyPeer: {
      const MemoryCopyRecord out = convertMemcpyPeer(*reinterpret_cast<const abi::MemcpyPeer*>(record), m_clock);
      m_badTimes.fetch_add(out.flags & kEventNoTime, std::memory_order_relaxed);
      write(out);
      break;
    }
    case abi::kMemset: {
      const MemorySetRecord out = convertMemset(*reinterpret_cast<const abi::Memset*>(record), m_clock);
      m_badTimes.fetch_add(out.flags & kEventNoTime, std::memory_order_relaxed);
      write(out);
      break;
    }
    case abi::kRuntime:
    case abi::kDriver:
      convertApiCall(*reinterpret_cast<const abi::Api*>(record));
      break;
    case abi::kSynchronization:
      write(convertSynchronization(*reinterpret_cast<const abi::Synchronization*>(record), m_clock));
      break;
    case abi::kMemory:
      write(convertMemory(*reinterpret_cast<const abi::Memory*>(record), m_clock));
      break;
    case abi::kExternalCorrelation: {
      const auto& in = *reinterpret_cast<const abi::ExternalCorrelation*>(record);
      if (in.externalKind == kCorrelationKind) {
        write(convertExternalCorrelation(in));
      }
      break;
    }
    case abi::kDevice: {
      const auto& in = *reinterpret_cast<const abi::Device*>(record);
      write(convertDevice(in, m_host.intern(in.name ? in.name : "unnamed device")));
      break;
    }
    case abi::kContext: {
      const auto& in = *reinterpret_cast<const abi::Context*>(record);
      rememberContext(in.contextId, in.deviceId);
      break;
    }
    case abi::kStream: {
      const auto& in = *reinterpret_cast<const abi::Stream*>(record);
      write(convertStream(in, deviceOf(in.contextId)));
      break;
    }
    default:
      break;
  }
}

void Lane::convertApiCall(const abi::Api& in) noexcept {
  rememberTargetThread(in.threadId);
  const StringId name =
      in.kind == abi::kRuntime ? m_names.runtime(m_table, m_host, in.cbid) : m_names.driver(m_table, m_host, in.cbid);
  write(convertApi(in, name, m_clock));
}

void Lane::rememberContext(uint32_t context, uint32_t device) noexcept {
  m_deviceOfContext[context % kContexts].store(device + 1, std::memory_order_relaxed);
}

uint32_t Lane::deviceOf(uint32_t context) const noexcept {
  const uint32_t known = m_deviceOfContext[context % kContexts].load(std::memory_order_relaxed);
  return known ? known - 1 : 0;  // one process, one device is the rule where the context's record is late
}

}  // namespace plumb::cupti
