// SPDX-License-Identifier: Apache-2.0
#include "collector/agent/attach.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <ctime>

#include "collector/agent/config.h"
#include "collector/agent/cuda_presence.h"
#include "collector/agent/diagnose.h"
#include "collector/agent/plugin_host.h"
#include "collector/agent/publisher.h"
#include "collector/agent/session.h"
#include "collector/agent/ticker.h"
#include "collector/api/time.h"

namespace plumb::agent {
namespace {

enum State : uint32_t { kIdle, kAttaching, kOn, kOff, kForked };

constinit std::atomic<uint32_t> s_state{kIdle};
constinit std::atomic<uint32_t> s_attachingTid{0};
constinit std::atomic<bool> s_exited{false};
constinit bool s_everAttached = false;              // in this process or the one that it was forked from
constinit std::atomic<bool> s_bindingAsked{false};  // CUPTI: a second try would only repeat the diagnostics
constinit bool s_isForked = false;                  // and has not attached
constinit bool s_ending = false;                    // attached only to say something
constinit Connection s_connection;

constexpr uint32_t kChorePeriodMs = 1000;
constexpr int64_t kExitWaitMs = 2000;
constexpr int64_t kAttachPatienceNs = 5 * kNanosecondsPerSecond;

class KeepErrno {
 public:
  KeepErrno() noexcept : m_value(errno) {}
  ~KeepErrno() { errno = m_value; }
  KeepErrno(const KeepErrno&) = delete;
  KeepErrno& operator=(const KeepErrno&) = delete;

