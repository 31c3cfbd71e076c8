// SPDX-License-Identifier: Apache-2.0
#include "plugins/nccl/profilers.h"

#include "plugins/nccl/lane.h"

namespace plumb::nccl {
namespace {

constexpr int kSuccess = 0;  // ncclSuccess; nothing here ever returns another value
constexpr const char* kName = "plumbline";

// Not KernelCh: it forces proxy work for each collective; CUPTI's kernel records tell the same.
constexpr int kMaskV5 =
    abi::kGroup | abi::kColl | abi::kP2p | abi::kGroupApi | abi::kCollApi | abi::kP2pApi | abi::kKernelLaunch;
constexpr int kMaskBefore5 = abi::kColl | abi::kP2p;

template <int kVersion>
int initAnonymous(void** context, int* mask) noexcept {
  processLane().noteVersion(kVersion);
  if (context) {
    *context = processLane().openCommunicator(0, nullptr, 0, 0, 0);
  }
  if (mask) {
    *mask = kMaskBefore5;
  }
  return kSuccess;
}

int initV4(void** context, int* mask, const char* name, uint64_t hash, int nNodes, int nRanks, int rank,
           abi::Logger) noexcept {
  processLane().noteVersion(4);
  if (context) {
    *context = processLane().openCommunicator(hash, name, nNodes, nRanks, rank);
  }
  if (mask) {
    *mask = kMaskBefore5;
  }
  return kSuccess;
}

int initV5(void** context, uint64_t id, int* mask, const char* name, int nNodes, int nRanks, int rank,
           abi::Logger) noexcept {
  if (context) {
    *context = processLane().openCommunicator(id, name, nNodes, nRanks, rank);
  }
  if (mask) {
    *mask = kMaskV5;
  }
  return kSuccess;
}

template <class Descr>
void* startTask(void* context, const Descr& descr, void* parentGroup) noexcept {
  if (descr.type == abi::kColl) {
    return processLane().startTask(context, descr.parentObj, parentGroup, descr.rank, convertColl(descr.coll));
  }
  if (descr.type == abi::kP2p) {
    return processLane().startTask(context, descr.parentObj, parentGroup, descr.rank, convertP2p(descr.p2p));
  }
  return nullptr;
}

template <class Descr>
int startBefore5(void* context, void** handle, Descr* descr) noexcept {
  if (handle) {
    *handle = descr ? startTask(context, *descr, nullptr) : nullptr;
  }
  return kSuccess;
}

void* startEventV5(void* context, const abi::v5::Descr& descr) noexcept {
  Lane& lane = processLane();
  switch (descr.type) {
    case abi::kGroupApi:
      return lane.startGroupApi(context);
    case abi::kCollApi:
      return lane.startApi(context, descr.parentObj, EventType::kCollApi, convertCollApi(descr.collApi));
    case abi::kP2pApi:
      return lane.startApi(context, descr.parentObj, EventType::kP2pApi, convertP2pApi(descr.p2pApi));
    case abi::kKernelLaunch:
      return lane.startKernelLaunch(context, descr.parentObj);
    case abi::kGroup:
      return lane.startGroup(context);
    case abi::kColl:
      return startTask(context, descr, descr.coll.parentGroup);
    case abi::kP2p:
      return startTask(context, descr, descr.p2p.parentGroup);
    default:
      return nullptr;
  }
}

int startV5(void* context, void** handle, abi::v5::Descr* descr) noexcept {
  if (handle) {
    *handle = descr ? startEventV5(context, *descr) : nullptr;
  }
  return kSuccess;
}

int stopEvent(void* handle) noexcept {
  processLane().stop(handle);
  return kSuccess;
}

template <class Args>
int recordState(void*, abi::State, Args*) noexcept {
  return kSuccess;
}

int finalize(void* context) noexcept {
  processLane().closeCommunicator(context);
  return kSuccess;
}

constexpr abi::v1::Profiler kV1{
    kName, initAnonymous<1>, startBefore5<abi::v1::Descr>, stopEvent, recordState<abi::v1::StateArgs>, finalize};
constexpr abi::v2::Profiler kV2{
    kName, initAnonymous<2>, startBefore5<abi::v2::Descr>, stopEvent, recordState<abi::v2::StateArgs>, finalize};
constexpr abi::v3::Profiler kV3{
    kName, initAnonymous<3>, startBefore5<abi::v3::Descr>, stopEvent, recordState<abi::v3::StateArgs>, finalize};
constexpr abi::v4::Profiler kV4{
    kName, initV4, startBefore5<abi::v4::Descr>, stopEvent, recordState<abi::v4::StateArgs>, finalize};
constexpr abi::v5::Profiler kV5{kName, initV5, startV5, stopEvent, recordState<abi::v5::StateArgs>, finalize};

}  // namespace

const void* profiler(int version) noexcept {
  switch (version) {
    case 1:
      return &kV1;
    case 2:
      return &kV2;
    case 3:
      return &kV3;
    case 4:
      return &kV4;
    case 5:
      return &kV5;
    default:
      return nullptr;
  }
}

}  // namespace plumb::nccl
