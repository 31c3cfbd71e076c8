// SPDX-License-Identifier: Apache-2.0
#include "workloads/softcuda/nccl/group.h"

#include <algorithm>
#include <utility>

namespace softnccl {
namespace {

// NCCL's ncclProfilerApiState: which API events are open on this thread.
struct ApiState {
  int depth = 0;  // of the group whose GroupApi event is open; 0: none
  int mask = 0;
  bool start_told = false, end_told = true;
  void* group = nullptr;
  std::shared_ptr<Communicator> owner;
};

struct GroupState {
  int depth = 0;
  ncclResult_t error = ncclSuccess;
  std::vector<std::pair<std::shared_ptr<Communicator>, std::vector<Task>>> work;  // in the order of first use
  std::vector<std::shared_ptr<Communicator>> joining;
  ApiState api;
};

thread_local GroupState t_group;

constexpr int kAnyGroupApi = abi::kGroupApi | abi::kP2pApi | abi::kCollApi | abi::kKernelLaunch | abi::kGroup |
                             abi::kColl | abi::kP2p | abi::kProxyOp | abi::kProxyStep | abi::kKernelCh |
                             abi::kNetPlugin;
constexpr int kAnyCollApi =
    abi::kCollApi | abi::kColl | abi::kProxyOp | abi::kProxyStep | abi::kKernelCh | abi::kNetPlugin;
constexpr int kAnyP2pApi =
    abi::kP2pApi | abi::kP2p | abi::kProxyOp | abi::kProxyStep | abi::kKernelCh | abi::kNetPlugin;

// The first call of a group opens its GroupApi event; the state "start stopped" follows at once.
void openGroupApi(const std::shared_ptr<Communicator>& communicator) {
  ApiState& api = t_group.api;
  if (!communicator->profiler().active()) {
    api.mask = 0;
    return;
  }
  api.mask = Profiler::mask();
  if ((api.mask & kAnyGroupApi) == 0 || api.depth != 0) {
    return;
  }
  abi::v5::Descr descr{};
  descr.type = abi::kGroupApi;
  descr.groupApi.groupDepth = t_group.depth;
  api.group = communicator->profiler().start(descr);
  api.owner = communicator;
  api.depth = t_group.depth;
  communicator->profiler().record(api.group, abi::kGroupStartApiStop, nullptr);
  api.end_told = false;
}

void* startApi(const Communicator& communicator, const Task& task, Function function) {
  const ApiState& api = t_group.api;
  abi::v5::Descr descr{};
  descr.parentObj = api.group;
  if (task.pointToPoint()) {
    if ((api.mask & kAnyP2pApi) == 0) {
      return nullptr;
    }
    descr.type = abi::kP2pApi;
    descr.p2pApi = {functionName(function), task.count, typeName(task.type), task.stream, false};
  } else {
    if ((api.mask & kAnyCollApi) == 0) {
      return nullptr;
    }
    descr.type = abi::kCollApi;
    descr.collApi = {functionName(function), task.count, typeName(task.type), task.root, task.stream, false};
  }
  return communicator.profiler().start(descr);
}

void closeGroupApi() {
  ApiState& api = t_group.api;
  if (api.group && api.depth == 0) {
    api.owner->profiler().stop(api.group);
  }
  if (api.depth == 0) {
    api = {};
  }
}

ncclResult_t launchAll() {
  const auto joining = std::move(t_group.joining);
  auto work = std::move(t_group.work);
  t_group.joining.clear();
  t_group.work.clear();
  ncclResult_t result = std::exchange(t_group.error, ncclSuccess);
  for (const auto& communicator : joining) {
    if (result == ncclSuccess) {
      communicator->awaitAll();
    }
  }
  for (auto& [communicator, tasks] : work) {
    if (result == ncclSuccess) {
      result = launch(communicator, std::move(tasks));
    }
  }
  return result;
}

}  // namespace

const char* functionName(Function function) {
  static constexpr const char* kNames[kFunctions] = {"Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce",
                                                     "Send",      "Recv",   "AlltoAll",  "Scatter",       "Gather"};
  return kNames[static_cast<size_t>(function)];
}

void groupStart() {
  ++t_group.depth;
  if (t_group.api.depth > 0) {
    ++t_group.api.depth;
  }
}

bool inGroup() { return t_group.depth > 0; }

void groupFailed(ncclResult_t error) {
  if (inGroup() && t_group.error == ncclSuccess) {
    t_group.error = error;
  }
}

ncclResult_t groupEnd() {
  if (t_group.depth == 0) {
    return fail(ncclInvalidUsage, "ncclGroupEnd", "not in a group call");
  }
  ApiState& api = t_group.api;
  if (api.depth > 0) {
    --api.depth;
  }
  if (api.depth == 0 && !api.end_told) {
    api.end_told = true;
    if (api.group) {
      api.owner->profiler().record(api.group, abi::kGroupEndApiStart, nullptr);
    }
  }
  if (--t_group.depth > 0) {
    return ncclSuccess;
  }
  const ncclResult_t result = launchAll();
  closeGroupApi();
  return result;
}

void appendSilently(const std::shared_ptr<Communicator>& communicator, Task task) {
  auto found = std::find_if(t_group.work.begin(), t_group.work.end(),
                            [&](const auto& entry) { return entry.first == communicator; });
  if (found == t_group.work.end()) {
    t_group.work.push_back({communicator, {}});
    found = std::prev(t_group.work.end());
  }
  found->second.push_back(std::move(task));
}

void append(const std::shared_ptr<Communicator>& communicator, Task task, Function api) {
  openGroupApi(communicator);
  task.api = startApi(*communicator, task, api);
  task.mask = t_group.api.mask;
  task.group_api = t_group.api.group;
  communicator->profiler().stop(task.api);
  appendSilently(communicator, task);
}

void awaitInGroup(const std::shared_ptr<Communicator>& communicator) {
  if (inGroup()) {
    t_group.joining.push_back(communicator);
  } else {
    communicator->awaitAll();
  }
}

}  // namespace softnccl
