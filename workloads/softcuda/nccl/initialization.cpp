// SPDX-License-Identifier: Apache-2.0
// libnccl: unique ids, communicators from their birth to their end, and what can be asked of them.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <string>
#include <vector>

#include "workloads/softcuda/device.h"
#include "workloads/softcuda/nccl/api.h"
#include "workloads/softcuda/nccl/group.h"

using namespace softnccl;

namespace {

RegionId idOf(const ncclUniqueId& unique) {
  RegionId id;
  std::memcpy(&id, unique.internal, sizeof id);
  return id;
}

std::string nameOf(const ncclConfig_t* config) { return config && config->commName ? config->commName : ""; }

ncclResult_t checkConfig(const char* call, const ncclConfig_t* config) {
  constexpr unsigned kMagic = 0xcafebeef;
  if (config && config->magic != kMagic) {
    return fail(ncclInvalidArgument, call, "ncclConfig_t was not initialized with NCCL_CONFIG_INITIALIZER");
  }
  return ncclSuccess;
}

ncclResult_t join(const char* call, const RegionId& id, int ranks, int rank, const ncclConfig_t* config,
                  ncclComm_t* comm) {
  Region* region = nullptr;
  const char* why = "";
  if (const ncclResult_t result = Region::join(id, ranks, rank, &region, &why); result != ncclSuccess) {
    return fail(result, call, why);
  }
  *comm = new ncclComm{std::make_shared<Communicator>(std::unique_ptr<Region>(region), id, nameOf(config))};
  return ncclSuccess;
}

ncclResult_t initRank(const char* call, ncclComm_t* comm, int ranks, const ncclUniqueId& unique, int rank,
                      const ncclConfig_t* config) {
  ncclResult_t result = checkConfig(call, config);
  if (result == ncclSuccess && (!comm || ranks < 1 || rank < 0 || rank >= ranks)) {
    result = fail(ncclInvalidArgument, call, "invalid rank " + std::to_string(rank) + " of " + std::to_string(ranks));
  }
  if (result == ncclSuccess) {
    result = join(call, idOf(unique), ranks, rank, config, comm);
  }
  if (result != ncclSuccess) {
    groupFailed(result);
    return result;
  }
  awaitInGroup((*comm)->communicator);
  return ncclSuccess;
}

// Every rank of the parent shows something to the others; returns when all have.
void exchangeSplit(Region& region) {
  RankControl& own = region.control(region.rank());
  const uint32_t phase = own.split_phase.load(std::memory_order_relaxed) + 1;
  own.split_phase.store(phase, std::memory_order_release);
  region.ringOthers();
  region.wait([&] {
    for (int rank = 0; rank < region.ranks(); ++rank) {
      if (static_cast<int32_t>(region.control(rank).split_phase.load(std::memory_order_acquire) - phase) < 0) {
        return false;
      }
    }
    return true;
  });
}

// The parent's ranks that go with this one, in the new order.
std::vector<int> membersOf(Region& region, int color) {
  std::vector<int> members;
  for (int rank = 0; rank < region.ranks(); ++rank) {
    if (region.control(rank).split_color == color) {
      members.push_back(rank);
    }
  }
  std::stable_sort(members.begin(), members.end(),
                   [&](int a, int b) { return region.control(a).split_key < region.control(b).split_key; });
  return members;
}

ncclResult_t split(Communicator& parent, int color, int key, ncclComm_t* comm, const ncclConfig_t* config) {
  Region& region = parent.region();
  RankControl& own = region.control(region.rank());
  own.split_color = color;
  own.split_key = key;
  exchangeSplit(region);
  const std::vector<int> members = color < 0 ? std::vector<int>{} : membersOf(region, color);
  ncclResult_t result = ncclSuccess;
  if (!members.empty() && members.front() == region.rank()) {
    own.split_id = {};
    result = Region::makeId(&own.split_id);
  }
  exchangeSplit(region);
  if (members.empty() || region.aborted()) {
    *comm = nullptr;
    return region.aborted() ? fail(ncclInvalidUsage, "ncclCommSplit", "the communicator was aborted") : ncclSuccess;
  }
  const auto rank = std::find(members.begin(), members.end(), region.rank()) - members.begin();
  if (result == ncclSuccess) {
    result = join("ncclCommSplit", region.control(members.front()).split_id, static_cast<int>(members.size()),
                  static_cast<int>(rank), config, comm);
  }
  if (result == ncclSuccess) {
    (*comm)->communicator->awaitAll();
  }
  return result;
}

template <typename T>
ncclResult_t answer(ncclComm_t comm, T* to, T value, const char* call) {
  if (!comm || !to) {
    return fail(ncclInvalidArgument, call, "an argument is NULL");
  }
  *to = value;
  return ncclSuccess;
}

}  // namespace

