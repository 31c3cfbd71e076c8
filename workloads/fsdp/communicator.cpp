// SPDX-License-Identifier: Apache-2.0
#include "workloads/fsdp/communicator.h"

#include <cstring>

namespace plumb::fsdp {
namespace {

void check(ncclResult_t code, const char* what) {
  if (code != ncclSuccess) throw nn::DeviceError(std::string(what) + " failed: " + ncclGetErrorString(code));
}

ncclDataType_t dataType(nn::Dtype dtype) {
  switch (dtype) {
    case nn::Dtype::kFloat16:
      return ncclFloat16;
    case nn::Dtype::kBfloat16:
      return ncclBfloat16;
    case nn::Dtype::kInt32:
      return ncclInt32;
    default:
      return ncclFloat32;
  }
}

}  // namespace

Communicator::Communicator(const RankEnvironment& environment)
    : m_rank(environment.rank), m_ranks(environment.worldSize), m_stream(std::make_shared<nn::Stream>()) {
  ncclUniqueId id{};
  if (m_rank == 0) check(ncclGetUniqueId(&id), "ncclGetUniqueId");
  if (m_ranks > 1) {
    const std::string bytes = broadcastFromRankZero(environment, std::string(id.internal, sizeof id.internal));
    std::memcpy(id.internal, bytes.data(), sizeof id.internal);
  }
  check(ncclCommInitRank(&m_communicator, m_ranks, id, m_rank), "ncclCommInitRank");
}

Communicator::Communicator(ncclComm_t communicator, std::shared_ptr<nn::Stream> stream)
    : m_stream(std::move(stream)), m_communicator(communicator) {
  check(ncclCommUserRank(communicator, &m_rank), "ncclCommUserRank");
  check(ncclCommCount(communicator, &m_ranks), "ncclCommCount");
}

std::unique_ptr<Communicator> Communicator::split(int color) const {
  ncclComm_t part = nullptr;
  check(ncclCommSplit(m_communicator, color, m_rank, &part, nullptr), "ncclCommSplit");
  return std::unique_ptr<Communicator>(new Communicator(part, m_stream));
}

Communicator::~Communicator() { ncclCommDestroy(m_communicator); }

void Communicator::allGather(const nn::Tensor& whole) {
  ++m_counts.allGathers;
  const size_t part = whole.count / static_cast<size_t>(m_ranks);
  check(ncclAllGather(whole.slice(part * static_cast<size_t>(m_rank), part).data, whole.data, part,
                      dataType(whole.dtype), m_communicator, stream()),
        "ncclAllGather");
}

void Communicator::reduceScatter(const nn::Tensor& whole, const nn::Tensor& part) {
  ++m_counts.reduceScatters;
  check(ncclReduceScatter(whole.data, part.data, part.count, dataType(whole.dtype), ncclSum, m_communicator, stream()),
        "ncclReduceScatter");
}

void Communicator::allReduce(const nn::Tensor& values) {
  ++m_counts.allReduces;
  check(
      ncclAllReduce(values.data, values.data, values.count, dataType(values.dtype), ncclSum, m_communicator, stream()),
      "ncclAllReduce");
}

namespace {

// Copies within a device need no NCCL, and NCCL allows no send to oneself without a receive.
void copyOwn(const nn::Tensor& from, const nn::Tensor& to, cudaStream_t stream) {
  nn::check(cudaMemcpyAsync(to.data, from.data, from.bytes(), cudaMemcpyDeviceToDevice, stream), "copying a part");
}

}  // namespace

void Communicator::gatherToZero(const nn::Tensor& part, const nn::Tensor& whole, int parts) {
  if (m_rank == 0) copyOwn(part, whole.slice(0, part.count), stream());
  if (parts == 1 || m_rank >= parts) return;
  check(ncclGroupStart(), "ncclGroupStart");
  if (m_rank != 0)
    check(ncclSend(part.data, part.count, dataType(part.dtype), 0, m_communicator, stream()), "ncclSend");
  for (int from = 1; m_rank == 0 && from < parts; ++from)
    check(ncclRecv(whole.slice(part.count * static_cast<size_t>(from), part.count).data, part.count,
                   dataType(part.dtype), from, m_communicator, stream()),
          "ncclRecv");
  check(ncclGroupEnd(), "ncclGroupEnd");
}

void Communicator::scatterFromZero(const nn::Tensor& whole, const nn::Tensor& part, int parts) {
  if (m_rank == 0) copyOwn(whole.slice(0, part.count), part, stream());
  if (m_ranks == 1) return;
  check(ncclGroupStart(), "ncclGroupStart");
  if (m_rank != 0)
    check(ncclRecv(part.data, part.count, dataType(part.dtype), 0, m_communicator, stream()), "ncclRecv");
  for (int to = 1; m_rank == 0 && to < m_ranks; ++to)
    check(ncclSend(whole.slice(part.count * static_cast<size_t>(to % parts), part.count).data, part.count,
                   dataType(part.dtype), to, m_communicator, stream()),
          "ncclSend");
  check(ncclGroupEnd(), "ncclGroupEnd");
}

}  // namespace plumb::fsdp
