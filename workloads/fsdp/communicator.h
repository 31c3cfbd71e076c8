// SPDX-License-Identifier: Apache-2.0
// The ranks of a run: who they are, how they find each other, and their collectives on a stream of their own.
#pragma once
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <memory>
#include <string>

#include "workloads/nn/stream.h"
#include "workloads/nn/tensor.h"

namespace plumb::fsdp {

// As torchrun says it: RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT.
struct RankEnvironment {
  int rank = 0;
  int localRank = 0;
  int worldSize = 1;
  std::string masterAddress = "127.0.0.1";
  int masterPort = 0;

  // True when RANK and WORLD_SIZE are set, so this process is one rank of a run that somebody else started.
  static bool present();
  // Throws nn::UsageError when a variable is missing or no number.
  static RankEnvironment read();
};

// Rank 0 sends bytes to all others over TCP at masterAddress:masterPort; every rank returns them. Waits at most a
// minute for the others; throws std::runtime_error after that.
std::string broadcastFromRankZero(const RankEnvironment& environment, const std::string& bytes);

// Calls so far.
struct CollectiveCounts {
  int allGathers = 0;
  int reduceScatters = 0;
  int allReduces = 0;
};

// Not thread-safe. All ranks must call the same methods in the same order. Collectives are enqueued on stream().
class Communicator {
 public:
  explicit Communicator(const RankEnvironment& environment);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  // The ranks that say the same color, in their order; on the same stream, so that the two never run at once.
  std::unique_ptr<Communicator> split(int color) const;

  int rank() const { return m_rank; }
  int ranks() const { return m_ranks; }
  cudaStream_t stream() const { return *m_stream; }
  const CollectiveCounts& counts() const { return m_counts; }

  // whole: the ranks' parts one after the other; this rank's part is there already.
  void allGather(const nn::Tensor& whole);
  // part: this rank's part of the sum of whole over the ranks; may be that part of whole itself.
  void reduceScatter(const nn::Tensor& whole, const nn::Tensor& part);
  void allReduce(const nn::Tensor& values);
  // Rank 0 gets part of each of the ranks 0 … parts - 1 into whole, one after the other.
  void gatherToZero(const nn::Tensor& part, const nn::Tensor& whole, int parts);
  // Rank r gets part r % parts of rank 0's whole.
  void scatterFromZero(const nn::Tensor& whole, const nn::Tensor& part, int parts);

 private:
  Communicator(ncclComm_t communicator, std::shared_ptr<nn::Stream> stream);

  int m_rank = 0;
  int m_ranks = 1;
  std::shared_ptr<nn::Stream> m_stream;
  ncclComm_t m_communicator = nullptr;
  CollectiveCounts m_counts;
};

}  // namespace plumb::fsdp
