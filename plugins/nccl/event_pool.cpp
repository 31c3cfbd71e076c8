// SPDX-License-Identifier: Apache-2.0
#include "plugins/nccl/event_pool.h"

namespace plumb::nccl {
namespace {

// tag (14 bits) | turn of the ring (32 bits) | place (18 bits). The tag keeps handles apart from pointers: no address
// of x86-64 or Arm user space has it.
constexpr uint64_t kTag = 0x2A5B;
constexpr int kTagShift = 50;
constexpr int kTurnShift = 18;
constexpr uint64_t kTurnMask = UINT32_MAX;
constexpr uint64_t kPlaceMask = (uint64_t{1} << kTurnShift) - 1;
static_assert(EventPool::kCapacity <= kPlaceMask);

Handle makeHandle(uint64_t ticket) noexcept {
  const uint64_t turn = (ticket / EventPool::kCapacity) & kTurnMask;
  return (kTag << kTagShift) | (turn << kTurnShift) | (ticket % EventPool::kCapacity);
}

}  // namespace

EventPool::Ticket EventPool::take() noexcept {
  const uint64_t ticket = m_next.fetch_add(1, std::memory_order_relaxed);
  Event& event = m_events[ticket % kCapacity];
  event.handle.store(0, std::memory_order_release);
  event.type.store(EventType::kNone, std::memory_order_relaxed);
  event.isOpen.store(1, std::memory_order_relaxed);
  event.communicator.store(0, std::memory_order_relaxed);
  event.tid.store(0, std::memory_order_relaxed);
  event.startNs.store(0, std::memory_order_relaxed);
  event.eventId.store(0, std::memory_order_relaxed);
  event.group.store(0, std::memory_order_relaxed);
  event.externalId.store(0, std::memory_order_relaxed);
  event.operation.store(0, std::memory_order_relaxed);
  event.datatype.store(0, std::memory_order_relaxed);
  event.count.store(0, std::memory_order_relaxed);
  event.stream.store(0, std::memory_order_relaxed);
  event.root.store(-1, std::memory_order_relaxed);
  event.peer.store(-1, std::memory_order_relaxed);
  return {&event, makeHandle(ticket)};
}

void EventPool::publish(const Ticket& ticket, EventType type) noexcept {
  ticket.event->type.store(type, std::memory_order_relaxed);
  ticket.event->handle.store(ticket.handle, std::memory_order_release);
}

Event* EventPool::find(const void* pointer) noexcept {
  const Handle handle = toHandle(pointer);
  const uint64_t place = handle & kPlaceMask;
  if (handle >> kTagShift != kTag || place >= kCapacity) {
    return nullptr;
  }
  Event& event = m_events[place];
  return event.handle.load(std::memory_order_acquire) == handle ? &event : nullptr;
}

Event* EventPool::find(const void* pointer, EventType type) noexcept {
  Event* event = find(pointer);
  return event && event->type.load(std::memory_order_relaxed) == type ? event : nullptr;
}

}  // namespace plumb::nccl
