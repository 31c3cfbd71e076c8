// SPDX-License-Identifier: Apache-2.0
// The ranks of the lesson: collectives on one stream, watched.
#pragma once
#include <nccl.h>

#include <chrono>
#include <vector>

#include "workloads/fsdp/communicator.h"
#include "workloads/lessons/faults/progress_board.h"
#include "workloads/nn/memory.h"
#include "workloads/nn/stream.h"

namespace plumb::lessons {

// Not thread-safe. All ranks must call the same collectives in the same order, or end as watch() says.
class Peers {
 public:
  Peers(const fsdp::RankEnvironment& environment, std::chrono::milliseconds timeout);
  ~Peers();
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  int rank() const { return m_rank; }
  int ranks() const { return m_ranks; }
  const nn::Stream& stream() const { return m_stream; }
  nn::MemoryLedger& ledger() { return m_ledger; }
  ProgressBoard& board() { return m_board; }

  // Sums fp32 values over the ranks, in place, in the stream's order.
  void allReduce(const nn::Tensor& values);
  // Waits for the stream. When that takes longer than the timeout, aborts the communicator and throws nn::DeviceError,
  // which names the collective and the ranks that have not entered it.
  void watch();
  // Every rank's values, one rank after the other.
  std::vector<float> gather(const std::vector<float>& own);

 private:
  [[noreturn]] void abort();

  int m_rank;
  int m_ranks;
  std::chrono::milliseconds m_timeout;
  ProgressBoard m_board;
  nn::Stream m_stream;
  nn::MemoryLedger m_ledger;
  ncclComm_t m_communicator = nullptr;
  uint32_t m_lastNumber = 0;
  size_t m_lastCount = 0;
};

}  // namespace plumb::lessons
