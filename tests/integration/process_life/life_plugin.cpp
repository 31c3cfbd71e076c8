// SPDX-License-Identifier: Apache-2.0
// A plugin for the tests: records NVTX push/pop of the default domain, and nothing else.
#include <nvtx3/nvToolsExt.h>

#include "collector/api/plugin.hpp"

namespace {

using namespace plumb;

Host s_host;

int push(const char* name) {
  RangeBeginRecord record{};
  record.header = makeHeader<RangeBeginRecord>(RecordKind::kRangeBegin, s_host.threadId());
  record.time_ns = monotonicNowNs();
  record.name = s_host.intern(name);
  record.kind = RangeKind::kPushPop;
  s_host.write(record);
  return 0;
}

int pop() {
  RangeEndRecord record{};
  record.header = makeHeader<RangeEndRecord>(RecordKind::kRangeEnd, s_host.threadId());
  record.time_ns = monotonicNowNs();
  record.kind = RangeKind::kPushPop;
  s_host.write(record);
  return 0;
}

int start(const PlumbHost* host) {
  s_host = Host(host);
  return 1;
}

int onNvtx(void* getExportTable) {
  const auto get = reinterpret_cast<NvtxGetExportTableFunc_t>(getExportTable);
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks == nullptr || callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size) == 0) {
    return 0;
  }
  *table[NVTX_CBID_CORE_RangePushA] = reinterpret_cast<NvtxFunctionPointer>(push);
  *table[NVTX_CBID_CORE_RangePop] = reinterpret_cast<NvtxFunctionPointer>(pop);
  return 1;
}

const PlumbPlugin kPlugin = {.size_bytes = sizeof(PlumbPlugin),
                             .abi = PLUMB_PLUGIN_ABI,
                             .name = "life",
                             .version = "1",
                             .start = start,
                             .on_cuda = nullptr,
                             .on_nvtx = onNvtx,
                             .on_nvtx_extension = nullptr,
                             .nccl_profiler = nullptr,
                             .interpose = nullptr,
                             .on_fork_child = nullptr};

}  // namespace

PLUMB_PLUGIN_EXPORT const PlumbPlugin* plumbPlugin(uint32_t hostAbi) {
  return hostAbi == PLUMB_PLUGIN_ABI ? &kPlugin : nullptr;
}