SOFTNCCL_API(ncclResult_t, ncclGetVersion, (int* version)) {
  if (!version) {
    return fail(ncclInvalidArgument, "ncclGetVersion", "version is NULL");
  }
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

SOFTNCCL_API(ncclResult_t, ncclGetUniqueId, (ncclUniqueId * unique)) {
  if (!unique) {
    return fail(ncclInvalidArgument, "ncclGetUniqueId", "uniqueId is NULL");
  }
  RegionId id;
  if (const ncclResult_t result = Region::makeId(&id); result != ncclSuccess) {
    return fail(result, "ncclGetUniqueId", "no shared memory: " + std::string(std::strerror(errno)));
  }
  *unique = {};
  std::memcpy(unique->internal, &id, sizeof id);
  return ncclSuccess;
}

SOFTNCCL_API(ncclResult_t, ncclCommInitRank, (ncclComm_t * comm, int ranks, ncclUniqueId unique, int rank)) {
  return initRank("ncclCommInitRank", comm, ranks, unique, rank, nullptr);
}

// Always blocking, also where the configuration allows to return early.
SOFTNCCL_API(ncclResult_t, ncclCommInitRankConfig,
             (ncclComm_t * comm, int ranks, ncclUniqueId unique, int rank, ncclConfig_t* config)) {
  return initRank("ncclCommInitRankConfig", comm, ranks, unique, rank, config);
}

SOFTNCCL_API(ncclResult_t, ncclCommInitRankScalable,
             (ncclComm_t * comm, int ranks, int rank, int ids, ncclUniqueId* unique, ncclConfig_t* config)) {
  if (ids < 1 || !unique) {
    return fail(ncclInvalidArgument, "ncclCommInitRankScalable", "no unique id");
  }
  return initRank("ncclCommInitRankScalable", comm, ranks, unique[0], rank, config);
}

SOFTNCCL_API(ncclResult_t, ncclCommInitAll, (ncclComm_t * comms, int count, const int* devices)) {
  int available = 0;
  if (!comms || count < 1 || cudaGetDeviceCount(&available) != cudaSuccess) {
    return fail(ncclInvalidArgument, "ncclCommInitAll", "invalid arguments");
  }
  ncclUniqueId unique;
  if (const ncclResult_t result = pncclGetUniqueId(&unique); result != ncclSuccess) {
    return result;
  }
  for (int i = 0; i < count; ++i) {
    if (const int device = devices ? devices[i] : i; device < 0 || device >= available) {
      return fail(ncclInvalidArgument, "ncclCommInitAll", "no device " + std::to_string(device));
    }
  }
  int before = 0;
  cudaGetDevice(&before);
  ncclResult_t result = ncclSuccess;
  groupStart();
  for (int i = 0; i < count && result == ncclSuccess; ++i) {
    cudaSetDevice(devices ? devices[i] : i);
    result = initRank("ncclCommInitAll", &comms[i], count, unique, i, nullptr);
  }
  const ncclResult_t ended = groupEnd();
  cudaSetDevice(before);
  return result != ncclSuccess ? result : ended;
}

SOFTNCCL_API(ncclResult_t, ncclCommSplit,
             (ncclComm_t comm, int color, int key, ncclComm_t* made, ncclConfig_t* config)) {
  if (!comm || !made || (color < 0 && color != NCCL_SPLIT_NOCOLOR)) {
    return fail(ncclInvalidArgument, "ncclCommSplit", "an argument is invalid");
  }
  if (const ncclResult_t result = checkConfig("ncclCommSplit", config); result != ncclSuccess) {
    return result;
  }
  return split(*comm->communicator, color, key, made, config);
}

SOFTNCCL_API(ncclResult_t, ncclCommFinalize, (ncclComm_t comm)) {
  if (!comm) {
    return fail(ncclInvalidArgument, "ncclCommFinalize", "the communicator is NULL");
  }
  comm->communicator->awaitIdle();
  return ncclSuccess;
}

SOFTNCCL_API(ncclResult_t, ncclCommDestroy, (ncclComm_t comm)) {
  if (comm) {
    comm->communicator->awaitIdle();
    comm->communicator->close();
    delete comm;
  }
  return ncclSuccess;
}

SOFTNCCL_API(ncclResult_t, ncclCommAbort, (ncclComm_t comm)) {
  if (comm) {
    comm->communicator->abort();
    comm->communicator->awaitStopped();
    comm->communicator->close();
    delete comm;
  }
  return ncclSuccess;
}

SOFTNCCL_API(ncclResult_t, ncclCommGetAsyncError, (ncclComm_t comm, ncclResult_t* error)) {
  return answer(comm, error, ncclSuccess, "ncclCommGetAsyncError");
}
SOFTNCCL_API(ncclResult_t, ncclCommCount, (const ncclComm_t comm, int* count)) {
  return answer(comm, count, comm ? comm->communicator->ranks() : 0, "ncclCommCount");
}
SOFTNCCL_API(ncclResult_t, ncclCommCuDevice, (const ncclComm_t comm, int* device)) {
  return answer(comm, device, comm ? comm->communicator->device() : 0, "ncclCommCuDevice");
}
SOFTNCCL_API(ncclResult_t, ncclCommUserRank, (const ncclComm_t comm, int* rank)) {
  return answer(comm, rank, comm ? comm->communicator->rank() : 0, "ncclCommUserRank");
}

SOFTNCCL_API(const char*, ncclGetErrorString, (ncclResult_t result)) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
    case ncclSystemError:
      return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
    case ncclInternalError:
      return "internal error - please report this issue to the NCCL developers";
    case ncclInvalidArgument:
      return "invalid argument (run with NCCL_DEBUG=WARN for details)";
    case ncclInvalidUsage:
      return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclInProgress:
      return "NCCL operation in progress";
    default:
      return "unknown result code";
  }
}