 private:
  int m_value;
};

void publishClockPair() noexcept {
  const int64_t before = monotonicNowNs();
  const int64_t realtime = realtimeNowNs();
  const int64_t after = monotonicNowNs();
  const ClockPairRecord record{.header = makeHeader<ClockPairRecord>(RecordKind::kClockPair, publisher::threadId()),
                               .monotonic_ns = before + (after - before) / 2,
                               .realtime_ns = realtime,
                               .cupti_ns = 0};
  publisher::publish(record);
}

// The driver will not call InitializeInjection, or has done so before we were there.
void bindWithoutInjection() noexcept {
  if (!s_ending && !startup().cudaInjectionOurs && !s_bindingAsked.load() && !plugins::cudaBound() &&
      (isMapped("libcuda.so.1") || isMapped("libcupti.so.13") || isMapped("libcupti.so.12"))) {
    onCudaReady();
  }
}

// Nothing has called InitializeInjection up to the end: says why, if the plugins have not done so.
void explainMissingCuda() noexcept {
  if (plugins::cudaBound()) {
    return;
  }
  if (!s_bindingAsked.load()) {
    switch (cudaPresence()) {
      case CudaPresence::kNoRuntime:
        diagnose(Severity::kInfo, "cupti", "no_cuda", 1,
                 "This process loaded no CUDA runtime: there is no GPU work to record.");
        break;
      case CudaPresence::kUnused:
        diagnose(Severity::kInfo, "cupti", "cuda_not_used", 1,
                 "This process never initialised CUDA: there is no GPU work to record.");
        break;
      case CudaPresence::kNoDriver:
        diagnose(
            Severity::kError, "cupti", "lane_off", 1,
            "GPU work is not recorded: no NVIDIA driver is usable in this process (it loaded the CUDA runtime, and "
            "there is no libcuda.so.1).");
        break;
      case CudaPresence::kDriverSilent:
        diagnose(Severity::kWarning, "cupti", "lane_off", 1,
                 "GPU work is not recorded: this process loaded the NVIDIA driver, but CUDA never became ready in it. "
                 "Either no GPU is usable (see nvidia-smi and CUDA_VISIBLE_DEVICES), or CUDA was not used.");
        break;
    }
  }
  plugins::reportUnboundCuda();
}

void runChores(void*, int atExit) noexcept {
  if (s_connection.lost()) {
    publisher::stop();
    return;
  }
  publishClockPair();
  publisher::publishThreadNames();
  bindWithoutInjection();
  if (atExit != 0) {
    explainMissingCuda();
  }
}

void onExit() {
  // A forked child that called exit() has inherited this handler; it is not live unless it attached itself.
  if (!publisher::live() || s_exited.exchange(true)) {
    return;
  }
  const KeepErrno keep;
  ticker::stop(integerSetting("exit_wait_ms", kExitWaitMs));
  publisher::finish();
  s_connection.sendGoodbye();
}

void onForkChild() {
  ticker::forgetParent();
  s_attachingTid.store(0);
  if (!s_everAttached) {
    s_isForked = true;
    s_state.store(kIdle);
    return;
  }
  publisher::forgetParent();
  plugins::onForkChild();
  s_connection.close();
  s_exited.store(false);
  s_state.store(s_state.load() == kOff ? kOff : kForked);
}

void reportForeignTools() noexcept {
  if (startup().foreignCudaInjection) {
    diagnose(
        Severity::kWarning, "cupti", "foreign_injection", 1,
        "CUDA_INJECTION64_PATH names another tool; it was left alone, so GPU work is recorded only if that tool leaves "
        "CUPTI free. Unset it to record everything.");
  }
  if (startup().foreignNvtxInjection) {
    diagnose(
        Severity::kWarning, "nvtx", "foreign_injection", 1,
        "NVTX_INJECTION64_PATH names another tool; it was left alone, so there are no NVTX ranges here. Unset it to "
        "record them.");
  }
  if (startup().foreignNcclProfiler) {
    diagnose(
        Severity::kWarning, "nccl", "foreign_profiler", 1,
        "NCCL_PROFILER_PLUGIN names another plugin; it was left alone, so there are no collectives here. Unset it to "
        "record them.");
  }
}

bool connectAndPublish() noexcept {
  if (!publisher::create()) {
    return false;
  }
  const char* why = nullptr;  // there is no place to say it: the target's output is not ours
  const int socket = connectToRecorder(why);
  if (socket >= 0) {
    s_connection.open(socket);
    if (s_connection.sendHello(publisher::segmentFd())) {
      publisher::go();
      return true;
    }
    s_connection.close();
  }
  publisher::destroy();
  return false;
}

bool attach() noexcept {
  loadSettings();
  if (!connectAndPublish()) {
    return false;
  }
  publishClockPair();
  reportForeignTools();
  if (s_everAttached) {
    plugins::publishStates();
  } else {
    s_everAttached = true;
    ticker::every(kChorePeriodMs, runChores, nullptr);  // before the plugins' ticks, so at the exit after them
    plugins::loadAll();
    std::atexit(onExit);
  }
  if (!s_ending && !ticker::start()) {
    diagnose(Severity::kWarning, "agent", "no_thread", 1,
             "The agent's thread could not be started: clocks and buffers are read only at the end.");
  }
  return true;
}

void wakeWaiters() noexcept { syscall(SYS_futex, &s_state, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0); }

bool waitForOther() noexcept {
  const int64_t deadline = monotonicNowNs() + kAttachPatienceNs;
  while (s_state.load(std::memory_order_acquire) == kAttaching && monotonicNowNs() < deadline) {
    const timespec pause{.tv_sec = 0, .tv_nsec = 100'000'000};
    syscall(SYS_futex, &s_state, FUTEX_WAIT_PRIVATE, kAttaching, &pause, nullptr, 0);
  }
  return s_state.load(std::memory_order_acquire) == kOn && publisher::live();
}

[[gnu::constructor]] void onLoad() {
  const KeepErrno keep;
  loadStartup();
  pthread_atfork(ticker::beforeFork, ticker::afterForkInParent, onForkChild);
}

// A process can use CUDA's runtime without anything calling us, because its driver does not work: it is the last moment
// to say so. Without a thread: what the thread does at the end is done here.
[[gnu::destructor]] void onUnload() {
  if (s_state.load() != kIdle || s_isForked || startup().off) {
    return;
  }
  const KeepErrno keep;
  if (cudaPresence() != CudaPresence::kNoDriver) {
    return;  // a driver that nobody called is that of a helper process more often than not
  }
  s_ending = true;
  if (ensureAttached()) {
    onExit();
  }
}

}  // namespace

bool ensureAttached() noexcept {
  uint32_t state = s_state.load(std::memory_order_acquire);
  if (state == kOn) {
    return publisher::live();
  }
  if (state == kOff || startup().off || s_attachingTid.load(std::memory_order_relaxed) == publisher::threadId()) {
    return false;
  }
  const KeepErrno keep;
  if (state == kAttaching || !s_state.compare_exchange_strong(state, kAttaching, std::memory_order_acq_rel)) {
    return waitForOther();
  }
  s_attachingTid.store(publisher::threadId(), std::memory_order_relaxed);
  const bool attached = attach();
  s_attachingTid.store(0, std::memory_order_relaxed);
  s_state.store(attached ? kOn : kOff, std::memory_order_release);
  wakeWaiters();
  if (attached) {
    bindWithoutInjection();
  }
  return attached;
}

void attachForkedChild() noexcept {
  if (s_state.load(std::memory_order_relaxed) == kForked) {
    (void)ensureAttached();
  }
}

void onCudaReady() noexcept {
  s_bindingAsked.store(true);
  if (plugins::bindCuda()) {
    // Once more, so that it runs before what CUPTI has registered meanwhile.
    std::atexit(onExit);
  }
}

}  // namespace plumb::agent
