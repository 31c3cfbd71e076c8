// SPDX-License-Identifier: Apache-2.0
// Plugin cublas: shapes of cuBLAS's matrix multiplications, linked to the kernels that they launch.
#include "collector/api/plugin.hpp"
#include "plugins/cublas/calls.h"
#include "plugins/cublas/lane.h"

namespace {

int start(const PlumbHost* host) noexcept {
  plumb::cublas::lane().host = plumb::Host(host);
  plumb::cublas::lane().isOn.store(true, std::memory_order_release);
  return 1;
}
void* interpose(const char* name) noexcept { return plumb::cublas::replacementOf(name); }
void onForkChild() noexcept { plumb::cublas::lane().isOn.store(false, std::memory_order_relaxed); }

constexpr PlumbPlugin makePlugin() noexcept {
  PlumbPlugin plugin{};
  plugin.size_bytes = sizeof(PlumbPlugin);
  plugin.abi = PLUMB_PLUGIN_ABI;
  plugin.name = "cublas";
  plugin.version = "1";
  plugin.start = start;
  plugin.interpose = interpose;
  plugin.on_fork_child = onForkChild;
  return plugin;
}
constexpr PlumbPlugin kPlugin = makePlugin();

}  // namespace

PLUMB_PLUGIN_EXPORT const PlumbPlugin* plumbPlugin(uint32_t hostAbi) noexcept {
  return hostAbi == PLUMB_PLUGIN_ABI ? &kPlugin : nullptr;
}
