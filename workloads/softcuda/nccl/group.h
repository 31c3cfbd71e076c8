// SPDX-License-Identifier: Apache-2.0
// Group calls: everything between ncclGroupStart and ncclGroupEnd is collected per thread and launched at the outermost
// end, one kernel per communicator. A call outside a group is a group of its own.
#pragma once
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <memory>
#include <vector>

#include "workloads/softcuda/nccl/communicator.h"
#include "workloads/softcuda/nccl/transfer.h"

namespace softnccl {

// One call of the user's, or one send or receive that it stands for.
struct Task {
  Function function = Function::kAllReduce;
  const void* send = nullptr;
  void* receive = nullptr;
  size_t count = 0;
  ncclDataType_t type = ncclInt8;
  Operation operation{};
  int root = 0;  // of a send or receive: the peer
  cudaStream_t stream = nullptr;
  // What the profiler was told when the task was made.
  int mask = 0;
  void* group_api = nullptr;
  void* api = nullptr;

  bool pointToPoint() const { return function == Function::kSend || function == Function::kRecv; }
};

const char* functionName(Function function);  // "AllGather", as NCCL's profiler events spell it

void groupStart();
ncclResult_t groupEnd();
bool inGroup();

// An error inside a group: the outermost end reports it and launches nothing.
void groupFailed(ncclResult_t error);

// Adds a call to the group that the caller has started. api is the call that the user made (AlltoAll for its sends).
void append(const std::shared_ptr<Communicator>& communicator, Task task, Function api);

// The same without telling the profiler: NCCL makes no task of it (a communicator of one rank).
void appendSilently(const std::shared_ptr<Communicator>& communicator, Task task);

// A communicator that has joined and still has to wait for the other ranks: at once, or at the end of the group.
void awaitInGroup(const std::shared_ptr<Communicator>& communicator);

// Launches the tasks as one kernel and tells the profiler.
ncclResult_t launch(const std::shared_ptr<Communicator>& communicator, std::vector<Task> tasks);

}  // namespace softnccl
