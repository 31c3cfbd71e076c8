// SPDX-License-Identifier: Apache-2.0
#include "plugins/memory/calls.h"

#include <cstring>

namespace plumb::memory {
namespace {

bool off() noexcept { return !lane().isOn.load(std::memory_order_relaxed); }

StringId internMessage(uint32_t type, const nvtxMessageValue_t& message) noexcept {
  switch (type) {
    case NVTX_MESSAGE_TYPE_ASCII:
      return lane().host.intern(message.ascii);
    // Plugin nvtx hands out the StringId of the text as the handle (plugins/nvtx/convert.h).
    case NVTX_MESSAGE_TYPE_REGISTERED:
      return reinterpret_cast<StringId>(message.registered);
    default:
      return 0;
  }
}

uint64_t addressOf(const nvtxMemRegionRef_t& reference) noexcept {
  return reinterpret_cast<uint64_t>(reference.pointer);  // a region's handle is its address
}

StringId heapName(uint64_t heap) noexcept {
  return heap > 0 && heap <= kMaxHeaps ? lane().heapNames[heap - 1].load(std::memory_order_relaxed) : 0;
}

void writeBegin(const Region& region, int64_t now) noexcept {
  MemoryRegionRecord record{};
  record.header = makeHeader<MemoryRegionRecord>(RecordKind::kMemoryRegion, lane().host.threadId());
  record.time_ns = now;
  record.address = region.address;
  record.bytes = region.bytes;
  record.name = region.name;
  lane().host.write(record);
}

void writeEnd(const Region& region, int64_t now) noexcept {
  MemoryRegionEndRecord record{};
  record.header = makeHeader<MemoryRegionEndRecord>(RecordKind::kMemoryRegionEnd, lane().host.threadId());
  record.time_ns = now;
  record.address = region.address;
  lane().host.write(record);
}

void count(RegionTable::Result result) noexcept {
  if (result == RegionTable::Result::kLost) {
    lane().lost.fetch_add(1, std::memory_order_relaxed);
  } else if (result == RegionTable::Result::kUnknown) {
    lane().unknown.fetch_add(1, std::memory_order_relaxed);
  }
}

// The i-th element of an array whose element size the caller tells: newer headers may have longer elements.
template <class T>
bool readElement(const void* elements, size_t elementBytes, size_t i, T& out) noexcept {
  if (!elements || elementBytes < sizeof(T)) {
    return false;
  }
  memcpy(&out, static_cast<const char*>(elements) + i * elementBytes, sizeof(T));
  return true;
}

void endHeap(uint64_t heap) noexcept {
  const int64_t now = monotonicNowNs();
  Region region;
  while (lane().regions.removeOneOf(heap, region)) {
    if (region.name) {
      writeEnd(region, now);
    }
  }
}

}  // namespace

Lane& lane() noexcept {
  static constinit Lane theLane;
  return theLane;
}

void reportLost() noexcept {
  Lane& l = lane();
  if (const uint64_t lost = l.lost.load(std::memory_order_relaxed)) {
    l.host.diagnose(Severity::kWarning, "memory", "regions_lost", lost,
                    "named memory regions are not in the trace because more than 32768 were live: their bytes show as "
                    "unattributed.");
  }
  if (const uint64_t unknown = l.unknown.load(std::memory_order_relaxed)) {
    l.host.diagnose(Severity::kInfo, "memory", "regions_unknown", unknown,
                    "names or ends of memory regions came for addresses that the program had not registered, and were "
                    "ignored.");
  }
}

namespace calls {

nvtxMemHeapHandle_t heapRegister(nvtxDomainHandle_t, const nvtxMemHeapDesc_t* description) noexcept {
  if (off() || !description) {
    return reinterpret_cast<nvtxMemHeapHandle_t>(intptr_t{-1});  // NVTX_MEM_HEAP_HANDLE_NO_TOOL; its macro is not C++
  }
  Lane& l = lane();
  const uint32_t index = l.heapCount.fetch_add(1, std::memory_order_relaxed);
  if (index >= kMaxHeaps) {
    return NVTX_MEM_HEAP_HANDLE_PROCESS_WIDE;
  }
  l.heapNames[index].store(internMessage(description->messageType, description->message), std::memory_order_relaxed);
  return reinterpret_cast<nvtxMemHeapHandle_t>(uintptr_t{index} + 1);
}

void heapUnregister(nvtxDomainHandle_t, nvtxMemHeapHandle_t heap) noexcept {
  if (!off() && heap != NVTX_MEM_HEAP_HANDLE_PROCESS_WIDE) {
    endHeap(reinterpret_cast<uint64_t>(heap));
  }
}

void heapReset(nvtxDomainHandle_t, nvtxMemHeapHandle_t heap) noexcept {
  if (!off()) {
    endHeap(reinterpret_cast<uint64_t>(heap));
  }
}

void regionsRegister(nvtxDomainHandle_t, const nvtxMemRegionsRegisterBatch_t* batch) noexcept {
  if (off() || !batch || batch->regionType != NVTX_MEM_TYPE_VIRTUAL_ADDRESS) {
    return;
  }
  const int64_t now = monotonicNowNs();
  const auto heap = reinterpret_cast<uint64_t>(batch->heap);
  for (size_t i = 0; i < batch->regionCount; ++i) {
    nvtxMemVirtualRangeDesc_t range;
    if (!readElement(batch->regionDescElements, batch->regionDescElementSize, i, range)) {
      return;
    }
    // A region of a named heap has a name at once; one of the process-wide heap is written when it gets one.
    const Region region{reinterpret_cast<uint64_t>(range.ptr), range.size, heap, heapName(heap)};
    Region before;
    const RegionTable::Result result = lane().regions.put(region, before);
    count(result);
    if (before.name) {
      writeEnd(before, now);  // registered again without an end
    }
    if (region.name && result == RegionTable::Result::kDone) {
      writeBegin(region, now);
    }
    if (batch->regionHandleElementsOut) {
      batch->regionHandleElementsOut[i] = reinterpret_cast<nvtxMemRegionHandle_t>(region.address);
    }
  }
}

void regionsResize(nvtxDomainHandle_t, const nvtxMemRegionsResizeBatch_t* batch) noexcept {
  if (off() || !batch) {
    return;
  }
  const int64_t now = monotonicNowNs();
  for (size_t i = 0; i < batch->regionDescCount; ++i) {
    nvtxMemVirtualRangeDesc_t range;
    if (!readElement(batch->regionDescElements, batch->regionDescElementSize, i, range)) {
      return;
    }
    Region after;
    const RegionTable::Result result = lane().regions.resize(reinterpret_cast<uint64_t>(range.ptr), range.size, after);
    count(result);
    if (result == RegionTable::Result::kDone && after.name) {
      writeEnd(after, now);
      writeBegin(after, now);
    }
  }
}

void regionsUnregister(nvtxDomainHandle_t, const nvtxMemRegionsUnregisterBatch_t* batch) noexcept {
  if (off() || !batch) {
    return;
  }
  const int64_t now = monotonicNowNs();
  for (size_t i = 0; i < batch->refCount; ++i) {
    nvtxMemRegionRef_t reference;
    if (!readElement(batch->refElements, batch->refElementSize, i, reference)) {
      return;
    }
    Region before;
    const RegionTable::Result result = lane().regions.remove(addressOf(reference), before);
    count(result);
    if (result == RegionTable::Result::kDone && before.name) {
      writeEnd(before, now);
    }
  }
}

void regionsName(nvtxDomainHandle_t, const nvtxMemRegionsNameBatch_t* batch) noexcept {
  if (off() || !batch) {
    return;
  }
  const int64_t now = monotonicNowNs();
  for (size_t i = 0; i < batch->regionCount; ++i) {
    nvtxMemRegionNameDesc_t description;
    if (!readElement(batch->regionElements, batch->regionElementSize, i, description)) {
      return;
    }
    const StringId text = internMessage(description.nameType, description.name);
    Region before;
    Region after;
    const RegionTable::Result result = lane().regions.name(addressOf(description.region), text, before, after);
    count(result);
    if (result != RegionTable::Result::kDone || before.name == after.name) {
      continue;
    }
    if (before.name) {
      writeEnd(before, now);
    }
    if (after.name) {
      writeBegin(after, now);
    }
  }
}

}  // namespace calls
}  // namespace plumb::memory