SOFTNCCL_API(const char*, ncclGetLastError, (ncclComm_t)) { return lastError(); }

SOFTNCCL_API(ncclResult_t, ncclMemAlloc, (void** pointer, size_t size)) {
  return pointer && cudaMalloc(pointer, size) == cudaSuccess
             ? ncclSuccess
             : fail(ncclUnhandledCudaError, "ncclMemAlloc", "no memory of " + std::to_string(size) + " bytes");
}
SOFTNCCL_API(ncclResult_t, ncclMemFree, (void* pointer)) {
  return cudaFree(pointer) == cudaSuccess ? ncclSuccess
                                          : fail(ncclUnhandledCudaError, "ncclMemFree", "not a device pointer");
}

// Registered buffers have no advantage here: accepted, and nothing kept.
SOFTNCCL_API(ncclResult_t, ncclCommRegister, (const ncclComm_t comm, void* buffer, size_t, void** handle)) {
  return answer(comm, handle, buffer, "ncclCommRegister");
}
SOFTNCCL_API(ncclResult_t, ncclCommDeregister, (const ncclComm_t, void*)) { return ncclSuccess; }

namespace {

ncclResult_t unsupported(const char* call) {
  softcuda_unsupported(call);
  return fail(ncclInvalidUsage, call, "not implemented by the software device");
}

}  // namespace

SOFTNCCL_API(ncclResult_t, ncclCommWindowRegister, (ncclComm_t, void*, size_t, ncclWindow_t*, int)) {
  return unsupported("ncclCommWindowRegister");
}
SOFTNCCL_API(ncclResult_t, ncclCommWindowDeregister, (ncclComm_t, ncclWindow_t)) {
  return unsupported("ncclCommWindowDeregister");
}
SOFTNCCL_API(ncclResult_t, ncclCommShrink, (ncclComm_t, int*, int, ncclComm_t*, ncclConfig_t*, int)) {
  return unsupported("ncclCommShrink");
}
SOFTNCCL_API(ncclResult_t, ncclCommRevoke, (ncclComm_t, int)) { return unsupported("ncclCommRevoke"); }
SOFTNCCL_API(ncclResult_t, ncclGroupSimulateEnd, (ncclSimInfo_t*)) { return unsupported("ncclGroupSimulateEnd"); }
