// SPDX-License-Identifier: Apache-2.0
// What CUDA_INJECTION64_PATH names: subscribes and says on stderr what it sees.
#include <cuda_runtime_api.h>
#include <cupti.h>

#include <cstdio>
#include <cstdlib>

namespace {

void CUPTIAPI callback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  if (domain == CUPTI_CB_DOMAIN_RESOURCE && id == CUPTI_CBID_RESOURCE_CONTEXT_CREATED) std::fputs("context\n", stderr);
  if (domain != CUPTI_CB_DOMAIN_RUNTIME_API) return;
  const auto* call = static_cast<const CUpti_CallbackData*>(data);
  if (call->callbackSite == CUPTI_API_ENTER) std::fprintf(stderr, "%s\n", call->functionName);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  std::fputs("injected\n", stderr);
  CUpti_SubscriberHandle subscriber = nullptr;
  if (cuptiSubscribe(&subscriber, &callback, nullptr) != CUPTI_SUCCESS) return 0;
  cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE);
  cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API);
  std::atexit([] { std::fputs("exit\n", stderr); });
  return 1;
}
