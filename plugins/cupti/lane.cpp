// SPDX-License-Identifier: Apache-2.0
#include "plugins/cupti/lane.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "plugins/cupti/cupti_library.h"
#include "plugins/cupti/record_layout.h"

namespace plumb::cupti {
namespace {

constexpr const char* kLaneName = "cupti";
constexpr const char* kPluginVersion = "1";
constexpr size_t kDefaultCapBytes = size_t{256} << 20;
constexpr int64_t kClockTries = 3;

// CUPTI's versions are 19 to 28 for CUDA 12.x, then 130000 for 13.0 and so on.
constexpr uint32_t kTimestampBugFrom = 24;
constexpr uint32_t kTimestampBugFixed = 130100;

struct Kind {
  uint32_t id;
  const char* what;  // for the user
};
constexpr Kind kKinds[] = {
    {abi::kDevice, "devices"},
    {abi::kContext, "contexts"},
    {abi::kStream, "streams"},
    {abi::kExternalCorrelation, "links from library calls to kernels"},
    {abi::kRuntime, "API calls"},
    {abi::kMemory, "allocations"},
    {abi::kSynchronization, "synchronization"},
    {abi::kMemcpy, "copies"},
    {abi::kMemcpyPeer, "copies between devices"},
    {abi::kMemset, "memory sets"},
    {abi::kConcurrentKernel, "kernels"},
};

// Calls that ask or set something on the host in nanoseconds and that frameworks make by the thousand.
constexpr uint32_t kNoisyRuntimeCalls[] = {
    CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaSetDevice_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaPeekAtLastError_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaGetDeviceCount_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaDeviceGetAttribute_v5000,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamIsCapturing_v10000,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamIsCapturing_ptsz_v10000,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamGetCaptureInfo_v2_v11030,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamGetCaptureInfo_v2_ptsz_v11030,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamGetCaptureInfo_v12030,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamGetCaptureInfo_ptsz_v12030,
    CUPTI_RUNTIME_TRACE_CBID_cudaThreadExchangeStreamCaptureMode_v10010,
    CUPTI_RUNTIME_TRACE_CBID___cudaPushCallConfiguration_v13000,
    CUPTI_RUNTIME_TRACE_CBID___cudaPopCallConfiguration_v13000,
    CUPTI_RUNTIME_TRACE_CBID___cudaGetKernel_v13000,
};

// Libraries (NCCL, Triton) launch through the driver API directly; without these their kernels have no launch call.
constexpr uint32_t kDriverLaunches[] = {
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz,
};

constinit std::atomic<Lane*> g_testLane{nullptr};

void CUPTIAPI onRequest(uint8_t** buffer, size_t* bytes, size_t* maxRecords) noexcept {
  processLane().requestBuffer(buffer, bytes, maxRecords);
}
void CUPTIAPI onComplete(CUcontext, uint32_t, uint8_t* buffer, size_t bytes, size_t validBytes) noexcept {
  processLane().completeBuffer(buffer, bytes, validBytes);
}
void CUPTIAPI onCallback(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) noexcept {}
uint64_t CUPTIAPI monotonicTimestamp() noexcept { return static_cast<uint64_t>(monotonicNowNs()); }

void onTick(void* lane, int atExit) noexcept { static_cast<Lane*>(lane)->tick(atExit != 0); }
void onPush(uint64_t externalId) noexcept { processLane().pushCorrelation(externalId); }
void onPop() noexcept { processLane().popCorrelation(); }

size_t capBlocks(const char* setting) noexcept {
  char* end = nullptr;
  const unsigned long megabytes = setting ? strtoul(setting, &end, 10) : 0;
  const size_t bytes = megabytes ? size_t{megabytes} << 20 : kDefaultCapBytes;
  return bytes / BufferPool::kBlockBytes;
}

}  // namespace

Lane& processLane() noexcept {
  static constinit Lane lane;
  Lane* other = g_testLane.load(std::memory_order_relaxed);
  return other ? *other : lane;
}

void useLaneInTests(Lane* lane) noexcept { g_testLane.store(lane, std::memory_order_relaxed); }

void Lane::start(const PlumbHost* host) noexcept { m_host = Host(host); }

bool Lane::onCuda() noexcept {
  if (m_attached.load(std::memory_order_acquire)) {
    return true;
  }
  if (m_refused || m_dead.load(std::memory_order_relaxed)) {
    return false;
  }
  char path[4096];
  void* library = openCupti(path, sizeof path);
  if (!library) {
    return turnOff(Problem::kNoLibrary, CUPTI_SUCCESS, nullptr);
  }
  CuptiTable table;
  if (const char* missing = bindTable(library, table)) {
    return turnOff(Problem::kMissingFunction, CUPTI_SUCCESS, missing);
  }
  return attach(table, path);
}

bool Lane::attach(const CuptiTable& table, const char* path) noexcept {
  m_table = table;
  m_table.getVersion(&m_version);
  if (!subscribe()) {
    return false;
  }
  if (!m_pool.reserve(capBlocks(m_host.setting("cupti_buffer_mb")))) {
    unsubscribe();
    return turnOff(Problem::kOther, CUPTI_ERROR_OUT_OF_MEMORY, "reserving activity buffers");
  }
  configure();
  if (!enableKinds()) {
    return false;
  }
  m_attached.store(true, std::memory_order_release);
  writeClockPair();
  publishPlugin(path);
  if (m_table.activityPushExternalCorrelationId && m_table.activityPopExternalCorrelationId) {
    m_host.raw()->provide_correlation(onPush, onPop);
  }
  m_host.raw()->every(kFlushPeriodMs, onTick, this);
  return true;
}

bool Lane::subscribe() noexcept {
  const CUptiResult result = m_table.subscribe(&m_subscriber, onCallback, nullptr);
  switch (static_cast<int>(result)) {
    case CUPTI_SUCCESS:
      return true;
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
      return turnOff(Problem::kHeld, result, nullptr);
    case CUPTI_ERROR_UNKNOWN:
      return turnOff(Problem::kNoDriver, result, nullptr);
    case CUPTI_ERROR_NOT_INITIALIZED:
      return turnOff(Problem::kDriverTooOld, result, nullptr);
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
      return turnOff(Problem::kNoPermission, result, nullptr);
    default:
      return turnOff(Problem::kOther, result, "cuptiSubscribe");
  }
}

void Lane::unsubscribe() noexcept {
  if (m_table.unsubscribe) {
    m_table.unsubscribe(m_subscriber);
  }
}

void Lane::configure() noexcept {
  if (m_table.setThreadIdType) {
    m_table.setThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
  }
  if (m_table.activitySetAttribute) {
    uint8_t zeroed = 1;
    size_t bytes = sizeof zeroed;
    m_table.activitySetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &bytes, &zeroed);
  }
  if (m_table.activityEnableAllSyncRecords) {
    m_table.activityEnableAllSyncRecords(0);  // a query that finds work unfinished is polling, not waiting
  }
  // From 12.6 update 2 until 13.1 CUPTI can lose all kernel times when a timestamp callback is set.
  const bool safe = m_version < kTimestampBugFrom || m_version >= kTimestampBugFixed;
  if (safe && m_table.activityRegisterTimestampCallback &&
      m_table.activityRegisterTimestampCallback(monotonicTimestamp) == CUPTI_SUCCESS) {
    m_clock = Clock::kMonotonicRaw;
  }
  m_table.activityRegisterCallbacks(onRequest, onComplete);
}

