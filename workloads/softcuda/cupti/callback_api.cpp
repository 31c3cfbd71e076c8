// SPDX-License-Identifier: Apache-2.0
// Results, version, subscribers and callbacks.
#include <cupti.h>
#include <cupti_driver_cbid.h>
#include <cupti_runtime_cbid.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>

#include "workloads/softcuda/cupti/tracer.h"
#include "workloads/softcuda/device.h"

namespace softcuda {
namespace {

// Generated from cupti_runtime_cbid.h and cupti_driver_cbid.h: the name of each id, in order.
constexpr const char* kRuntimeNames[] = {
#include "runtime_callbacks.inc"
};
constexpr const char* kDriverNames[] = {
#include "driver_callbacks.inc"
};
static_assert(std::size(kRuntimeNames) == CUPTI_RUNTIME_TRACE_CBID_SIZE);
static_assert(std::size(kDriverNames) == CUPTI_DRIVER_TRACE_CBID_SIZE);
static_assert(std::size(kRuntimeNames) <= kCallbackIds && std::size(kDriverNames) <= kCallbackIds);

uint32_t callbackCount(uint32_t domain) {
  switch (domain) {
    case CUPTI_CB_DOMAIN_DRIVER_API:
      return CUPTI_DRIVER_TRACE_CBID_SIZE;
    case CUPTI_CB_DOMAIN_RUNTIME_API:
      return CUPTI_RUNTIME_TRACE_CBID_SIZE;
    case CUPTI_CB_DOMAIN_RESOURCE:
      return CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS + 1;
    case CUPTI_CB_DOMAIN_SYNCHRONIZE:
      return CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED + 1;
    case CUPTI_CB_DOMAIN_STATE:
      return CUPTI_CBID_STATE_WARNING + 1;
    case CUPTI_CB_DOMAIN_NVTX:
      return kCallbackIds;
    default:
      return 0;
  }
}

bool validCallback(CUpti_SubscriberHandle subscriber, uint32_t domain, uint32_t id) {
  return Tracer::instance().isSubscriber(subscriber) && id < callbackCount(domain);
}

}  // namespace
}  // namespace softcuda

using namespace softcuda;

extern "C" {

CUptiResult cuptiGetVersion(uint32_t* version) {
  if (!version) return CUPTI_ERROR_INVALID_PARAMETER;
  *version = CUPTI_API_VERSION;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char** str) {
  if (!str) return CUPTI_ERROR_INVALID_PARAMETER;
  switch (result) {
#define SOFTCUDA_CUPTI_RESULT(name, message) \
  case name:                                 \
    *str = #name;                            \
    return CUPTI_SUCCESS;
#include "workloads/softcuda/cupti/results.def"
#undef SOFTCUDA_CUPTI_RESULT
    default:
      *str = "<unknown>";
      return CUPTI_ERROR_INVALID_PARAMETER;
  }
}

CUptiResult cuptiGetErrorMessage(CUptiResult result, const char** str) {
  if (!str) return CUPTI_ERROR_INVALID_PARAMETER;
  switch (result) {
#define SOFTCUDA_CUPTI_RESULT(name, message) \
  case name:                                 \
    *str = message;                          \
    return CUPTI_SUCCESS;
#include "workloads/softcuda/cupti/results.def"
#undef SOFTCUDA_CUPTI_RESULT
    default:
      *str = "<unknown>";
      return CUPTI_SUCCESS;
  }
}

CUptiResult cuptiGetLastError(void) { return CUPTI_SUCCESS; }

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid, const char** name) {
  if (!name) return CUPTI_ERROR_INVALID_PARAMETER;
  if (domain == CUPTI_CB_DOMAIN_RUNTIME_API && cbid < std::size(kRuntimeNames)) {
    *name = kRuntimeNames[cbid];
  } else if (domain == CUPTI_CB_DOMAIN_DRIVER_API && cbid < std::size(kDriverNames)) {
    *name = kDriverNames[cbid];
  } else {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  return CUPTI_SUCCESS;
}

CUptiResult cuptiSupportedDomains(size_t* domainCount, CUpti_DomainTable* domainTable) {
  static CUpti_CallbackDomain domains[] = {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RUNTIME_API,
                                           CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CB_DOMAIN_SYNCHRONIZE};
  if (!domainCount || !domainTable) return CUPTI_ERROR_INVALID_PARAMETER;
  *domainCount = std::size(domains);
  *domainTable = domains;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* userdata) {
  return Tracer::instance().subscribe(subscriber, callback, userdata, nullptr, nullptr);
}

CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* userdata,
                              CUpti_SubscriberParams* pParams) {
  if (!pParams) return cuptiSubscribe(subscriber, callback, userdata);
  if (pParams->structSize == 0) return CUPTI_ERROR_INVALID_PARAMETER;
  std::string holder;
  const CUptiResult result =
      Tracer::instance().subscribe(subscriber, callback, userdata, pParams->subscriberName, &holder);
  if (result != CUPTI_SUCCESS && pParams->oldSubscriberName && pParams->oldSubscriberSize > 0) {
    const std::size_t length = std::min(holder.size(), pParams->oldSubscriberSize - 1);
    std::memcpy(pParams->oldSubscriberName, holder.data(), length);
    pParams->oldSubscriberName[length] = '\0';
  }
  return result;
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber) { return Tracer::instance().unsubscribe(subscriber); }

