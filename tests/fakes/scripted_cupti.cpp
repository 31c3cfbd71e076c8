// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/scripted_cupti.h"

#include <cstring>

namespace plumb::test {
namespace {

ScriptedCupti* g_cupti = nullptr;
thread_local bool t_insideCallback = false;

}  // namespace

struct ScriptedCuptiCalls {
  static CUptiResult getVersion(uint32_t* version) {
    *version = g_cupti->m_version;
    return g_cupti->enter("cuptiGetVersion");
  }
  static CUptiResult getTimestamp(uint64_t* now) {
    *now = g_cupti->m_now;
    return g_cupti->enter("cuptiGetTimestamp");
  }
  static CUptiResult subscribe(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc, void*) {
    *handle = nullptr;
    return g_cupti->enter("cuptiSubscribe");
  }
  static CUptiResult unsubscribe(CUpti_SubscriberHandle) { return g_cupti->enter("cuptiUnsubscribe"); }
  static CUptiResult registerCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                       CUpti_BuffersCallbackCompleteFunc complete) {
    g_cupti->m_request = request;
    g_cupti->m_complete = complete;
    return g_cupti->enter("cuptiActivityRegisterCallbacks");
  }
  static CUptiResult enable(CUpti_ActivityKind kind) {
    const CUptiResult result = g_cupti->enter("cuptiActivityEnable", std::to_string(kind));
    const auto found = g_cupti->m_kindResults.find(kind);
    return found == g_cupti->m_kindResults.end() ? result : found->second;
  }
  static CUptiResult flushAll(uint32_t flag) {
    const CUptiResult result = g_cupti->enter("cuptiActivityFlushAll", std::to_string(flag));
    if (t_insideCallback) {
      std::abort();  // CUPTI deadlocks here
    }
    g_cupti->deliverAll();
    return result;
  }
  static CUptiResult nextRecord(uint8_t* buffer, size_t validBytes, CUpti_Activity** record) {
    const std::lock_guard lock(g_cupti->m_mutex);
    uint8_t* at = buffer;
    if (*record) {
      const auto known = g_cupti->m_recordBytes.find((*record)->kind);
      if (known == g_cupti->m_recordBytes.end()) {
        return CUPTI_ERROR_INVALID_KIND;
      }
      at = reinterpret_cast<uint8_t*>(*record) + known->second;
    }
    if (at >= buffer + validBytes) {
      return CUPTI_ERROR_MAX_LIMIT_REACHED;
    }
    if (!g_cupti->m_recordBytes.contains(reinterpret_cast<CUpti_Activity*>(at)->kind)) {
      return CUPTI_ERROR_INVALID_KIND;
    }
    *record = reinterpret_cast<CUpti_Activity*>(at);
    return CUPTI_SUCCESS;
  }
  static CUptiResult resultString(CUptiResult, const char** text) {
    *text = "CUPTI_ERROR_SCRIPTED";
    return CUPTI_SUCCESS;
  }
  static CUptiResult callbackName(CUpti_CallbackDomain domain, uint32_t cbid, const char** name) {
    if (domain == CUPTI_CB_DOMAIN_RUNTIME_API && cbid == CUPTI_RUNTIME_TRACE_CBID___cudaLaunchKernel_v13000) {
      *name = "__cudaLaunchKernel_v13000";
      return g_cupti->enter("cuptiGetCallbackName");
    }
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API && cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx) {
      *name = "cuLaunchKernelEx";
      return g_cupti->enter("cuptiGetCallbackName");
    }
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  static CUptiResult threadIdType(CUpti_ActivityThreadIdType type) {
    return g_cupti->enter("cuptiSetThreadIdType", std::to_string(type));
  }
  static CUptiResult setAttribute(CUpti_ActivityAttribute attribute, size_t*, void*) {
    return g_cupti->enter("cuptiActivitySetAttribute", std::to_string(attribute));
  }
  static CUptiResult runtimeApi(CUpti_CallbackId cbid, uint8_t enable) {
    return g_cupti->enter("cuptiActivityEnableRuntimeApi", std::to_string(cbid) + " " + std::to_string(enable));
  }
  static CUptiResult driverApi(CUpti_CallbackId cbid, uint8_t enable) {
    return g_cupti->enter("cuptiActivityEnableDriverApi", std::to_string(cbid) + " " + std::to_string(enable));
  }
  static CUptiResult allSyncRecords(uint8_t enable) {
    return g_cupti->enter("cuptiActivityEnableAllSyncRecords", std::to_string(enable));
  }
  static CUptiResult timestampCallback(CUpti_TimestampCallbackFunc function) {
    const CUptiResult result = g_cupti->enter("cuptiActivityRegisterTimestampCallback");
    g_cupti->m_timestampCallback = result == CUPTI_SUCCESS ? function : nullptr;
    return result;
  }
  static CUptiResult dropped(CUcontext, uint32_t, size_t* count) {
    *count = g_cupti->m_dropped;
    g_cupti->m_dropped = 0;
    return g_cupti->enter("cuptiActivityGetNumDroppedRecords");
  }
  static CUptiResult push(CUpti_ExternalCorrelationKind kind, uint64_t id) {
    g_cupti->m_correlation.push_back(id);
    return g_cupti->enter("cuptiActivityPushExternalCorrelationId", std::to_string(kind));
  }
  static CUptiResult pop(CUpti_ExternalCorrelationKind kind, uint64_t* last) {
    *last = g_cupti->m_correlation.back();
    g_cupti->m_correlation.pop_back();
    return g_cupti->enter("cuptiActivityPopExternalCorrelationId", std::to_string(kind));
  }
};