bool Lane::enableKind(uint32_t kind) noexcept {
  const size_t bytes = probeRecordBytes(m_table, kind);
  if (bytes != 0 && bytes < prefixBytes(kind)) {
    return false;  // a library older than the layouts we know
  }
  return m_table.activityEnable(static_cast<CUpti_ActivityKind>(kind)) == CUPTI_SUCCESS;
}

bool Lane::enableKinds() noexcept {
  char failed[256] = "";
  uint64_t failures = 0;
  bool kernels = false;
  for (const Kind& kind : kKinds) {
    const bool enabled = enableKind(kind.id);
    kernels = kernels || (enabled && kind.id == abi::kConcurrentKernel);
    if (!enabled) {
      const size_t used = strlen(failed);
      snprintf(failed + used, sizeof failed - used, "%s%s", used ? ", " : "", kind.what);
      ++failures;
    }
  }
  if (!kernels) {
    unsubscribe();
    return turnOff(Problem::kOther, CUPTI_ERROR_UNKNOWN, "enabling kernel records");
  }
  if (failures) {
    char message[384];
    snprintf(message, sizeof message, "CUPTI (version %u) does not deliver these here, so they are not recorded: %s.",
             m_version, failed);
    m_host.diagnose(Severity::kWarning, kLaneName, "kind_off", failures, message);
  }
  filterApiCalls();
  return true;
}

void Lane::filterApiCalls() noexcept {
  if (m_table.activityEnableRuntimeApi) {
    for (const uint32_t cbid : kNoisyRuntimeCalls) {
      m_table.activityEnableRuntimeApi(cbid, 0);
    }
  }
  const char* driver = m_host.setting("cupti_driver_api");
  const bool all = driver && strcmp(driver, "all") == 0;
  if (all || !m_table.activityEnableDriverApi) {
    enableKind(abi::kDriver);
    return;
  }
  for (const uint32_t cbid : kDriverLaunches) {
    m_table.activityEnableDriverApi(cbid, 1);
  }
}

