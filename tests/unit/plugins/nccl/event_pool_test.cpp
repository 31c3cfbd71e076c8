// SPDX-License-Identifier: Apache-2.0
#include "plugins/nccl/event_pool.h"

#include <gtest/gtest.h>

namespace plumb::nccl {
namespace {

TEST(EventPool, FindsAnEventByItsHandleAndType) {
  static EventPool pool;
  const EventPool::Ticket ticket = pool.take();
  EXPECT_EQ(pool.find(toPointer(ticket.handle)), nullptr) << "not yet published";
  EventPool::publish(ticket, EventType::kCollApi);
  EXPECT_EQ(pool.find(toPointer(ticket.handle)), ticket.event);
  EXPECT_EQ(pool.find(toPointer(ticket.handle), EventType::kCollApi), ticket.event);
  EXPECT_EQ(pool.find(toPointer(ticket.handle), EventType::kGroupApi), nullptr);
}

TEST(EventPool, ForeignHandlesAreNotEvents) {
  static EventPool pool;
  int local = 0;
  EXPECT_EQ(pool.find(nullptr), nullptr);
  EXPECT_EQ(pool.find(&local), nullptr);
  EXPECT_EQ(pool.find(toPointer(UINT64_MAX)), nullptr);
  EXPECT_EQ(pool.find(toPointer(1)), nullptr);
}

TEST(EventPool, AStaleHandleIsNotTheEventThatTookItsPlace) {
  static EventPool pool;
  const EventPool::Ticket old = pool.take();
  EventPool::publish(old, EventType::kCollApi);
  for (uint32_t i = 0; i < EventPool::kCapacity; ++i) {
    EventPool::publish(pool.take(), EventType::kCollApi);
  }
  EXPECT_EQ(pool.find(toPointer(old.handle)), nullptr);
}

}  // namespace
}  // namespace plumb::nccl
