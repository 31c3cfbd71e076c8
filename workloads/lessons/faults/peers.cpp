// SPDX-License-Identifier: Apache-2.0
#include "workloads/lessons/faults/peers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <thread>

#include "workloads/nn/error.h"
#include "workloads/nn/nvtx.h"

namespace plumb::lessons {
namespace {

void check(ncclResult_t code, const char* what) {
  if (code != ncclSuccess) throw nn::DeviceError(std::string(what) + " failed: " + ncclGetErrorString(code));
}

}  // namespace

Peers::Peers(const fsdp::RankEnvironment& environment, std::chrono::milliseconds timeout)
    : m_rank(environment.rank),
      m_ranks(environment.worldSize),
      m_timeout(timeout),
      m_board(environment.rank, environment.worldSize) {
  const nn::Range range("setup");
  ncclUniqueId id{};
  if (m_rank == 0) check(ncclGetUniqueId(&id), "ncclGetUniqueId");
  const std::string bytes = fsdp::broadcastFromRankZero(environment, std::string(id.internal, sizeof id.internal));
  std::memcpy(id.internal, bytes.data(), sizeof id.internal);
  check(ncclCommInitRank(&m_communicator, m_ranks, id, m_rank), "ncclCommInitRank");
}

Peers::~Peers() {
  if (m_communicator) ncclCommDestroy(m_communicator);
}

void Peers::allReduce(const nn::Tensor& values) {
  m_lastNumber = m_board.enter();
  m_lastCount = values.count;
  check(ncclAllReduce(values.data, values.data, values.count, ncclFloat32, ncclSum, m_communicator, m_stream),
        "ncclAllReduce");
}

void Peers::watch() {
  const auto deadline = std::chrono::steady_clock::now() + m_timeout;
  for (cudaError_t state = cudaErrorNotReady; state == cudaErrorNotReady;) {
    state = cudaStreamQuery(m_stream);
    if (state != cudaErrorNotReady) return nn::check(state, "waiting for a collective");
    if (std::chrono::steady_clock::now() > deadline) abort();
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

void Peers::abort() {
  const std::vector<int> missing = m_board.missingIn(m_lastNumber);
  {
    const nn::Range range("abort");
    ncclCommAbort(m_communicator);
    m_communicator = nullptr;
  }
  m_board.giveUp();
  const std::string who = missing.empty() ? "every rank has entered it or cannot be seen"
                                          : fmt::format("rank {} has not entered it", fmt::join(missing, ", "));
  throw nn::DeviceError(fmt::format("rank {}: AllReduce {} of {} floats timed out after {:.1f} s: {}", m_rank,
                                    m_lastNumber, m_lastCount, static_cast<double>(m_timeout.count()) / 1000.0, who));
}

std::vector<float> Peers::gather(const std::vector<float>& own) {
  const size_t all = own.size() * static_cast<size_t>(m_ranks);
  const nn::Buffer buffer(m_ledger, m_stream, nn::Category::kCommunicationBuffer, "results", nn::Dtype::kFloat32, all);
  const nn::Tensor part = buffer.tensor().slice(own.size() * static_cast<size_t>(m_rank), own.size());
  nn::check(cudaMemcpyAsync(part.data, own.data(), part.bytes(), cudaMemcpyHostToDevice, m_stream),
            "copying the results");
  check(ncclAllGather(part.data, buffer.tensor().data, own.size(), ncclFloat32, m_communicator, m_stream),
        "ncclAllGather");
  std::vector<float> values(all);
  nn::check(
      cudaMemcpyAsync(values.data(), buffer.tensor().data, buffer.tensor().bytes(), cudaMemcpyDeviceToHost, m_stream),
      "copying the results");
  m_stream.synchronize();
  return values;
}

}  // namespace plumb::lessons
