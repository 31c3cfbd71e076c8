// SPDX-License-Identifier: Apache-2.0
// What NVTX loads (NVTX_INJECTION64_PATH): hands on to the functions of the test program.
#include <dlfcn.h>

namespace {

int handOn(const char* function, void* argument) {
  using Function = int (*)(void*);
  const auto target = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, function));
  return target ? target(argument) : 0;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(void* getExportTable) {
  return handOn("plumbTestAttachNvtx", getExportTable);
}
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(void* moduleInfo) {
  return handOn("plumbTestAttachNvtxExtension", moduleInfo);
}
