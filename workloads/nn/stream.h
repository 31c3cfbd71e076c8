// SPDX-License-Identifier: Apache-2.0
// Streams, events and pinned host memory as owners.
#pragma once
#include <cstddef>

#include <cuda_runtime_api.h>

#include "workloads/nn/error.h"

namespace plumb::nn {

class Stream {
 public:
  Stream() { check(cudaStreamCreateWithFlags(&m_stream, cudaStreamNonBlocking), "creating a stream"); }
  ~Stream() { cudaStreamDestroy(m_stream); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  operator cudaStream_t() const { return m_stream; }  // NOLINT
  void synchronize() const { check(cudaStreamSynchronize(m_stream), "waiting for a stream"); }

 private:
  cudaStream_t m_stream = nullptr;
};

// A point in a stream's work that other streams wait for.
class Event {
 public:
  Event() { check(cudaEventCreateWithFlags(&m_event, cudaEventDisableTiming), "creating an event"); }
  ~Event() { cudaEventDestroy(m_event); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(cudaStream_t stream) { check(cudaEventRecord(m_event, stream), "recording an event"); }
  void makeWait(cudaStream_t stream) { check(cudaStreamWaitEvent(stream, m_event, 0), "waiting for an event"); }

 private:
  cudaEvent_t m_event = nullptr;
};

// Page-locked host memory for copies that are really asynchronous.
template <class T>
class PinnedArray {
 public:
  explicit PinnedArray(size_t count) : m_count(count) {
    void* data = nullptr;
    check(cudaMallocHost(&data, count * sizeof(T)), "allocating pinned host memory");
    m_data = static_cast<T*>(data);
  }
  ~PinnedArray() { cudaFreeHost(m_data); }
  PinnedArray(const PinnedArray&) = delete;
  PinnedArray& operator=(const PinnedArray&) = delete;

  T* data() const { return m_data; }
  T& operator[](size_t index) const { return m_data[index]; }
  size_t bytes() const { return m_count * sizeof(T); }

 private:
  T* m_data = nullptr;
  size_t m_count;
};

}  // namespace plumb::nn
