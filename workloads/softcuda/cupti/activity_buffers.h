// SPDX-License-Identifier: Apache-2.0
// The client's activity buffers: asked for when a record needs room, one open buffer per thread (the default of CUPTI
// 13) or one for the process, given back when full (by a thread of our own) or when flushed (by the flushing thread).
#pragma once
#include <cupti.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

namespace softcuda {

class ActivityBuffers {
 public:
  void setCallbacks(CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete);
  void setPerThread(bool perThread) { m_perThread = perThread; }
  bool perThread() const { return m_perThread; }

  // Copies one record into the calling thread's buffer; without room (the client gave none) it is dropped and counted.
  void put(const void* record, std::size_t bytes);

  // Gives every buffer that holds a record back to the client. Records are written when they are complete, so buffers
  // never hold an incomplete one, and a forced flush finds no more than this.
  void flush();

  void countDropped() { m_dropped.fetch_add(1, std::memory_order_relaxed); }
  std::size_t takeDropped() { return m_dropped.exchange(0); }
  void stopForEver() { m_stopped = true; }  // a child of fork() owns nothing of this

  struct Buffer {
    uint8_t* data = nullptr;
    std::size_t bytes = 0;
    std::size_t used = 0;
    std::size_t records = 0;
    std::size_t maxRecords = 0;  // 0: no limit
  };
  struct Slot {  // an open buffer
    std::mutex mutex;
    Buffer buffer;
    bool ownerGone = false;
  };

 private:
  Slot& slotOfThread();
  bool makeRoom(Slot& slot, std::size_t bytes);
  void queueFull(const Buffer& buffer);
  void deliver(const Buffer& buffer);
  void deliverQueued();
  [[noreturn]] void work();

  std::atomic<CUpti_BuffersCallbackRequestFunc> m_request{nullptr};
  std::atomic<CUpti_BuffersCallbackCompleteFunc> m_complete{nullptr};
  std::atomic<bool> m_perThread{true};
  std::atomic<bool> m_stopped{false};
  std::atomic<std::size_t> m_dropped{0};
  std::shared_ptr<Slot> m_shared = std::make_shared<Slot>();

  std::mutex m_slotsMutex;
  std::vector<std::shared_ptr<Slot>> m_slots;

  std::mutex m_queueMutex;
  std::condition_variable m_queueFilled;
  std::deque<Buffer> m_queue;
  bool m_workerStarted = false;
  std::recursive_mutex m_deliveryMutex;  // a flush returns when no other thread is still delivering
};

}  // namespace softcuda
