// SPDX-License-Identifier: Apache-2.0
#include <nvtx3/nvToolsExt.h>

#include "tests/unit/plugins/nvtx/program.h"

namespace program {

void endRange(void* domain, uint64_t id) { nvtxDomainRangeEnd(static_cast<nvtxDomainHandle_t>(domain), id); }

void useForeignString(void* domain, void* string) {
  nvtxEventAttributes_t event{};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  event.message.registered = static_cast<nvtxStringHandle_t>(string);
  nvtxDomainMarkEx(static_cast<nvtxDomainHandle_t>(domain), &event);
}

void nameThisThread(uint32_t tid, const char* name) { nvtxNameOsThreadA(tid, name); }

void wideRange() {
  nvtxRangePushW(L"Schritt über \x1F680");
  nvtxRangePop();
}

}  // namespace program
