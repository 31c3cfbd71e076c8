// SPDX-License-Identifier: Apache-2.0
// Plugin memory: names of memory regions that the program declares through NVTX's memory extension. The allocations
// themselves come from plugin cupti.
#include "collector/api/plugin.hpp"
#include "plugins/memory/attach.h"
#include "plugins/memory/calls.h"

namespace {

constexpr uint32_t kReportPeriodMs = 1000;

void onTick(void*, int atExit) noexcept {
  if (atExit) {
    plumb::memory::reportLost();
  }
}

int start(const PlumbHost* host) noexcept {
  plumb::memory::Lane& lane = plumb::memory::lane();
  lane.host = plumb::Host(host);
  lane.isOn.store(true, std::memory_order_release);
  host->every(kReportPeriodMs, onTick, nullptr);
  return 1;
}
int onNvtxExtension(void* moduleInfo) noexcept { return plumb::memory::attachMemoryExtension(moduleInfo) ? 1 : 0; }
void onForkChild() noexcept {
  plumb::memory::lane().isOn.store(false, std::memory_order_relaxed);
  plumb::memory::lane().regions.releaseAll();
}

constexpr PlumbPlugin makePlugin() noexcept {
  PlumbPlugin plugin{};
  plugin.size_bytes = sizeof(PlumbPlugin);
  plugin.abi = PLUMB_PLUGIN_ABI;
  plugin.name = "memory";
  plugin.version = "1";
  plugin.start = start;
  plugin.on_nvtx_extension = onNvtxExtension;
  plugin.on_fork_child = onForkChild;
  return plugin;
}
constexpr PlumbPlugin kPlugin = makePlugin();

}  // namespace

PLUMB_PLUGIN_EXPORT const PlumbPlugin* plumbPlugin(uint32_t hostAbi) noexcept {
  return hostAbi == PLUMB_PLUGIN_ABI ? &kPlugin : nullptr;
}
