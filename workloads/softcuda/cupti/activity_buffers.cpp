// SPDX-License-Identifier: Apache-2.0
#include "workloads/softcuda/cupti/activity_buffers.h"

#include <pthread.h>
#include <signal.h>

#include <cstring>
#include <thread>
#include <utility>

#include "workloads/softcuda/cupti/faults.h"

namespace softcuda {
namespace {

// At the end of a thread its buffer goes to whoever flushes next; records that come later still (from other
// destructors, or from exit handlers on the main thread) go to the shared buffer.
struct SlotOwner {
  std::shared_ptr<ActivityBuffers::Slot> slot;
  ~SlotOwner();
};
constinit thread_local ActivityBuffers::Slot* t_slot = nullptr;
constinit thread_local bool t_ending = false;
thread_local SlotOwner t_owner;

SlotOwner::~SlotOwner() {
  t_ending = true;
  t_slot = nullptr;
  if (!slot) return;
  std::lock_guard lock(slot->mutex);
  slot->ownerGone = true;
}

}  // namespace

void ActivityBuffers::setCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                   CUpti_BuffersCallbackCompleteFunc complete) {
  m_request = request;
  m_complete = complete;
}

ActivityBuffers::Slot& ActivityBuffers::slotOfThread() {
  if (t_ending || !m_perThread.load(std::memory_order_relaxed)) return *m_shared;
  if (!t_slot) {
    auto slot = std::make_shared<Slot>();
    t_slot = slot.get();
    std::lock_guard lock(m_slotsMutex);
    m_slots.push_back(slot);
    t_owner.slot = std::move(slot);
  }
  return *t_slot;
}

bool ActivityBuffers::makeRoom(Slot& slot, std::size_t bytes) {
  Buffer& open = slot.buffer;
  const bool full =
      open.data && (open.used + bytes > open.bytes || (open.maxRecords != 0 && open.records == open.maxRecords));
  if (full) queueFull(std::exchange(open, {}));
  if (open.data) return true;
  const auto request = m_request.load();
  if (!request) return false;
  request(&open.data, &open.bytes, &open.maxRecords);
  if (!open.data) return false;
  if (open.bytes < bytes) {
    queueFull(std::exchange(open, {}));
    return false;
  }
  return true;
}

void ActivityBuffers::put(const void* record, std::size_t bytes) {
  if (m_stopped.load(std::memory_order_relaxed)) return;
  Slot& slot = slotOfThread();
  std::lock_guard lock(slot.mutex);
  if (!makeRoom(slot, bytes)) {
    countDropped();
    return;
  }
  Buffer& open = slot.buffer;
  std::memcpy(open.data + open.used, record, bytes);
  open.used += bytes;
  ++open.records;
}

void ActivityBuffers::queueFull(const Buffer& buffer) {
  std::lock_guard lock(m_queueMutex);
  m_queue.push_back(buffer);
  if (!m_workerStarted) {
    m_workerStarted = true;
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread([this] {
      pthread_setname_np(pthread_self(), "cupti");
      work();
    }).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  m_queueFilled.notify_one();
}

void ActivityBuffers::work() {
  for (;;) {
    {
      std::unique_lock lock(m_queueMutex);
      m_queueFilled.wait(lock, [&] { return !m_queue.empty(); });
    }
    deliverQueued();
  }
}

void ActivityBuffers::deliverQueued() {
  std::lock_guard delivery(m_deliveryMutex);
  for (;;) {
    Buffer buffer;
    {
      std::lock_guard lock(m_queueMutex);
      if (m_queue.empty()) return;
      buffer = m_queue.front();
      m_queue.pop_front();
    }
    deliver(buffer);
  }
}

void ActivityBuffers::deliver(const Buffer& buffer) {
  const auto complete = m_complete.load();
  if (!complete) return;
  complete(nullptr, 0, buffer.data, buffer.bytes, buffer.used);
  if (Faults::ofEnvironment().due(Fault::kTwice)) complete(nullptr, 0, buffer.data, buffer.bytes, buffer.used);
}

void ActivityBuffers::flush() {
  if (m_stopped) return;
  std::vector<std::shared_ptr<Slot>> slots;
  {
    std::lock_guard lock(m_slotsMutex);
    slots = m_slots;
  }
  slots.push_back(m_shared);
  for (const auto& slot : slots) {
    std::lock_guard lock(slot->mutex);
    if (slot->buffer.used == 0) continue;
    std::lock_guard queueLock(m_queueMutex);
    m_queue.push_back(std::exchange(slot->buffer, {}));
  }
  deliverQueued();
  std::lock_guard lock(m_slotsMutex);
  std::erase_if(m_slots, [](const std::shared_ptr<Slot>& slot) {
    std::lock_guard slotLock(slot->mutex);
    return slot->ownerGone && slot->buffer.data == nullptr;
  });
}

}  // namespace softcuda
