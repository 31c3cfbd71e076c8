// SPDX-License-Identifier: Apache-2.0
#include "workloads/softcuda/cupti/tracer.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <vector>

#include "workloads/softcuda/cupti/convert.h"
#include "workloads/softcuda/device.h"

namespace softcuda {
namespace {

constexpr uint32_t kExternalKinds = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2 + 1;

struct ExternalIds {
  std::array<std::vector<uint64_t>, kExternalKinds> stacks;
  uint32_t open = 0;  // ids on all stacks
};
thread_local ExternalIds t_external;

uint32_t threadId(CUpti_ActivityThreadIdType type) {
  if (type == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM) {
    static constinit thread_local uint32_t id = 0;
    if (id == 0) id = static_cast<uint32_t>(syscall(SYS_gettid));
    return id;
  }
  return static_cast<uint32_t>(pthread_self());  // truncated, as the real one does by default
}

// A child of fork() records nothing, so the number never changes.
uint32_t processId() {
  static const auto id = static_cast<uint32_t>(getpid());
  return id;
}

constexpr uint64_t bit(uint32_t kind) { return uint64_t{1} << kind; }

int g_context;

const SoftcudaHooks kHooks = {
    sizeof(SoftcudaHooks),
    [](SoftcudaApiCall* call) { Tracer::instance().apiBegin(*call); },
    [](SoftcudaApiCall* call) { Tracer::instance().apiEnd(*call); },
    [](const SoftcudaEvent* event) { Tracer::instance().event(*event); },
    []() -> uint64_t {
      if (const auto callback = Tracer::instance().timestamp.load(std::memory_order_relaxed)) return callback();
      timespec now;
      clock_gettime(CLOCK_REALTIME, &now);
      return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
    },
};

}  // namespace

Tracer& Tracer::instance() {
  static auto* tracer = [] {
    auto* created = new Tracer;
    pthread_atfork(nullptr, nullptr, [] { Tracer::instance().buffers().stopForEver(); });
    return created;
  }();
  // After the static is there: the hooks ask for it.
  [[maybe_unused]] static const bool attached = (softcuda_set_hooks(&kHooks), true);
  return *tracer;
}

Tracer::Tracer() = default;

CUcontext contextHandle() { return reinterpret_cast<CUcontext>(&g_context); }

CUptiResult Tracer::enableKind(uint32_t kind, bool on) {
  const CUptiResult result = m_faults.on(Fault::kRefuseKind) && kind == m_faults.value(Fault::kRefuseKind)
                                 ? CUPTI_ERROR_NOT_SUPPORTED
                                 : enableResult(kind);
  if (result != CUPTI_SUCCESS) return result;
  if (on) {
    m_kinds.fetch_or(bit(kind));
  } else {
    m_kinds.fetch_and(~bit(kind));
  }
  if (kind == CUPTI_ACTIVITY_KIND_RUNTIME || kind == CUPTI_ACTIVITY_KIND_DRIVER) {
    const uint32_t domain = kind == CUPTI_ACTIVITY_KIND_DRIVER ? SOFTCUDA_API_DRIVER : SOFTCUDA_API_RUNTIME;
    apiSelection(domain).setAll(on);
    apiSelectionChanged(domain, on);
  }
  if (on && softcuda_context_exists()) contextRecords(bit(kind));
  return CUPTI_SUCCESS;
}

void Tracer::apiSelectionChanged(uint32_t, bool on) {
  if (on) {
    m_apiRecorded = true;
  } else {
    m_apiRecorded = kindEnabled(CUPTI_ACTIVITY_KIND_RUNTIME) || kindEnabled(CUPTI_ACTIVITY_KIND_DRIVER);
  }
}

void Tracer::disableAll() {
  m_kinds = 0;
  m_runtimeApi.setAll(false);
  m_driverApi.setAll(false);
  m_apiRecorded = false;
}

// The time that the flush took is a record of its own, for the next one.
void Tracer::flush(bool forced) {
  if (!forced && m_faults.on(Fault::kLateFlush)) return;
  if (!kindEnabled(CUPTI_ACTIVITY_KIND_OVERHEAD)) {
    m_buffers.flush();
    return;
  }
  const uint64_t start = softcuda_now();
  m_buffers.flush();
  put(flushRecord(start, softcuda_now(), processId(), threadId(threadIdType)));
}

CUptiResult Tracer::subscribe(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc callback, void* userData,
                              const char* name, std::string* holder) {
  if (!handle) return CUPTI_ERROR_INVALID_PARAMETER;
  if (m_faults.on(Fault::kRefuse)) return static_cast<CUptiResult>(m_faults.value(Fault::kRefuse));
  if (m_faults.on(Fault::kSecondSubscriber)) {
    if (holder) *holder = "CUPTI for another tool";
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  std::lock_guard lock(m_subscriberMutex);
  if (const Subscriber* other = m_subscriber.load()) {
    if (holder) *holder = other->name;
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  m_subscribers.push_back(
      std::make_unique<Subscriber>(Subscriber{callback, userData, name ? std::string("CUPTI for ") + name : "CUPTI"}));
  Subscriber* subscriber = m_subscribers.back().get();
  m_subscriber = subscriber;
  *handle = reinterpret_cast<CUpti_SubscriberHandle>(subscriber);
  return CUPTI_SUCCESS;
}

CUptiResult Tracer::unsubscribe(CUpti_SubscriberHandle handle) {
  if (!isSubscriber(handle)) return CUPTI_ERROR_INVALID_PARAMETER;
  unsubscribeAll();
  return CUPTI_SUCCESS;
}

void Tracer::unsubscribeAll() {
  std::lock_guard lock(m_subscriberMutex);
  m_subscriber = nullptr;
  for (IdSet& set : m_callbacks) set.setAll(false);
}

bool Tracer::isSubscriber(CUpti_SubscriberHandle handle) const {
  return handle && reinterpret_cast<Subscriber*>(handle) == m_subscriber.load();
}

void Tracer::call(uint32_t domain, uint32_t id, const void* data) {
  if (!m_callbacks[domain].has(id)) return;
  if (const Subscriber* subscriber = m_subscriber.load(); subscriber && subscriber->callback) {
    subscriber->callback(subscriber->userData, static_cast<CUpti_CallbackDomain>(domain), id, data);
  }
}

void Tracer::apiCallback(SoftcudaApiCall& api, CUpti_ApiCallbackSite site) {
  if (!m_callbacks[api.domain].has(api.cbid)) return;
  CUpti_CallbackData data{};
  data.callbackSite = site;
  data.functionName = api.name;
  data.functionReturnValue = site == CUPTI_API_EXIT ? &api.result : nullptr;
  data.symbolName = api.symbol;
  data.context = contextHandle();
  data.contextUid = kContextId;
  data.correlationData = &api.client_data;
  data.correlationId = api.correlation;
  call(api.domain, api.cbid, &data);
}

void Tracer::apiBegin(SoftcudaApiCall& api) { apiCallback(api, CUPTI_API_ENTER); }

void Tracer::apiEnd(SoftcudaApiCall& api) {
  if (apiSelection(api.domain).has(api.cbid)) {
    if (t_external.open > 0 && kindEnabled(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION)) {
      for (uint32_t kind = 0; kind < kExternalKinds; ++kind) {
        if (t_external.stacks[kind].empty()) continue;
        CUpti_ActivityExternalCorrelation record{};
        record.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
        record.externalKind = static_cast<CUpti_ExternalCorrelationKind>(kind);
        record.externalId = t_external.stacks[kind].back();
        record.correlationId = api.correlation;
        put(record);
      }
    }
    put(apiRecord(api, processId(), threadId(threadIdType)));
  }
  apiCallback(api, CUPTI_API_EXIT);
}

void Tracer::resourceCallback(uint32_t id, cudaStream_t stream) {
  CUpti_ResourceData data{};
  data.context = contextHandle();
  data.resourceHandle.stream = reinterpret_cast<CUstream>(stream);
  call(CUPTI_CB_DOMAIN_RESOURCE, id, &data);
}

void Tracer::graphNodeCallback(uint32_t id, const SoftcudaEvent& event) {
  CUpti_GraphData graph{};
  graph.node = reinterpret_cast<CUgraphNode>(event.graph_node.handle);
  if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) graph.originalNode = graph.node;
  graph.nodeType = static_cast<CUgraphNodeType>(event.graph_node.type);
  CUpti_ResourceData data{};
  data.context = contextHandle();
  data.resourceDescriptor = &graph;
  call(CUPTI_CB_DOMAIN_RESOURCE, id, &data);
}

void Tracer::contextRecords(uint64_t kinds) {
  const cudaDeviceProp* properties = softcuda_device_properties();
  if (kinds & bit(CUPTI_ACTIVITY_KIND_DEVICE)) put(deviceRecord(*properties, properties->name));
  if (kinds & bit(CUPTI_ACTIVITY_KIND_CONTEXT)) {
    put(contextRecord(static_cast<uint16_t>(properties->multiProcessorCount)));
  }
  if (kinds & bit(CUPTI_ACTIVITY_KIND_STREAM)) {
    SoftcudaEvent stream{};
    stream.stream = kDefaultStreamId;
    put(streamRecord(stream));
  }
}

void Tracer::event(const SoftcudaEvent& original) {
  SoftcudaEvent event = original;
  if (!m_apiRecorded.load(std::memory_order_relaxed)) event.correlation = 0;
  switch (event.kind) {
    case SOFTCUDA_EVENT_CONTEXT_CREATED:
      resourceCallback(CUPTI_CBID_RESOURCE_CU_INIT_FINISHED, nullptr);
      resourceCallback(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, nullptr);
      contextRecords(m_kinds.load());
      break;
    case SOFTCUDA_EVENT_STREAM_CREATED:
      resourceCallback(CUPTI_CBID_RESOURCE_STREAM_CREATED, event.stream_info.handle);
      if (kindEnabled(CUPTI_ACTIVITY_KIND_STREAM)) put(streamRecord(event));
      break;
    case SOFTCUDA_EVENT_STREAM_DESTROYED:
      resourceCallback(CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, event.stream_info.handle);
      break;
    case SOFTCUDA_EVENT_SYNCHRONIZATION: {
      if (kindEnabled(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION)) put(synchronizationRecord(event));
      CUpti_SynchronizeData data{};
      data.context = contextHandle();
      if (event.synchronization.type == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE) {
        call(CUPTI_CB_DOMAIN_SYNCHRONIZE, CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED, &data);
      } else if (event.synchronization.type == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE) {
        call(CUPTI_CB_DOMAIN_SYNCHRONIZE, CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED, &data);
      }
      break;
    }
    case SOFTCUDA_EVENT_GRAPH_NODE_CREATED:
      graphNodeCallback(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, event);
      break;
    case SOFTCUDA_EVENT_GRAPH_NODE_CLONED:
      graphNodeCallback(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, event);
      break;
    default:
      deviceWork(event);
  }
}

void Tracer::deviceWork(const SoftcudaEvent& event) {
  const bool wholeGraphs = kindEnabled(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
  if (event.graph_id != 0 && wholeGraphs != (event.kind == SOFTCUDA_EVENT_GRAPH))
    return;  // either the graph or its nodes
  switch (event.kind) {
    case SOFTCUDA_EVENT_KERNEL: {
      const bool concurrent = kindEnabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
      if (!concurrent && !kindEnabled(CUPTI_ACTIVITY_KIND_KERNEL)) return;
      put(kernelRecord(event, concurrent ? CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL : CUPTI_ACTIVITY_KIND_KERNEL,
                       m_gridId.fetch_add(1) + 1, latencyTimestamps));
      return;
    }
    case SOFTCUDA_EVENT_COPY:
      if (kindEnabled(CUPTI_ACTIVITY_KIND_MEMCPY)) put(copyRecord(event));
      return;
    case SOFTCUDA_EVENT_SET:
      if (kindEnabled(CUPTI_ACTIVITY_KIND_MEMSET)) put(setRecord(event));
      return;
    case SOFTCUDA_EVENT_MEMORY:
      if (kindEnabled(CUPTI_ACTIVITY_KIND_MEMORY2)) put(memoryRecord(event, processId()));
      if (kindEnabled(CUPTI_ACTIVITY_KIND_MEMORY)) memoryLifetime(event);
      return;
    case SOFTCUDA_EVENT_MEMORY_POOL:
      if (kindEnabled(CUPTI_ACTIVITY_KIND_MEMORY_POOL)) put(poolRecord(event, processId()));
      return;
    case SOFTCUDA_EVENT_EVENT_RECORD:
      if (kindEnabled(CUPTI_ACTIVITY_KIND_CUDA_EVENT)) {
        put(eventRecord(event, m_eventSyncId.fetch_add(1) + 1, eventTimestamps));
      }
      return;
    case SOFTCUDA_EVENT_GRAPH:
      put(graphRecord(event));
      return;
    default:
      return;
  }
}

// A record of kind MEMORY is written at the release; of what was allocated before the kind was enabled there is none.
void Tracer::memoryLifetime(const SoftcudaEvent& event) {
  uint64_t allocatedNs = 0;
  {
    std::lock_guard lock(m_allocatedMutex);
    if (event.memory.operation == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION) {
      m_allocatedNs[event.memory.address] = event.end_ns;
      return;
    }
    const auto found = m_allocatedNs.find(event.memory.address);
    if (found == m_allocatedNs.end()) return;
    allocatedNs = found->second;
    m_allocatedNs.erase(found);
  }
  put(lifetimeRecord(event, allocatedNs, processId()));
}

CUptiResult pushExternalId(CUpti_ExternalCorrelationKind kind, uint64_t id) {
  if (kind <= CUPTI_EXTERNAL_CORRELATION_KIND_INVALID || static_cast<uint32_t>(kind) >= kExternalKinds)
    return CUPTI_ERROR_INVALID_PARAMETER;
  t_external.stacks[kind].push_back(id);
  ++t_external.open;
  return CUPTI_SUCCESS;
}

CUptiResult popExternalId(CUpti_ExternalCorrelationKind kind, uint64_t* last) {
  if (kind <= CUPTI_EXTERNAL_CORRELATION_KIND_INVALID || static_cast<uint32_t>(kind) >= kExternalKinds)
    return CUPTI_ERROR_INVALID_PARAMETER;
  auto& stack = t_external.stacks[kind];
  if (stack.empty()) return CUPTI_ERROR_QUEUE_EMPTY;
  if (last) *last = stack.back();
  stack.pop_back();
  --t_external.open;
  return CUPTI_SUCCESS;
}

}  // namespace softcuda
