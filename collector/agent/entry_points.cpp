// SPDX-License-Identifier: Apache-2.0
// What the driver and NVTX call. The names and signatures are theirs.
#include "collector/agent/attach.h"
#include "collector/agent/plugin_host.h"

#define PLUMB_ENTRY extern "C" __attribute__((visibility("default")))

namespace {

// NVTX used from inside our own initialisation would wait for itself.
thread_local constinit int t_depth = 0;

class Depth {
 public:
  Depth() noexcept { ++t_depth; }
  ~Depth() { --t_depth; }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;
  [[nodiscard]] bool nested() const noexcept { return t_depth > 1; }
};

}  // namespace

// CUDA_INJECTION64_PATH: once, inside cuInit. 0 would make the driver complain.
PLUMB_ENTRY int InitializeInjection() {
  const Depth depth;
  if (!depth.nested() && plumb::agent::ensureAttached()) {
    plumb::agent::onCudaReady();
  }
  return 1;
}

// NVTX_INJECTION64_PATH: once for every shared object that uses NVTX. 0 turns NVTX off for that object.
PLUMB_ENTRY int InitializeInjectionNvtx2(void* getExportTable) {
  const Depth depth;
  return !depth.nested() && plumb::agent::ensureAttached() && plumb::agent::plugins::attachNvtx(getExportTable) ? 1 : 0;
}

PLUMB_ENTRY int InitializeInjectionNvtxExtension(void* moduleInfo) {
  const Depth depth;
  return !depth.nested() && plumb::agent::ensureAttached() && plumb::agent::plugins::attachNvtxExtension(moduleInfo)
             ? 1
             : 0;
}