CUptiResult cuptiGetCallbackState(uint32_t* enable, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain,
                                  CUpti_CallbackId cbid) {
  if (!enable || !validCallback(subscriber, domain, cbid)) return CUPTI_ERROR_INVALID_PARAMETER;
  *enable = Tracer::instance().callbacks(domain).has(cbid) ? 1 : 0;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain,
                                CUpti_CallbackId cbid) {
  if (!validCallback(subscriber, domain, cbid)) return CUPTI_ERROR_INVALID_PARAMETER;
  Tracer::instance().callbacks(domain).set(cbid, enable != 0);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain) {
  if (!validCallback(subscriber, domain, 0)) return CUPTI_ERROR_INVALID_PARAMETER;
  Tracer::instance().callbacks(domain).setAll(enable != 0);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle subscriber) {
  if (!Tracer::instance().isSubscriber(subscriber)) return CUPTI_ERROR_INVALID_PARAMETER;
  for (uint32_t domain = 0; domain < kCallbackDomains; ++domain)
    Tracer::instance().callbacks(domain).setAll(enable != 0);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetContextId(CUcontext, uint32_t* contextId) {
  if (!contextId) return CUPTI_ERROR_INVALID_PARAMETER;
  *contextId = 1;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetDeviceId(CUcontext, uint32_t* deviceId) {
  if (!deviceId) return CUPTI_ERROR_INVALID_PARAMETER;
  *deviceId = 0;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetStreamIdEx(CUcontext, CUstream stream, uint8_t perThreadStream, uint32_t* streamId) {
  if (!streamId) return CUPTI_ERROR_INVALID_PARAMETER;
  auto handle = reinterpret_cast<cudaStream_t>(stream);
  if (!handle && perThreadStream) handle = cudaStreamPerThread;
  const uint32_t id = softcuda_stream_id(handle);
  if (id == 0) return CUPTI_ERROR_INVALID_STREAM;
  *streamId = id;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetStreamId(CUcontext context, CUstream stream, uint32_t* streamId) {
  return cuptiGetStreamIdEx(context, stream, 0, streamId);
}

static CUptiResult graphId(const void* handle, uint32_t* id) {
  if (!id) return CUPTI_ERROR_INVALID_PARAMETER;
  *id = static_cast<uint32_t>(softcuda_graph_id(handle));
  return *id == 0 ? CUPTI_ERROR_INVALID_PARAMETER : CUPTI_SUCCESS;
}
CUptiResult cuptiGetGraphId(CUgraph graph, uint32_t* pId) { return graphId(graph, pId); }
CUptiResult cuptiGetGraphExecId(CUgraphExec graphExec, uint32_t* pId) { return graphId(graphExec, pId); }

CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t* nodeId) {
  if (!nodeId) return CUPTI_ERROR_INVALID_PARAMETER;
  *nodeId = softcuda_graph_node_id(reinterpret_cast<cudaGraphNode_t>(node));
  return *nodeId == 0 ? CUPTI_ERROR_INVALID_PARAMETER : CUPTI_SUCCESS;
}

CUptiResult cuptiDeviceSupported(CUdevice dev, int* support) {
  if (!support) return CUPTI_ERROR_INVALID_PARAMETER;
  if (dev != 0) return CUPTI_ERROR_INVALID_DEVICE;
  *support = 1;
  return CUPTI_SUCCESS;
}
}