ScriptedCupti::ScriptedCupti(uint32_t version) : m_version(version) {
  g_cupti = this;
  m_recordBytes = {
      {CUPTI_ACTIVITY_KIND_MEMCPY, sizeof(CUpti_ActivityMemcpy6)},
      {CUPTI_ACTIVITY_KIND_MEMSET, sizeof(CUpti_ActivityMemset4)},
      {CUPTI_ACTIVITY_KIND_KERNEL, sizeof(CUpti_ActivityKernel10)},
      {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, sizeof(CUpti_ActivityKernel10)},
      {CUPTI_ACTIVITY_KIND_DRIVER, sizeof(CUpti_ActivityAPI)},
      {CUPTI_ACTIVITY_KIND_RUNTIME, sizeof(CUpti_ActivityAPI)},
      {CUPTI_ACTIVITY_KIND_DEVICE, sizeof(CUpti_ActivityDevice5)},
      {CUPTI_ACTIVITY_KIND_CONTEXT, sizeof(CUpti_ActivityContext3)},
      {CUPTI_ACTIVITY_KIND_MEMCPY2, sizeof(CUpti_ActivityMemcpyPtoP4)},
      {CUPTI_ACTIVITY_KIND_STREAM, sizeof(CUpti_ActivityStream)},
      {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, sizeof(CUpti_ActivitySynchronization2)},
      {CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, sizeof(CUpti_ActivityExternalCorrelation)},
      {CUPTI_ACTIVITY_KIND_MEMORY2, sizeof(CUpti_ActivityMemory4)},
  };
}

ScriptedCupti::~ScriptedCupti() {
  if (g_cupti == this) {
    g_cupti = nullptr;
  }
}

cupti::CuptiTable ScriptedCupti::table() const {
  using Calls = ScriptedCuptiCalls;
  cupti::CuptiTable table;
  table.getVersion = Calls::getVersion;
  table.getTimestamp = Calls::getTimestamp;
  table.subscribe = Calls::subscribe;
  table.unsubscribe = Calls::unsubscribe;
  table.activityRegisterCallbacks = Calls::registerCallbacks;
  table.activityEnable = Calls::enable;
  table.activityFlushAll = Calls::flushAll;
  table.activityGetNextRecord = Calls::nextRecord;
  table.getResultString = Calls::resultString;
  table.getCallbackName = Calls::callbackName;
  table.setThreadIdType = Calls::threadIdType;
  table.activitySetAttribute = Calls::setAttribute;
  table.activityEnableRuntimeApi = Calls::runtimeApi;
  table.activityEnableDriverApi = Calls::driverApi;
  table.activityEnableAllSyncRecords = Calls::allSyncRecords;
  table.activityRegisterTimestampCallback = Calls::timestampCallback;
  table.activityGetNumDroppedRecords = Calls::dropped;
  table.activityPushExternalCorrelationId = Calls::push;
  table.activityPopExternalCorrelationId = Calls::pop;
  return table;
}

