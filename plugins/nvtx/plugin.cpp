// SPDX-License-Identifier: Apache-2.0
// Plugin nvtx: ranges, marks, names and payloads that the program declares through NVTX.
#include "collector/api/plugin.hpp"
#include "plugins/nvtx/attach.h"
#include "plugins/nvtx/calls.h"

namespace {

constexpr uint32_t kReportPeriodMs = 1000;

void onTick(void*, int atExit) noexcept {
  if (atExit) {
    plumb::nvtx::reportLeftOut();
  }
}

int start(const PlumbHost* host) noexcept {
  plumb::nvtx::Lane& lane = plumb::nvtx::lane();
  lane.host = plumb::Host(host);
  lane.payloadName = lane.host.intern("payload");
  lane.isOn.store(true, std::memory_order_release);
  host->every(kReportPeriodMs, onTick, nullptr);
  return 1;
}
int onNvtx(void* exportTable) noexcept { return plumb::nvtx::attachCore(exportTable) ? 1 : 0; }
int onNvtxExtension(void* moduleInfo) noexcept { return plumb::nvtx::attachPayloadExtension(moduleInfo) ? 1 : 0; }
// Names and handles stay good in the child (their ids are hashes of their texts); its next range attaches it afresh.
void onForkChild() noexcept { plumb::nvtx::forgetLevels(); }

constexpr PlumbPlugin makePlugin() noexcept {
  PlumbPlugin plugin{};
  plugin.size_bytes = sizeof(PlumbPlugin);
  plugin.abi = PLUMB_PLUGIN_ABI;
  plugin.name = "nvtx";
  plugin.version = "1";
  plugin.start = start;
  plugin.on_nvtx = onNvtx;
  plugin.on_nvtx_extension = onNvtxExtension;
  plugin.on_fork_child = onForkChild;
  return plugin;
}
constexpr PlumbPlugin kPlugin = makePlugin();

}  // namespace

PLUMB_PLUGIN_EXPORT const PlumbPlugin* plumbPlugin(uint32_t hostAbi) noexcept {
  return hostAbi == PLUMB_PLUGIN_ABI ? &kPlugin : nullptr;
}
