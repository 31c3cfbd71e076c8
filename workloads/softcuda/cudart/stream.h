// SPDX-License-Identifier: Apache-2.0
// Streams: a queue of operations and one worker thread that runs them in order. Work that must wait for another stream
// (events, the legacy default stream's rules) is an operation too: the worker sleeps in it.
#pragma once
#include <cuda_runtime_api.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <type_traits>
#include <utility>

#include "workloads/softcuda/cudart/capture.h"

namespace softcuda {

class Stream;

// A point in a stream's work: done when the stream has completed that many operations. Holds the stream's control
// block.
class StreamPoint {
 public:
  StreamPoint() = default;
  StreamPoint(Stream* stream, uint64_t sequence);
  StreamPoint(const StreamPoint& other);
  StreamPoint(StreamPoint&& other) noexcept
      : m_stream(std::exchange(other.m_stream, nullptr)), m_sequence(other.m_sequence) {}
  StreamPoint& operator=(StreamPoint other) noexcept {
    std::swap(m_stream, other.m_stream);
    std::swap(m_sequence, other.m_sequence);
    return *this;
  }
  ~StreamPoint();
  bool done() const;  // true for an empty one
  void wait() const;
  bool waitUntil(std::chrono::steady_clock::time_point deadline) const;
  const Stream* stream() const { return m_stream; }

 private:
  Stream* m_stream = nullptr;
  uint64_t m_sequence = 0;
};

// One queued piece of work. The callable lives in the node; nodes are reused.
struct Operation {
  static constexpr std::size_t kStorageBytes = 448;
  Operation* next = nullptr;
  void (*run)(Operation&, Stream&) = nullptr;  // runs and destroys the callable
  alignas(16) std::byte storage[kStorageBytes];
};

class Stream {
 public:
  Stream(uint32_t id, bool blocking, int priority, unsigned flags);

  uint32_t id() const { return m_id; }
  bool blocking() const { return m_blocking; }  // takes part in the legacy default stream's order
  int priority() const { return m_priority; }
  unsigned flags() const { return m_flags; }

  // Queues work(stream), to be called on the worker thread. Waits while too much is queued. Returns its sequence
  // number. Callers use submit() below, which also keeps the default stream's order.
  template <class Work>
  uint64_t push(Work&& work);

  uint64_t submitted() const { return m_submitted.load(std::memory_order_acquire); }
  bool completed(uint64_t sequence) const { return m_completed.load(std::memory_order_acquire) >= sequence; }
  void wait(uint64_t sequence) const;
  bool waitUntil(uint64_t sequence, std::chrono::steady_clock::time_point deadline) const;
  StreamPoint tail() { return StreamPoint(this, submitted()); }

  // The capture that takes this stream's work, if any.
  std::shared_ptr<Capture> capture() const;
  void setCapture(std::shared_ptr<Capture> capture);

  void close();  // the worker ends after what is queued
  void retain() { m_references.fetch_add(1, std::memory_order_relaxed); }
  void release();

  std::atomic<uint64_t> joinedLegacy{0};  // default-stream work that this stream's queue already waits for

 private:
  ~Stream();
  Operation* takeNode();
  uint64_t append(Operation* node);
  void startWorker();
  void work();

  const uint32_t m_id;
  const bool m_blocking;
  const int m_priority;
  const unsigned m_flags;
  std::atomic<uint32_t> m_references{1};

  std::atomic<bool> m_capturing{false};
  std::shared_ptr<Capture> m_capture;

  mutable std::mutex m_mutex;  // of the queue, the free nodes and the capture
  std::condition_variable m_wake;
  Operation* m_head = nullptr;
  Operation* m_tail = nullptr;
  Operation* m_free = nullptr;
  bool m_sleeping = false;
  bool m_closing = false;
  bool m_started = false;

  std::atomic<uint64_t> m_submitted{0};
  std::atomic<uint64_t> m_completed{0};
  mutable std::atomic<int> m_waiters{0};
  mutable std::mutex m_doneMutex;
  mutable std::condition_variable m_done;
};

template <class Work>
uint64_t Stream::push(Work&& work) {
  using Callable = std::decay_t<Work>;
  static_assert(sizeof(Callable) <= Operation::kStorageBytes && alignof(Callable) <= 16);
  Operation* node = takeNode();
  new (node->storage) Callable(std::forward<Work>(work));
  node->run = [](Operation& operation, Stream& stream) {
    auto* callable = std::launder(reinterpret_cast<Callable*>(operation.storage));
    (*callable)(stream);
    callable->~Callable();
  };
  return append(node);
}

// --- all streams of the process

// The stream of a handle (null, cudaStreamLegacy, cudaStreamPerThread or one created); null if there is no such stream.
// The reference is counted.
class StreamRef {
 public:
  explicit StreamRef(Stream* stream) : m_stream(stream) {}
  StreamRef(StreamRef&& other) noexcept : m_stream(std::exchange(other.m_stream, nullptr)) {}
  StreamRef& operator=(StreamRef&&) = delete;
  ~StreamRef() {
    if (m_stream) m_stream->release();
  }
  explicit operator bool() const { return m_stream != nullptr; }
  Stream& operator*() const { return *m_stream; }
  Stream* operator->() const { return m_stream; }

 private:
  Stream* m_stream;
};

StreamRef findStream(cudaStream_t handle);

// Why no work can be given to the stream now, else success: there is none (cudaErrorInvalidResourceHandle), its capture
// is void (cudaErrorStreamCaptureInvalidated), or it is the legacy default stream while a blocking stream is captured
// (cudaErrorStreamCaptureImplicit).
cudaError_t refuseWork(const StreamRef& stream);
cudaStream_t createStream(unsigned flags, int priority);
cudaStream_t createHiddenStream();  // unknown to libcupti
bool destroyStream(cudaStream_t handle);
void synchronizeAll();
void drainAtExit();

bool isLegacy(const Stream& stream);
// Makes the next operation of the stream wait for what the legacy default stream's rules demand. Held while pushing.
class OrderGuard {
 public:
  explicit OrderGuard(Stream& stream);
  ~OrderGuard();
  OrderGuard(const OrderGuard&) = delete;
  OrderGuard& operator=(const OrderGuard&) = delete;

 private:
  bool m_locked = false;
};

// Queues work, or notes it as a node of the graph that the stream captures; then 0, a sequence number that is always
// done.
template <class Work>
uint64_t submit(Stream& stream, cudaGraphNodeType type, Work&& work) {
  if (const auto capture = stream.capture()) [[unlikely]] {
    auto shared = std::make_shared<std::decay_t<Work>>(std::forward<Work>(work));
    capture->add(stream, type, [shared](Stream& self) { (*shared)(self); });
    return 0;
  }
  OrderGuard order(stream);
  return stream.push(std::forward<Work>(work));
}

template <class Work>
uint64_t submit(Stream& stream, Work&& work) {
  OrderGuard order(stream);
  return stream.push(std::forward<Work>(work));
}

// True on a thread that runs a host function of a stream: no CUDA call is allowed there.
bool inHostFunction();
void runHostFunction(cudaHostFn_t function, void* data);

}  // namespace softcuda