bool Lane::turnOff(Problem problem, CUptiResult result, const char* detail) noexcept {
  if (problem == Problem::kNoLibrary && m_saidNoLibrary) {
    return false;  // it may still come: asked again, but said once
  }
  m_saidNoLibrary = m_saidNoLibrary || problem == Problem::kNoLibrary;
  m_refused = problem != Problem::kNoLibrary;
  const char* reason = "?";
  if (m_table.getResultString) {
    m_table.getResultString(result, &reason);
  }
  char message[512];
  describeProblem({problem, static_cast<int>(result), reason, m_version, detail}, message, sizeof message);
  m_host.diagnose(Severity::kError, kLaneName, "lane_off", 1, message);
  return false;
}

void Lane::publishPlugin(const char* path) noexcept {
  char library[4200];
  snprintf(library, sizeof library, "%s (CUPTI %u)", path, m_version);
  PluginRecord record{};
  record.header = makeHeader<PluginRecord>(RecordKind::kPlugin, m_host.threadId());
  record.name = m_host.intern(kLaneName);
  record.version = m_host.intern(kPluginVersion);
  record.library = m_host.intern(library);
  record.is_on = 1;
  m_host.write(record);
}

void Lane::pushCorrelation(uint64_t externalId) noexcept {
  if (m_attached.load(std::memory_order_acquire) && !m_dead.load(std::memory_order_relaxed)) {
    m_table.activityPushExternalCorrelationId(kCorrelationKind, externalId);
  }
}

void Lane::popCorrelation() noexcept {
  if (m_attached.load(std::memory_order_acquire) && !m_dead.load(std::memory_order_relaxed)) {
    uint64_t last = 0;
    m_table.activityPopExternalCorrelationId(kCorrelationKind, &last);
  }
}

void Lane::tick(bool atExit) noexcept {
  if (!m_attached.load(std::memory_order_acquire) || m_dead.load(std::memory_order_relaxed)) {
    return;
  }
  writeClockPair();
  m_table.activityFlushAll(atExit ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
  countDrops();
  if (atExit) {
    writeClockPair();
    reportCounts();
  }
}

void Lane::writeClockPair() noexcept {
  ClockPairRecord best{};
  int64_t bestSpread = INT64_MAX;
  for (int64_t i = 0; i < kClockTries; ++i) {
    uint64_t cupti = 0;
    const int64_t before = monotonicNowNs();
    const int64_t realtime = realtimeNowNs();
    m_table.getTimestamp(&cupti);
    const int64_t spread = monotonicNowNs() - before;
    if (spread < bestSpread) {
      bestSpread = spread;
      best.monotonic_ns = before + spread / 2;
      best.realtime_ns = realtime;
      best.cupti_ns = m_clock == Clock::kCupti ? static_cast<int64_t>(cupti) : 0;
    }
  }
  best.header = makeHeader<ClockPairRecord>(RecordKind::kClockPair, m_host.threadId());
  m_host.write(best);
}

void Lane::countDrops() noexcept {
  size_t dropped = 0;
  if (!m_table.activityGetNumDroppedRecords ||
      m_table.activityGetNumDroppedRecords(nullptr, 0, &dropped) != CUPTI_SUCCESS || dropped == 0) {
    return;
  }
  if (m_droppedByCupti == 0) {
    m_host.diagnose(
        Severity::kError, kLaneName, "records_dropped", dropped,
        "CUPTI began to drop activity records because no buffer was free: kernels and API calls are missing from "
        "here on; a larger PLUMB_CUPTI_BUFFER_MB gives it more room.");
  }
  m_droppedByCupti += dropped;
}

void Lane::reportCounts() noexcept {
  struct Count {
    uint64_t count;
    Severity severity;
    const char* code;
    const char* message;
  };
  const Count counts[] = {
      {m_droppedByCupti, Severity::kError, "records_dropped_total",
       "activity records were dropped by CUPTI itself in the whole run: its buffers were full."},
      {m_badTimes.load(), Severity::kWarning, "bad_time",
       "GPU events have no usable time (CUPTI gave 0, or an end before the start): they are kept, flagged, and left "
       "out of sums."},
      {m_unnamedKernels.load(), Severity::kWarning, "unnamed_kernel",
       "kernels came from CUPTI without a name: they are kept as \"unnamed kernel\", together."},
      {m_badRecords.load(), Severity::kWarning, "bad_record",
       "activity buffers held something that is not a known record: the rest of those buffers is missing."},
      {m_refusedBuffers.load(), Severity::kWarning, "buffer_cap",
       "requests for an activity buffer came while all were in use (cap: PLUMB_CUPTI_BUFFER_MB)."},
      {m_doubleBuffers.load(), Severity::kWarning, "buffer_twice",
       "activity buffers were delivered a second time by CUPTI and ignored."},
  };
  for (const Count& c : counts) {
    if (c.count) {
      m_host.diagnose(c.severity, kLaneName, c.code, c.count, c.message);
    }
  }
}

}  // namespace plumb::cupti
