// SPDX-License-Identifier: Apache-2.0
// Plugin nccl: collectives and point-to-point operations from NCCL's profiler interface.
#include "collector/api/plugin.hpp"
#include "plugins/nccl/lane.h"
#include "plugins/nccl/profilers.h"

namespace {

int start(const PlumbHost* host) noexcept {
  plumb::nccl::processLane().start(host);
  return 1;
}
const void* ncclProfiler(int version) noexcept { return plumb::nccl::profiler(version); }
void onForkChild() noexcept { plumb::nccl::processLane().onForkChild(); }

constexpr PlumbPlugin makePlugin() noexcept {
  PlumbPlugin plugin{};
  plugin.size_bytes = sizeof(PlumbPlugin);
  plugin.abi = PLUMB_PLUGIN_ABI;
  plugin.name = "nccl";
  plugin.version = "1";
  plugin.start = start;
  plugin.nccl_profiler = ncclProfiler;
  plugin.on_fork_child = onForkChild;
  return plugin;
}
constexpr PlumbPlugin kPlugin = makePlugin();

}  // namespace

PLUMB_PLUGIN_EXPORT const PlumbPlugin* plumbPlugin(uint32_t hostAbi) noexcept {
  return hostAbi == PLUMB_PLUGIN_ABI ? &kPlugin : nullptr;
}