void ScriptedCupti::fail(const std::string& function, CUptiResult result) { m_results[function] = result; }
void ScriptedCupti::failKind(CUpti_ActivityKind kind, CUptiResult result) { m_kindResults[kind] = result; }
void ScriptedCupti::setRecordBytes(CUpti_ActivityKind kind, size_t bytes) { m_recordBytes[kind] = bytes; }
void ScriptedCupti::setDropped(size_t records) {
  const std::lock_guard lock(m_mutex);
  m_dropped = records;
}
void ScriptedCupti::setTimestamp(uint64_t now) { m_now = now; }

CUptiResult ScriptedCupti::enter(const std::string& function, const std::string& arguments) {
  const std::lock_guard lock(m_mutex);
  m_log.push_back(arguments.empty() ? function : function + " " + arguments);
  const auto found = m_results.find(function);
  return found == m_results.end() ? CUPTI_SUCCESS : found->second;
}

bool ScriptedCupti::emitBytes(const void* record, size_t bytes) {
  Buffer buffer;
  {
    const std::lock_guard lock(m_mutex);
    buffer = m_buffers[std::this_thread::get_id()];
  }
  if (buffer.memory && buffer.used + bytes > buffer.bytes) {
    deliverThisThread();
    buffer = Buffer{};
  }
  if (!buffer.memory) {
    size_t maxRecords = 0;
    m_request(&buffer.memory, &buffer.bytes, &maxRecords);
    if (!buffer.memory) {
      const std::lock_guard lock(m_mutex);
      ++m_dropped;
      return false;
    }
  }
  std::memcpy(buffer.memory + buffer.used, record, bytes);
  buffer.used += bytes;
  const std::lock_guard lock(m_mutex);
  m_buffers[std::this_thread::get_id()] = buffer;
  return true;
}

void ScriptedCupti::deliver(const Buffer& buffer) {
  if (buffer.memory) {
    {
      const std::lock_guard lock(m_mutex);
      m_lastDelivered = buffer;
    }
    t_insideCallback = true;
    m_complete(nullptr, 0, buffer.memory, buffer.bytes, buffer.used);
    t_insideCallback = false;
  }
}

void ScriptedCupti::deliverThisThread() {
  Buffer buffer;
  {
    const std::lock_guard lock(m_mutex);
    std::swap(buffer, m_buffers[std::this_thread::get_id()]);
  }
  deliver(buffer);
}

void ScriptedCupti::deliverAll() {
  std::map<std::thread::id, Buffer> buffers;
  {
    const std::lock_guard lock(m_mutex);
    std::swap(buffers, m_buffers);
  }
  for (const auto& [thread, buffer] : buffers) {
    deliver(buffer);
  }
}

void ScriptedCupti::deliverAgain() {
  Buffer buffer;
  {
    const std::lock_guard lock(m_mutex);
    buffer = m_lastDelivered;
  }
  deliver(buffer);
}

std::vector<std::string> ScriptedCupti::log() const {
  const std::lock_guard lock(m_mutex);
  return m_log;
}

size_t ScriptedCupti::calls(const std::string& function) const {
  size_t count = 0;
  for (const std::string& line : log()) {
    count += line == function || line.starts_with(function + " ") ? 1 : 0;
  }
  return count;
}

std::vector<uint64_t> ScriptedCupti::correlationStack() const { return m_correlation; }

}  // namespace plumb::test
