// SPDX-License-Identifier: Apache-2.0
// libnccl: the communication calls. Each checks its arguments as NCCL does and becomes one task of the thread's group,
// or several sends and receives.
#include <string>
#include <vector>

#include "workloads/softcuda/nccl/api.h"
#include "workloads/softcuda/nccl/group.h"

using namespace softnccl;

namespace {

std::byte* at(void* base, int index, size_t count, ncclDataType_t type) {
  return static_cast<std::byte*>(base) + static_cast<size_t>(index) * count * sizeOf(type);
}
const std::byte* at(const void* base, int index, size_t count, ncclDataType_t type) {
  return static_cast<const std::byte*>(base) + static_cast<size_t>(index) * count * sizeOf(type);
}

ncclResult_t checkCall(ncclComm_t comm, const char* call, const Task& task, bool needs_send, bool needs_receive) {
  if (!comm) {
    return fail(ncclInvalidArgument, call, "the communicator is NULL");
  }
  const Communicator& communicator = *comm->communicator;
  if (!communicator.ready()) {
    return fail(ncclInvalidUsage, call, "the communicator is not ready before its group has ended");
  }
  if (comm->communicator->region().aborted()) {
    return fail(ncclInvalidUsage, call, "the communicator was aborted");
  }
  if (!validType(task.type)) {
    return fail(ncclInvalidArgument, call, "invalid data type " + std::to_string(task.type));
  }
  if (task.root < 0 || task.root >= communicator.ranks()) {
    return fail(ncclInvalidArgument, call,
                "invalid root or peer " + std::to_string(task.root) + " (the communicator has " +
                    std::to_string(communicator.ranks()) + " ranks)");
  }
  if (task.count != 0 && ((needs_send && !task.send) || (needs_receive && !task.receive))) {
    return fail(ncclInvalidArgument, call, "a buffer is NULL");
  }
  return ncclSuccess;
}

// Checks, then adds the tasks within a group of the call's own.
template <typename Add>
ncclResult_t submit(ncclResult_t checked, Add add) {
  if (checked != ncclSuccess) {
    groupFailed(checked);
    return checked;
  }
  groupStart();
  add();
  return groupEnd();
}

ncclResult_t collective(ncclComm_t comm, const char* call, Task task, bool needs_send, bool needs_receive) {
  return submit(checkCall(comm, call, task, needs_send, needs_receive), [&] {
    const auto& communicator = comm->communicator;
    if (task.count == 0) {
      return;  // NCCL drops empty collectives
    }
    if (communicator->ranks() == 1) {
      appendSilently(communicator, task);
    } else {
      append(communicator, task, task.function);
    }
  });
}

ncclResult_t reducing(ncclComm_t comm, const char* call, Task task, ncclRedOp_t op, bool needs_receive) {
  if (const ncclResult_t checked = checkCall(comm, call, task, true, needs_receive); checked != ncclSuccess) {
    groupFailed(checked);
    return checked;
  }
  if (!comm->communicator->resolve(op, &task.operation)) {
    const ncclResult_t result = fail(ncclInvalidArgument, call, "invalid reduction operation " + std::to_string(op));
    groupFailed(result);
    return result;
  }
  if (task.operation.scaled && comm->communicator->ranks() == 1) {
    // Alone there is no kernel that could multiply: send it through one all the same.
    return submit(ncclSuccess, [&] { append(comm->communicator, task, task.function); });
  }
  return collective(comm, call, task, true, needs_receive);
}

Task pointToPoint(bool send, const void* from, void* to, size_t count, ncclDataType_t type, int peer,
                  cudaStream_t stream) {
  Task task;
  task.function = send ? Function::kSend : Function::kRecv;
  task.send = from;
  task.receive = to;
  task.count = count;
  task.type = type;
  task.root = peer;
  task.stream = stream;
  return task;
}

Task make(Function function, const void* send, void* receive, size_t count, ncclDataType_t type, int root,
          cudaStream_t stream) {
  Task task;
  task.function = function;
  task.send = send;
  task.receive = receive;
  task.count = count;
  task.type = type;
  task.root = root;
  task.stream = stream;
  return task;
}

}  // namespace

SOFTNCCL_API(ncclResult_t, ncclAllGather,
             (const void* send, void* receive, size_t count, ncclDataType_t type, ncclComm_t comm,
              cudaStream_t stream)) {
  return collective(comm, "ncclAllGather", make(Function::kAllGather, send, receive, count, type, 0, stream), true,
                    true);
}

SOFTNCCL_API(ncclResult_t, ncclReduceScatter,
             (const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
              cudaStream_t stream)) {
  return reducing(comm, "ncclReduceScatter", make(Function::kReduceScatter, send, receive, count, type, 0, stream), op,
                  true);
}

SOFTNCCL_API(ncclResult_t, ncclAllReduce,
             (const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
              cudaStream_t stream)) {
  return reducing(comm, "ncclAllReduce", make(Function::kAllReduce, send, receive, count, type, 0, stream), op, true);
}

