// SPDX-License-Identifier: Apache-2.0
// The state of libcupti.so.13: what is enabled, who subscribes, and the buffers; and the software device's hooks.
#pragma once
#include <cupti.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "workloads/softcuda/cudart/events.h"
#include "workloads/softcuda/cupti/activity_buffers.h"
#include "workloads/softcuda/cupti/activity_kinds.h"
#include "workloads/softcuda/cupti/faults.h"

namespace softcuda {

inline constexpr uint32_t kCallbackIds = 1024;  // more than any domain has
inline constexpr uint32_t kCallbackDomains = CUPTI_CB_DOMAIN_STATE + 1;

// A set of callback ids that threads read while others change it.
class IdSet {
 public:
  bool has(uint32_t id) const { return id < kCallbackIds && m_on[id].load(std::memory_order_relaxed); }
  void set(uint32_t id, bool on) { m_on[id].store(on, std::memory_order_relaxed); }
  void setAll(bool on) {
    for (auto& item : m_on) item.store(on, std::memory_order_relaxed);
  }

 private:
  std::array<std::atomic<bool>, kCallbackIds> m_on{};
};

class Tracer {
 public:
  static Tracer& instance();  // leaked; attaches to the software device when it is first asked for

  CUptiResult enableKind(uint32_t kind, bool on);
  bool kindEnabled(uint32_t kind) const { return m_kinds.load(std::memory_order_relaxed) >> kind & 1u; }
  IdSet& apiSelection(uint32_t domain) { return domain == SOFTCUDA_API_DRIVER ? m_driverApi : m_runtimeApi; }
  void apiSelectionChanged(uint32_t domain, bool on);
  void disableAll();
  ActivityBuffers& buffers() { return m_buffers; }
  void flush(bool forced);

  CUptiResult subscribe(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc callback, void* userData, const char* name,
                        std::string* holder);
  CUptiResult unsubscribe(CUpti_SubscriberHandle handle);
  void unsubscribeAll();
  bool isSubscriber(CUpti_SubscriberHandle handle) const;
  IdSet& callbacks(uint32_t domain) { return m_callbacks[domain]; }

  std::atomic<CUpti_TimestampCallbackFunc> timestamp{nullptr};
  std::atomic<CUpti_ActivityThreadIdType> threadIdType{CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT};
  std::atomic<bool> latencyTimestamps{false};
  std::atomic<bool> eventTimestamps{false};

  // --- the software device's hooks
  void apiBegin(SoftcudaApiCall& call);
  void apiEnd(SoftcudaApiCall& call);
  void event(const SoftcudaEvent& event);

 private:
  Tracer();
  void call(uint32_t domain, uint32_t id, const void* data);
  void apiCallback(SoftcudaApiCall& call, CUpti_ApiCallbackSite site);
  void resourceCallback(uint32_t id, cudaStream_t stream);
  void graphNodeCallback(uint32_t id, const SoftcudaEvent& event);
  void contextRecords(uint64_t kinds);
  void deviceWork(const SoftcudaEvent& event);
  void memoryLifetime(const SoftcudaEvent& event);
  template <class Record>
  void put(Record record) {
    if (m_faults.any()) [[unlikely]] {
      if (m_faults.due(Fault::kUnknownRecords)) m_buffers.put(kUnknownRecord, sizeof(kUnknownRecord));
      if (!m_faults.apply(record)) return m_buffers.countDropped();
    }
    m_buffers.put(&record, sizeof(record));
  }

  static constexpr uint32_t kUnknownRecord[2] = {9999, 0};
  Faults& m_faults = Faults::ofEnvironment();

  std::atomic<uint64_t> m_kinds{0};
  IdSet m_runtimeApi;
  IdSet m_driverApi;
  std::atomic<bool> m_apiRecorded{false};  // any API record at all: else correlation ids are 0
  ActivityBuffers m_buffers;
  std::atomic<int64_t> m_gridId{0};
  std::atomic<uint64_t> m_eventSyncId{0};

  std::mutex m_allocatedMutex;
  std::unordered_map<uint64_t, uint64_t> m_allocatedNs;  // by address

  std::mutex m_subscriberMutex;
  struct Subscriber {
    CUpti_CallbackFunc callback;
    void* userData;
    std::string name;
  };
  std::vector<std::unique_ptr<Subscriber>> m_subscribers;  // old ones too: a callback may be running
  std::atomic<Subscriber*> m_subscriber{nullptr};
  std::array<IdSet, kCallbackDomains> m_callbacks;
};

// The stacks of external correlation ids of the calling thread.
CUptiResult pushExternalId(CUpti_ExternalCorrelationKind kind, uint64_t id);
CUptiResult popExternalId(CUpti_ExternalCorrelationKind kind, uint64_t* last);

// The context and the default stream have no handle of the driver's; these stand for it.
CUcontext contextHandle();

}  // namespace softcuda
