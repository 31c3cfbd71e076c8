// SPDX-License-Identifier: Apache-2.0
// NCCL's events -> records, for every version of the interface (profilers.h has the versions).
//
// One operation becomes a CollectiveRecord (the call: the user's count, datatype, stream) and a CollectiveDetailRecord
// (the enqueue: sequence number, algorithm, protocol, channels, and the external id of the launch that carries it). All
// operations of one plan, that is of one kernel, carry the same external id.
//
// Any thread. Nothing allocates, locks or fails: a null handle means "not of interest", which NCCL accepts everywhere.
#pragma once
#include <atomic>

#include "collector/api/plugin.hpp"
#include "plugins/nccl/communicators.h"
#include "plugins/nccl/convert.h"
#include "plugins/nccl/event_pool.h"

namespace plumb::nccl {

class Lane {
 public:
  void start(const PlumbHost* host) noexcept;
  void onForkChild() noexcept { m_isOn.store(false, std::memory_order_relaxed); }

  // Returns the context for NCCL; never NULL, or NCCL would not call finalize. nRanks 0: this version does not tell.
  void* openCommunicator(uint64_t hash, const char* name, int nNodes, int nRanks, int rank) noexcept;
  void closeCommunicator(void* context) noexcept;

  void* startGroupApi(void* context) noexcept;
  void* startApi(void* context, void* parent, EventType type, const ApiArguments& in) noexcept;
  void* startKernelLaunch(void* context, void* parent) noexcept;
  void* startGroup(void* context) noexcept;
  void* startTask(void* context, void* parentApi, void* parentGroup, int rank, const TaskArguments& in) noexcept;
  void stop(void* handle) noexcept;

  // Says once what versions before 5 do not tell.
  void noteVersion(int version) noexcept;

 private:
  [[nodiscard]] bool off() const noexcept { return !m_isOn.load(std::memory_order_relaxed); }
  void describe(Communicator& communicator, uint64_t hash, const char* name, int nRanks, int rank, int nNodes) noexcept;
  void writeDetail(Communicator& communicator, Handle group, void* parentGroup, CollectiveDetailRecord detail) noexcept;
  void stopLaunch(const Event& event, Handle handle) noexcept;
  void releaseWaiting(Handle group) noexcept;
  uint64_t launchOf(Communicator& communicator, Handle group, void* parentGroup) noexcept;

  Host m_host;
  std::atomic<bool> m_isOn{false};
  std::atomic<bool> m_versionNoted{false};
  std::atomic<uint32_t> m_waitingTotal{0};
  EventPool m_events;
  Communicators m_communicators;
};

// The lane of this process: NCCL's stopEvent has no context.
Lane& processLane() noexcept;

}  // namespace plumb::nccl
