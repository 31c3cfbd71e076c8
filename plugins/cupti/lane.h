// SPDX-License-Identifier: Apache-2.0
// The GPU lane: one CUPTI subscription and what it delivers.
//
// Threads: onCuda() on whichever thread initialises CUDA; the buffer callbacks on the target's threads (request) and on
// CUPTI's worker (complete); tick() on the agent's thread, which is the only place that flushes. No lock is shared
// between them, so no CUPTI call is ever made under a lock that a CUPTI callback could want.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "collector/api/plugin.hpp"
#include "plugins/cupti/api_names.h"
#include "plugins/cupti/buffer_pool.h"
#include "plugins/cupti/cupti_abi.h"
#include "plugins/cupti/cupti_table.h"
#include "plugins/cupti/problem.h"

namespace plumb::cupti {

class Lane {
 public:
  static constexpr uint32_t kFlushPeriodMs = 100;
  // torch.profiler uses CUSTOM0 and CUSTOM1.
  static constexpr CUpti_ExternalCorrelationKind kCorrelationKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2;

  void start(const PlumbHost* host) noexcept;

  // Finds libcupti and attaches. Returns false after one diagnostic that says why the lane is off.
  bool onCuda() noexcept;

  // The part of onCuda() after the library is found.
  bool attach(const CuptiTable& table, const char* path) noexcept;

  // Flushes what is complete; at exit everything, and reports what CUPTI lost.
  void tick(bool atExit) noexcept;

  // The child of a fork has no CUDA and none of our threads: nothing here may reach CUPTI or the host any more.
  void onForkChild() noexcept { m_dead.store(true, std::memory_order_relaxed); }

  void requestBuffer(uint8_t** buffer, size_t* bytes, size_t* maxRecords) noexcept;
  void completeBuffer(uint8_t* buffer, size_t bytes, size_t validBytes) noexcept;
  void pushCorrelation(uint64_t externalId) noexcept;
  void popCorrelation() noexcept;

 private:
  bool turnOff(Problem problem, CUptiResult result, const char* detail) noexcept;
  bool subscribe() noexcept;
  void unsubscribe() noexcept;
  void configure() noexcept;
  bool enableKinds() noexcept;
  bool enableKind(uint32_t kind) noexcept;
  void filterApiCalls() noexcept;
  void publishPlugin(const char* path) noexcept;
  void writeClockPair() noexcept;
  void countDrops() noexcept;
  void reportCounts() noexcept;

  void convertRecord(const CUpti_Activity* record) noexcept;
  void convertApiCall(const abi::Api& in) noexcept;
  void rememberContext(uint32_t context, uint32_t device) noexcept;
  [[nodiscard]] uint32_t deviceOf(uint32_t context) const noexcept;
  void rememberTargetThread(uint32_t tid) noexcept;
  [[nodiscard]] bool isTargetThread(uint32_t tid) const noexcept;
  template <class Record>
  void write(const Record& record) noexcept;

  static constexpr uint32_t kContexts = 256;

  Host m_host;
  CuptiTable m_table;
  uint32_t m_version = 0;
  CUpti_SubscriberHandle m_subscriber = nullptr;
  Clock m_clock = Clock::kCupti;
  std::atomic<bool> m_attached{false};
  std::atomic<bool> m_dead{false};
  std::atomic<bool> m_noPatience{false};  // the ring stayed full: do not hold CUPTI's worker up again
  // A bit for each thread that makes CUDA calls, by a hash: such a thread must never wait for a ring.
  static constexpr uint32_t kThreadBits = 4096;
  std::atomic<uint64_t> m_targetThreads[kThreadBits / 64]{};
  bool m_saidNoLibrary = false;
  bool m_refused = false;  // libcupti said no: asking again would only repeat the diagnostic
  BufferPool m_pool;
  ApiNames m_names;
  std::atomic<uint32_t> m_deviceOfContext[kContexts]{};  // device ordinal + 1

  std::atomic<uint64_t> m_badTimes{0};
  std::atomic<uint64_t> m_unnamedKernels{0};
  std::atomic<uint64_t> m_badRecords{0};
  std::atomic<uint64_t> m_refusedBuffers{0};
  std::atomic<uint64_t> m_doubleBuffers{0};
  uint64_t m_droppedByCupti = 0;  // tick() only
};

// The lane of this process; C callbacks have no other way to it.
Lane& processLane() noexcept;

// Tests attach one lane after the other; NULL: back to the lane of the process.
void useLaneInTests(Lane* lane) noexcept;

}  // namespace plumb::cupti
