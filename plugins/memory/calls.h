// SPDX-License-Identifier: Apache-2.0
// The functions of NVTX's memory extension (module 1) and the state behind them.
#pragma once
#include <atomic>

#include "collector/api/plugin.hpp"
#include "plugins/memory/region_table.h"

#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExtMem.h>

namespace plumb::memory {

// Names of heaps: a handle is the position in the list + 1.
inline constexpr size_t kMaxHeaps = 1024;

struct Lane {
  Host host;
  std::atomic<bool> isOn{false};
  std::atomic<uint32_t> heapCount{0};
  std::atomic<StringId> heapNames[kMaxHeaps]{};
  RegionTable regions;
  std::atomic<uint64_t> lost{0};     // regions that the table had no room for
  std::atomic<uint64_t> unknown{0};  // names and ends of regions that were never registered
};

Lane& lane() noexcept;
void reportLost() noexcept;

namespace calls {
nvtxMemHeapHandle_t heapRegister(nvtxDomainHandle_t domain, const nvtxMemHeapDesc_t* description) noexcept;
void heapUnregister(nvtxDomainHandle_t domain, nvtxMemHeapHandle_t heap) noexcept;
void heapReset(nvtxDomainHandle_t domain, nvtxMemHeapHandle_t heap) noexcept;
void regionsRegister(nvtxDomainHandle_t domain, const nvtxMemRegionsRegisterBatch_t* batch) noexcept;
void regionsResize(nvtxDomainHandle_t domain, const nvtxMemRegionsResizeBatch_t* batch) noexcept;
void regionsUnregister(nvtxDomainHandle_t domain, const nvtxMemRegionsUnregisterBatch_t* batch) noexcept;
void regionsName(nvtxDomainHandle_t domain, const nvtxMemRegionsNameBatch_t* batch) noexcept;
}  // namespace calls
}  // namespace plumb::memory
