// SPDX-License-Identifier: Apache-2.0
#include "collector/agent/ticker.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <ctime>

#include "collector/api/time.h"

namespace plumb::agent::ticker {
namespace {

constexpr size_t kMaxTicks = 32;
constexpr size_t kStackBytes = 512 * 1024;  // plugins call vendor libraries on it
constexpr int64_t kIdleNs = kNanosecondsPerSecond;

struct Entry {
  std::atomic<Tick> tick;  // null: not yet complete
  void* context;
  int64_t periodNs;
  int64_t dueNs;
};

constinit Entry s_entries[kMaxTicks] = {};
constinit std::atomic<uint32_t> s_entryCount{0};

enum State : uint32_t { kNone = 0, kRunning = 1, kStopping = 2, kDone = 3 };
constinit std::atomic<uint32_t> s_state{kNone};
constinit std::atomic<uint32_t> s_wake{0};  // counts reasons to wake up

// Who may run: the thread between its waits, or a fork. The thread begins at work, with its creation.
enum Gate : uint32_t { kFree = 0, kAtWork = 1, kForking = 2 };
constinit std::atomic<uint32_t> s_gate{kFree};
thread_local constinit bool t_holdsGate = false;  // in the thread that forks
constexpr int64_t kForkPatienceNs = 100'000'000;
constexpr int64_t kGatePauseNs = 1'000'000;

// Raw futexes: a condition variable could be left locked by a fork.
void waitWhile(std::atomic<uint32_t>& word, uint32_t value, int64_t timeoutNs) noexcept {
  const timespec timeout{.tv_sec = timeoutNs / kNanosecondsPerSecond, .tv_nsec = timeoutNs % kNanosecondsPerSecond};
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, &timeout, nullptr, 0);
}

void wake(std::atomic<uint32_t>& word) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

void enterWork() noexcept {
  uint32_t expected = kFree;
  while (!s_gate.compare_exchange_weak(expected, kAtWork, std::memory_order_acq_rel)) {
    waitWhile(s_gate, expected, kGatePauseNs);
    expected = kFree;
  }
}

void openGate() noexcept {
  s_gate.store(kFree, std::memory_order_release);
  wake(s_gate);
}

// Runs what is due; the time until the next is due.
int64_t runDue() noexcept {
  int64_t next = kIdleNs;
  const uint32_t count = std::min<uint32_t>(s_entryCount.load(std::memory_order_acquire), kMaxTicks);
  for (uint32_t i = 0; i < count && s_state.load(std::memory_order_acquire) == kRunning; ++i) {
    Entry& entry = s_entries[i];
    const Tick tick = entry.tick.load(std::memory_order_acquire);
    if (tick == nullptr) {
      continue;
    }
    int64_t now = monotonicNowNs();
    if (entry.dueNs <= now) {
      tick(entry.context, 0);
      now = monotonicNowNs();
      entry.dueNs = now + entry.periodNs;
    }
    next = std::min(next, entry.dueNs - now);
  }
  return std::max<int64_t>(next, 0);
}

void runAtExit() noexcept {
  const uint32_t count = std::min<uint32_t>(s_entryCount.load(std::memory_order_acquire), kMaxTicks);
  // Plugins registered after the agent: they flush, the agent's own chore sums up.
  for (uint32_t i = count; i-- > 0;) {
    if (const Tick tick = s_entries[i].tick.load(std::memory_order_acquire); tick != nullptr) {
      tick(s_entries[i].context, 1);
    }
  }
}

void* run(void*) noexcept {
  pthread_setname_np(pthread_self(), "plumb");
  while (s_state.load(std::memory_order_acquire) == kRunning) {
    const uint32_t seen = s_wake.load(std::memory_order_acquire);
    const int64_t pause = runDue();
    if (pause > 0 && s_state.load(std::memory_order_acquire) == kRunning) {
      openGate();
      waitWhile(s_wake, seen, pause);
      enterWork();
    }
  }
  runAtExit();
  openGate();
  s_state.store(kDone, std::memory_order_release);
  wake(s_state);
  return nullptr;
}

}  // namespace

void every(uint32_t periodMs, Tick tick, void* context) noexcept {
  const uint32_t index = s_entryCount.fetch_add(1, std::memory_order_acq_rel);
  if (index >= kMaxTicks) {
    s_entryCount.store(kMaxTicks, std::memory_order_release);
    return;
  }
  Entry& entry = s_entries[index];
  entry.context = context;
  entry.periodNs = std::max<int64_t>(periodMs, 1) * 1'000'000;
  entry.dueNs = monotonicNowNs() + entry.periodNs;
  entry.tick.store(tick, std::memory_order_release);
  s_wake.fetch_add(1, std::memory_order_acq_rel);
  wake(s_wake);
}

bool start() noexcept {
  s_state.store(kRunning, std::memory_order_release);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the new thread inherits it
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_t thread;
  s_gate.store(kAtWork, std::memory_order_release);
  const bool started = pthread_create(&thread, &attributes, run, nullptr) == 0;
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!started) {
    openGate();
    s_state.store(kNone, std::memory_order_release);
  }
  return started;
}

void stop(int64_t waitMs) noexcept {
  uint32_t expected = kRunning;
  if (!s_state.compare_exchange_strong(expected, kStopping, std::memory_order_acq_rel)) {
    if (expected == kNone && s_state.exchange(kDone) == kNone) {
      runAtExit();
    }
    return;
  }
  s_wake.fetch_add(1, std::memory_order_acq_rel);
  wake(s_wake);
  const int64_t deadline = monotonicNowNs() + waitMs * 1'000'000;
  while (s_state.load(std::memory_order_acquire) == kStopping) {
    const int64_t left = deadline - monotonicNowNs();
    if (left <= 0) {
      return;
    }
    waitWhile(s_state, kStopping, left);
  }
}

void beforeFork() noexcept {
  const int64_t deadline = monotonicNowNs() + kForkPatienceNs;
  uint32_t expected = kFree;
  while (!s_gate.compare_exchange_weak(expected, kForking, std::memory_order_acq_rel)) {
    if (monotonicNowNs() >= deadline) {
      return;
    }
    waitWhile(s_gate, expected, kGatePauseNs);
    expected = kFree;
  }
  t_holdsGate = true;
}

void afterForkInParent() noexcept {
  if (t_holdsGate) {
    t_holdsGate = false;
    openGate();
  }
}

void forgetParent() noexcept {
  t_holdsGate = false;
  s_gate.store(kFree, std::memory_order_release);
  s_state.store(kNone, std::memory_order_release);
}

}  // namespace plumb::agent::ticker