SOFTNCCL_API(ncclResult_t, ncclReduce,
             (const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
              ncclComm_t comm, cudaStream_t stream)) {
  const bool is_root = comm && comm->communicator->rank() == root;
  return reducing(comm, "ncclReduce", make(Function::kReduce, send, receive, count, type, root, stream), op, is_root);
}

SOFTNCCL_API(ncclResult_t, ncclBroadcast,
             (const void* send, void* receive, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
              cudaStream_t stream)) {
  const bool is_root = comm && comm->communicator->rank() == root;
  return collective(comm, "ncclBroadcast", make(Function::kBroadcast, send, receive, count, type, root, stream),
                    is_root, true);
}

SOFTNCCL_API(ncclResult_t, ncclBcast,
             (void* buffer, size_t count, ncclDataType_t type, int root, ncclComm_t comm, cudaStream_t stream)) {
  return collective(comm, "ncclBcast", make(Function::kBroadcast, buffer, buffer, count, type, root, stream), true,
                    true);
}

SOFTNCCL_API(ncclResult_t, ncclSend,
             (const void* send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream)) {
  const Task task = pointToPoint(true, send, nullptr, count, type, peer, stream);
  return submit(checkCall(comm, "ncclSend", task, true, false),
                [&] { append(comm->communicator, task, Function::kSend); });
}

SOFTNCCL_API(ncclResult_t, ncclRecv,
             (void* receive, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream)) {
  const Task task = pointToPoint(false, nullptr, receive, count, type, peer, stream);
  return submit(checkCall(comm, "ncclRecv", task, false, true),
                [&] { append(comm->communicator, task, Function::kRecv); });
}

SOFTNCCL_API(ncclResult_t, ncclAlltoAll,
             (const void* send, void* receive, size_t count, ncclDataType_t type, ncclComm_t comm,
              cudaStream_t stream)) {
  const Task whole = make(Function::kAlltoAll, send, receive, count, type, 0, stream);
  return submit(checkCall(comm, "ncclAlltoAll", whole, true, true), [&] {
    for (int peer = 0; peer < comm->communicator->ranks(); ++peer) {
      append(comm->communicator, pointToPoint(true, at(send, peer, count, type), nullptr, count, type, peer, stream),
             Function::kAlltoAll);
      append(comm->communicator,
             pointToPoint(false, nullptr, at(receive, peer, count, type), count, type, peer, stream),
             Function::kAlltoAll);
    }
  });
}

SOFTNCCL_API(ncclResult_t, ncclGather,
             (const void* send, void* receive, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
              cudaStream_t stream)) {
  const bool is_root = comm && comm->communicator->rank() == root;
  const Task whole = make(Function::kGather, send, receive, count, type, root, stream);
  return submit(checkCall(comm, "ncclGather", whole, true, is_root), [&] {
    append(comm->communicator, pointToPoint(true, send, nullptr, count, type, root, stream), Function::kGather);
    for (int peer = 0; is_root && peer < comm->communicator->ranks(); ++peer) {
      append(comm->communicator,
             pointToPoint(false, nullptr, at(receive, peer, count, type), count, type, peer, stream),
             Function::kGather);
    }
  });
}

SOFTNCCL_API(ncclResult_t, ncclScatter,
             (const void* send, void* receive, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
              cudaStream_t stream)) {
  const bool is_root = comm && comm->communicator->rank() == root;
  const Task whole = make(Function::kScatter, send, receive, count, type, root, stream);
  return submit(checkCall(comm, "ncclScatter", whole, is_root, true), [&] {
    for (int peer = 0; is_root && peer < comm->communicator->ranks(); ++peer) {
      append(comm->communicator, pointToPoint(true, at(send, peer, count, type), nullptr, count, type, peer, stream),
             Function::kScatter);
    }
    append(comm->communicator, pointToPoint(false, nullptr, receive, count, type, root, stream), Function::kScatter);
  });
}

SOFTNCCL_API(ncclResult_t, ncclGroupStart, ()) {
  groupStart();
  return ncclSuccess;
}

SOFTNCCL_API(ncclResult_t, ncclGroupEnd, ()) { return groupEnd(); }

SOFTNCCL_API(ncclResult_t, ncclRedOpCreatePreMulSum,
             (ncclRedOp_t * op, void* scalar, ncclDataType_t type, ncclScalarResidence_t residence, ncclComm_t comm)) {
  if (!op || !scalar || !comm || !validType(type)) {
    return fail(ncclInvalidArgument, "ncclRedOpCreatePreMulSum", "an argument is invalid");
  }
  Operation operation;
  operation.scaled = true;
  const bool now = residence == ncclScalarHostImmediate;
  if (now) {
    operation.scalar = readScalar(scalar, type);
  }
  *op = comm->communicator->addOperation(operation, now ? nullptr : scalar, type);
  return ncclSuccess;
}

SOFTNCCL_API(ncclResult_t, ncclRedOpDestroy, (ncclRedOp_t op, ncclComm_t comm)) {
  if (!comm || !comm->communicator->removeOperation(op)) {
    return fail(ncclInvalidArgument, "ncclRedOpDestroy", "no such operation in this communicator");
  }
  return ncclSuccess;
}
