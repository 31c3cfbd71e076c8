// SPDX-License-Identifier: Apache-2.0
// A communicator of this process: one rank's region, its profiler, and the kernels it has in flight.
#pragma once
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "workloads/softcuda/nccl/profiler.h"
#include "workloads/softcuda/nccl/proxy.h"
#include "workloads/softcuda/nccl/region.h"
#include "workloads/softcuda/nccl/transfer.h"

namespace softnccl {

// Outlives the handle for as long as a kernel of it is queued.
class Communicator {
 public:
  Communicator(std::unique_ptr<Region> region, const RegionId& id, std::string name);
  ~Communicator();

  Region& region() { return *m_region; }
  Transfer& transfer() { return m_transfer; }
  const Profiler& profiler() const { return *m_profiler; }
  Proxy& proxy() { return m_proxy; }
  int rank() const { return m_region->rank(); }
  int ranks() const { return m_region->ranks(); }
  uint64_t hash() const { return m_id.hash; }
  const std::string& name() const { return m_name; }
  int device() const { return m_device; }

  // Waits until every rank has joined, then gives back the id and starts the profiler. Before that the communicator is
  // not ready.
  void awaitAll();
  bool ready() const { return m_profiler != nullptr; }
  // The end of the handle: the profiler's last call. Kernels that are still queued find the communicator aborted.
  void close();

  // Kernels run one after another in the order of their launch, whatever their streams. A launch takes a turn; its
  // kernel runs between begin and end. begin is false when the communicator was aborted. Kernels of graphs have no
  // turn: they run when no other does, and it is for the program to order them with those on other streams.
  static constexpr uint64_t kNoTurn = ~uint64_t{0};
  uint64_t takeTurn();
  bool begin(uint64_t turn);
  void end(uint64_t turn);
  // A turn that will never run.
  void skip(uint64_t turn);
  void awaitIdle();     // all kernels have run
  void awaitStopped();  // no kernel runs; for an aborted communicator
  void abort();

  // Makes stream wait for the communicator's earlier kernels on another stream.
  cudaError_t orderAfterLast(cudaStream_t stream);

  uint64_t nextSequence(Function function) { return m_sequence[static_cast<size_t>(function)].fetch_add(1); }

  // Reduction operations made by ncclRedOpCreatePreMulSum.
  ncclRedOp_t addOperation(const Operation& operation, const void* device_scalar, ncclDataType_t type);
  bool removeOperation(ncclRedOp_t op);
  // false: no such operation.
  bool resolve(ncclRedOp_t op, Operation* operation);

 private:
  struct Custom {
    Operation operation;
    const void* device_scalar;
    ncclDataType_t type;
  };

  void advance(uint64_t turn);  // the lock is held

  std::unique_ptr<Region> m_region;
  RegionId m_id;
  std::string m_name;
  Transfer m_transfer;
  std::unique_ptr<Profiler> m_profiler;
  Proxy m_proxy;
  int m_device = 0;

  std::mutex m_mutex;
  std::condition_variable m_turned;
  uint64_t m_next_turn = 0;
  uint64_t m_turn = 0;
  std::set<uint64_t> m_ended;  // turns that ended before an earlier one
  int m_running = 0;
  cudaStream_t m_last_stream = nullptr;
  bool m_launched = false;
  cudaEvent_t m_event = nullptr;
  std::map<int, Custom> m_operations;
  int m_next_operation = ncclNumOps;
  std::atomic<uint64_t> m_sequence[kFunctions]{};
};

// Remembers and returns the error; ncclGetLastError shows the text (of this thread's last failure).
ncclResult_t fail(ncclResult_t result, const char* call, const std::string& what);
const char* lastError();

double readScalar(const void* scalar, ncclDataType_t type);

}  // namespace softnccl

struct ncclComm {
  std::shared_ptr<softnccl::Communicator> communicator;
};
