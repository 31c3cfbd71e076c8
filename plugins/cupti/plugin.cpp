// SPDX-License-Identifier: Apache-2.0
// Plugin cupti: kernels, copies, sets, API calls, synchronization and device memory from CUPTI's activity records.
#include "collector/api/plugin.hpp"
#include "plugins/cupti/lane.h"

namespace {

int start(const PlumbHost* host) noexcept {
  plumb::cupti::processLane().start(host);
  return 1;
}
int onCuda() noexcept { return plumb::cupti::processLane().onCuda() ? 1 : 0; }
void onForkChild() noexcept { plumb::cupti::processLane().onForkChild(); }

constexpr PlumbPlugin makePlugin() noexcept {
  PlumbPlugin plugin{};
  plugin.size_bytes = sizeof(PlumbPlugin);
  plugin.abi = PLUMB_PLUGIN_ABI;
  plugin.name = "cupti";
  plugin.version = "1";
  plugin.start = start;
  plugin.on_cuda = onCuda;
  plugin.on_fork_child = onForkChild;
  return plugin;
}
constexpr PlumbPlugin kPlugin = makePlugin();

}  // namespace

PLUMB_PLUGIN_EXPORT const PlumbPlugin* plumbPlugin(uint32_t hostAbi) noexcept {
  return hostAbi == PLUMB_PLUGIN_ABI ? &kPlugin : nullptr;
}
