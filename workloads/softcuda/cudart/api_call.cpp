// SPDX-License-Identifier: Apache-2.0
#include "workloads/softcuda/cudart/api_call.h"

#include <dlfcn.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

#include "workloads/softcuda/cudart/stream.h"
#include "workloads/softcuda/device.h"

namespace softcuda {
namespace {

constinit std::atomic<const SoftcudaHooks*> g_hooks{nullptr};
constinit std::atomic<uint32_t> g_correlation{0};
constinit std::atomic<cudaError_t> g_sticky{cudaSuccess};
constinit std::atomic<bool> g_ready{false};
constinit std::atomic<bool> g_forked{false};
constinit thread_local cudaError_t t_lastError = cudaSuccess;
constinit thread_local bool t_initializing = false;
std::mutex g_initializing;

// The driver does this in cuInit: one library, its InitializeInjection, on the application's thread.
void loadInjection() {
  const char* path = std::getenv("CUDA_INJECTION64_PATH");
  if (!path || !*path) return;
  void* library = dlopen(path, RTLD_NOW);
  if (!library) {
    std::fprintf(stderr, "softcuda: CUDA_INJECTION64_PATH is ignored: %s\n", dlerror());
    return;
  }
  auto* entry = reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"));
  if (entry) entry();
}

}  // namespace

const SoftcudaHooks* hooks() { return g_hooks.load(std::memory_order_acquire); }

cudaError_t initialize() {
  if (g_ready.load(std::memory_order_acquire)) [[likely]] {
    if (g_forked.load(std::memory_order_relaxed)) return cudaErrorInitializationError;
    return inHostFunction() ? cudaErrorNotPermitted : cudaSuccess;
  }
  if (t_initializing) return cudaSuccess;  // a call from within InitializeInjection
  std::lock_guard lock(g_initializing);
  if (g_ready.load(std::memory_order_relaxed)) return cudaSuccess;
  t_initializing = true;
  pthread_atfork(nullptr, nullptr, [] { g_forked = true; });
  std::atexit([] {
    if (!g_forked) drainAtExit();
  });
  loadInjection();
  t_initializing = false;
  g_ready.store(true, std::memory_order_release);
  SoftcudaEvent event{};
  event.kind = SOFTCUDA_EVENT_CONTEXT_CREATED;
  emit(event);
  return cudaSuccess;
}

void setStickyError(cudaError_t error) {
  cudaError_t none = cudaSuccess;
  g_sticky.compare_exchange_strong(none, error);
}
cudaError_t stickyError() { return g_sticky.load(std::memory_order_acquire); }

cudaError_t remember(cudaError_t error) {
  if (error != cudaSuccess) t_lastError = error;
  return error;
}

void emit(const SoftcudaEvent& event) {
  const SoftcudaHooks* h = hooks();
  if (!h) return;
  if (!t_graphLaunch) {
    h->event(&event);
    return;
  }
  SoftcudaEvent ofGraph = event;  // what was captured knows nothing of this launch
  ofGraph.correlation = t_graphLaunch->correlation;
  ofGraph.queued_ns = t_graphLaunch->queuedNs;
  ofGraph.graph_id = t_graphLaunch->graphId;
  ofGraph.graph_node_id = t_graphLaunch->nodeId;
  h->event(&ofGraph);
}

ApiCall::ApiCall(uint32_t domain, uint32_t cbid, const char* name, const char* symbol) : m_hooks(hooks()) {
  m_call.correlation = g_correlation.fetch_add(1, std::memory_order_relaxed) + 1;
  if (!m_hooks) return;
  m_call.domain = domain;
  m_call.cbid = cbid;
  m_call.name = name;
  m_call.symbol = symbol;
  m_hooks->api_begin(&m_call);
  m_call.start_ns = softcuda_now();
}

ApiCall::~ApiCall() {
  if (!m_hooks) return;
  m_call.end_ns = softcuda_now();
  m_hooks->api_end(&m_call);
}

cudaError_t ApiCall::finish(cudaError_t result) {
  m_call.result = result;
  return result;
}

}  // namespace softcuda

using softcuda::remember;

extern "C" {

void softcuda_set_hooks(const SoftcudaHooks* hooks) { softcuda::g_hooks.store(hooks, std::memory_order_release); }

void softcuda_initialize() { softcuda::initialize(); }

int softcuda_context_exists() { return softcuda::g_ready.load(std::memory_order_acquire) ? 1 : 0; }

uint64_t softcuda_now() {
  if (const SoftcudaHooks* h = softcuda::hooks(); h && h->now) return h->now();
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

cudaError_t softcuda_unsupported(const char* call) {
  static std::mutex mutex;
  static const char* said[512];
  static std::size_t count = 0;
  std::lock_guard lock(mutex);
  bool known = false;
  for (std::size_t i = 0; i < count && !known; ++i) known = std::strcmp(said[i], call) == 0;
  if (!known) {
    if (count < std::size(said)) said[count++] = call;
    std::fprintf(stderr, "softcuda: %s is not available on the software device\n", call);
  }
  return remember(cudaErrorNotSupported);
}

cudaError_t cudaGetLastError() {
  return SOFTCUDA_PASSIVE_CALL(cudaGetLastError, v3020, {
    const cudaError_t error = std::exchange(softcuda::t_lastError, softcuda::stickyError());
    return error == cudaSuccess ? softcuda::stickyError() : error;
  });
}

cudaError_t cudaPeekAtLastError() {
  return SOFTCUDA_PASSIVE_CALL(cudaPeekAtLastError, v3020, {
    const cudaError_t error = softcuda::t_lastError;
    return error == cudaSuccess ? softcuda::stickyError() : error;
  });
}
}
