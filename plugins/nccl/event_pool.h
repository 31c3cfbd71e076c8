// SPDX-License-Identifier: Apache-2.0
// The events that NCCL has open. NCCL gets a number, not a pointer: a handle that is stale, of another process (PXN) or
// garbage is recognised by its number, and nothing foreign is ever dereferenced.
//
// A fixed ring: starting an event takes the oldest place. All members are atomics because NCCL starts, refers to and
// stops an event on different threads.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "collector/api/records.h"

namespace plumb::nccl {

using Handle = uint64_t;  // 0: none

enum class EventType : uint32_t { kNone = 0, kGroupApi, kCollApi, kP2pApi, kKernelLaunch, kGroup, kTask };

struct Event {
  std::atomic<Handle> handle{0};  // 0 while the place is being filled
  std::atomic<EventType> type{EventType::kNone};
  std::atomic<uint32_t> isOpen{0};        // 1 until the first stop
  std::atomic<uint32_t> communicator{0};  // index + 1 in Communicators
  std::atomic<uint32_t> tid{0};
  std::atomic<int64_t> startNs{0};
  std::atomic<uint64_t> eventId{0};     // CollApi, P2pApi, and Task of v1 to v4: CollectiveRecord::event_id
  std::atomic<Handle> group{0};         // the GroupApi event around it
  std::atomic<uint64_t> externalId{0};  // KernelLaunch; Group: the launch that carries it
  std::atomic<StringId> operation{0};
  std::atomic<StringId> datatype{0};
  std::atomic<uint64_t> count{0};
  std::atomic<uint64_t> stream{0};
  std::atomic<int32_t> root{0};
  std::atomic<int32_t> peer{0};
};

class EventPool {
 public:
  static constexpr uint32_t kCapacity = 16384;

  struct Ticket {
    Event* event;
    Handle handle;
  };
  // Takes a place, its fields reset; the caller fills them and then publishes the handle.
  Ticket take() noexcept;
  static void publish(const Ticket& ticket, EventType type) noexcept;

  // The open or stopped event behind a handle, NULL if it is not (or no longer) one of ours or not of this type.
  Event* find(const void* handle, EventType type) noexcept;
  Event* find(const void* handle) noexcept;

 private:
  std::atomic<uint64_t> m_next{0};
  Event m_events[kCapacity];
};

inline void* toPointer(Handle handle) noexcept { return reinterpret_cast<void*>(handle); }
inline Handle toHandle(const void* pointer) noexcept { return reinterpret_cast<Handle>(pointer); }

}  // namespace plumb::nccl
