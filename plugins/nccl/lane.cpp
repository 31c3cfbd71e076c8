// SPDX-License-Identifier: Apache-2.0
#include "plugins/nccl/lane.h"

#include <cstdio>

namespace plumb::nccl {
namespace {

// The launch whose external id this thread has pushed; at most one, NCCL does not nest them.
thread_local Handle t_openLaunch = 0;

void setAll(Event& event, uint32_t communicator, uint32_t tid, int64_t now) noexcept {
  event.communicator.store(communicator, std::memory_order_relaxed);
  event.tid.store(tid, std::memory_order_relaxed);
  event.startNs.store(now, std::memory_order_relaxed);
}

}  // namespace

Lane& processLane() noexcept {
  static constinit Lane theLane;
  return theLane;
}

void Lane::start(const PlumbHost* host) noexcept {
  m_host = Host(host);
  m_isOn.store(true, std::memory_order_release);
}

void Lane::noteVersion(int version) noexcept {
  constexpr int kFull = 5;
  if (version >= kFull || off() || m_versionNoted.exchange(true, std::memory_order_relaxed)) {
    return;
  }
  char message[384];
  snprintf(message, sizeof message,
           "This NCCL speaks profiler interface v%d (v5 comes with NCCL 2.28): collectives have no stream and are not "
           "linked "
           "to their kernels, all-gather and broadcast counts are in bytes%s.",
           version, version < 4 ? ", and the number of ranks is not known" : "");
  m_host.diagnose(Severity::kWarning, "nccl", "old_interface", 1, message);
}

void Lane::describe(Communicator& communicator, uint64_t hash, const char* name, int nRanks, int rank,
                    int nNodes) noexcept {
  if (communicator.isDescribed.exchange(1, std::memory_order_relaxed) == 0) {
    communicator.hash.store(hash, std::memory_order_relaxed);
    m_host.write(makeCommunicator(m_host.threadId(), hash, m_host.intern(name), nRanks, rank, nNodes));
  }
}

void* Lane::openCommunicator(uint64_t hash, const char* name, int nNodes, int nRanks, int rank) noexcept {
  const uint32_t index = m_communicators.open(hash);
  if (!off() && nRanks > 0) {
    describe(m_communicators.at(index), hash, name, nRanks, rank, nNodes);
  }
  return Communicators::toContext(index);
}

void Lane::closeCommunicator(void* context) noexcept {
  const uint32_t index = Communicators::fromContext(context);
  if (index == 0) {
    return;
  }
  Communicator& communicator = m_communicators.at(index);
  CollectiveDetailRecord detail;
  while (communicator.takeWaiting(0, true, detail)) {
    m_waitingTotal.fetch_sub(1, std::memory_order_relaxed);
    if (!off()) {
      m_host.write(detail);
    }
  }
  communicator.isOpen.store(0, std::memory_order_release);
}

void* Lane::startGroupApi(void* context) noexcept {
  if (off()) {
    return nullptr;
  }
  const EventPool::Ticket ticket = m_events.take();
  setAll(*ticket.event, Communicators::fromContext(context), m_host.threadId(), 0);
  EventPool::publish(ticket, EventType::kGroupApi);
  return toPointer(ticket.handle);
}

void* Lane::startApi(void* context, void* parent, EventType type, const ApiArguments& in) noexcept {
  if (off()) {
    return nullptr;
  }
  const int64_t now = monotonicNowNs();
  const EventPool::Ticket ticket = m_events.take();
  Event& event = *ticket.event;
  setAll(event, Communicators::fromContext(context), m_host.threadId(), now);
  event.eventId.store(m_host.nextId(), std::memory_order_relaxed);
  event.group.store(m_events.find(parent, EventType::kGroupApi) ? toHandle(parent) : 0, std::memory_order_relaxed);
  event.operation.store(m_host.intern(in.operation), std::memory_order_relaxed);
  event.datatype.store(m_host.intern(in.datatype), std::memory_order_relaxed);
  event.count.store(in.count, std::memory_order_relaxed);
  event.stream.store(in.stream, std::memory_order_relaxed);
  event.root.store(in.root, std::memory_order_relaxed);
  EventPool::publish(ticket, type);
  return toPointer(ticket.handle);
}

void* Lane::startKernelLaunch(void* context, void* parent) noexcept {
  if (off()) {
    return nullptr;
  }
  if (t_openLaunch) {
    m_host.raw()->pop_correlation();  // its stop never came: a launch that failed
  }
  const uint64_t externalId = m_host.nextId();
  const Handle group = m_events.find(parent, EventType::kGroupApi) ? toHandle(parent) : 0;
  Communicator& communicator = m_communicators.at(Communicators::fromContext(context));
  const EventPool::Ticket ticket = m_events.take();
  setAll(*ticket.event, Communicators::fromContext(context), m_host.threadId(), 0);
  ticket.event->externalId.store(externalId, std::memory_order_relaxed);
  EventPool::publish(ticket, EventType::kKernelLaunch);

  bool carriesWaiting = false;
  CollectiveDetailRecord detail;
  while (communicator.takeWaiting(group, false, detail)) {
    m_waitingTotal.fetch_sub(1, std::memory_order_relaxed);
    detail.external_id = externalId;
    m_host.write(detail);
    carriesWaiting = true;
  }
  if (!carriesWaiting) {
    communicator.addLaunch(group, externalId);
  }
  t_openLaunch = ticket.handle;
  m_host.raw()->push_correlation(externalId);
  return toPointer(ticket.handle);
}

void* Lane::startGroup(void* context) noexcept {
  if (off()) {
    return nullptr;
  }
  const EventPool::Ticket ticket = m_events.take();
  setAll(*ticket.event, Communicators::fromContext(context), m_host.threadId(), 0);
  EventPool::publish(ticket, EventType::kGroup);
  return toPointer(ticket.handle);
}

uint64_t Lane::launchOf(Communicator& communicator, Handle group, void* parentGroup) noexcept {
  Event* plan = m_events.find(parentGroup, EventType::kGroup);
  if (!plan) {
    return communicator.takeLaunch(group);
  }
  // The first operation of a plan takes the launch, the others share it.
  uint64_t externalId = plan->externalId.load(std::memory_order_relaxed);
  if (externalId == 0) {
    externalId = communicator.takeLaunch(group);
    plan->externalId.store(externalId, std::memory_order_relaxed);
  }
  return externalId;
}

void Lane::writeDetail(Communicator& communicator, Handle group, void* parentGroup,
                       CollectiveDetailRecord detail) noexcept {
  detail.external_id = launchOf(communicator, group, parentGroup);
  if (detail.external_id == 0 && group != 0 && communicator.addWaiting(group, detail)) {
    m_waitingTotal.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  m_host.write(detail);
}

void* Lane::startTask(void* context, void* parentApi, void* parentGroup, int rank, const TaskArguments& in) noexcept {
  if (off()) {
    return nullptr;
  }
  const uint32_t index = Communicators::fromContext(context);
  Communicator& communicator = m_communicators.at(index);
  if (in.communicatorHash) {
    describe(communicator, in.communicatorHash, in.communicatorName, 0, rank, 0);
  }
  const uint32_t tid = m_host.threadId();
  CollectiveDetailRecord detail{};
  detail.header = makeHeader<CollectiveDetailRecord>(RecordKind::kCollectiveDetail, tid);
  detail.sequence = in.sequence;
  detail.algorithm = m_host.intern(in.algorithm);
  detail.protocol = m_host.intern(in.protocol);
  detail.channels = in.channels;
  detail.peer = in.peer;

  Event* api = m_events.find(parentApi, EventType::kCollApi);
  api = api ? api : m_events.find(parentApi, EventType::kP2pApi);
  if (api) {
    detail.event_id = api->eventId.load(std::memory_order_relaxed);
    writeDetail(communicator, api->group.load(std::memory_order_relaxed), parentGroup, detail);
    return nullptr;
  }
  // No call is known (versions 1 to 4, or it was long ago): the enqueue stands for it.
  const EventPool::Ticket ticket = m_events.take();
  Event& event = *ticket.event;
  setAll(event, index, tid, monotonicNowNs());
  event.eventId.store(m_host.nextId(), std::memory_order_relaxed);
  event.operation.store(m_host.intern(in.operation), std::memory_order_relaxed);
  event.datatype.store(m_host.intern(in.datatype), std::memory_order_relaxed);
  event.count.store(in.count, std::memory_order_relaxed);
  event.root.store(in.root, std::memory_order_relaxed);
  event.peer.store(in.peer, std::memory_order_relaxed);
  EventPool::publish(ticket, EventType::kTask);
  detail.event_id = event.eventId.load(std::memory_order_relaxed);
  detail.external_id = launchOf(communicator, 0, parentGroup);
  m_host.write(detail);
  return toPointer(ticket.handle);
}

void Lane::stopLaunch(const Event& event, Handle handle) noexcept {
  if (t_openLaunch == handle && event.tid.load(std::memory_order_relaxed) == m_host.threadId()) {
    t_openLaunch = 0;
    m_host.raw()->pop_correlation();
  }
}

void Lane::releaseWaiting(Handle group) noexcept {
  for (uint32_t i = 1; i <= Communicators::kCapacity && m_waitingTotal.load(std::memory_order_relaxed) > 0; ++i) {
    CollectiveDetailRecord detail;
    while (m_communicators.at(i).takeWaiting(group, false, detail)) {
      m_waitingTotal.fetch_sub(1, std::memory_order_relaxed);
      m_host.write(detail);
    }
  }
}

void Lane::stop(void* handle) noexcept {
  Event* event = off() ? nullptr : m_events.find(handle);
  if (!event || event->isOpen.exchange(0, std::memory_order_acq_rel) == 0) {
    return;
  }
  switch (event->type.load(std::memory_order_relaxed)) {
    case EventType::kCollApi:
    case EventType::kP2pApi:
    case EventType::kTask: {
      const Communicator& communicator = m_communicators.at(event->communicator.load(std::memory_order_relaxed));
      m_host.write(makeCollective(*event, communicator.hash.load(std::memory_order_relaxed), monotonicNowNs()));
      break;
    }
    case EventType::kKernelLaunch:
      stopLaunch(*event, toHandle(handle));
      break;
    case EventType::kGroupApi:
      releaseWaiting(toHandle(handle));
      break;
    default:
      break;
  }
}

}  // namespace plumb::nccl
