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
    : m_rank(environment.rank), m_ranks(environment.worldSize) {
  ncclUniqueId id{};
  if (m_rank == 0) check(ncclGetUniqueId(&id), "ncclGetUniqueId");
  if (m_ranks > 1) {
    const std::string bytes = broadcastFromRankZero(environment, std::string(id.internal, sizeof id.internal));
    std::memcpy(id.internal, bytes.data(), sizeof id.internal);
  }
  check(ncclCommInitRank(&m_communicator, m_ranks, id, m_rank), "ncclCommInitRank");
}

Communicator::~Communicator() { ncclCommDestroy(m_communicator); }

void Communicator::allGather(const nn::Tensor& whole) {
  const size_t part = whole.count / static_cast<size_t>(m_ranks);
  check(ncclAllGather(whole.slice(part * static_cast<size_t>(m_rank), part).data, whole.data, part,
                      dataType(whole.dtype), m_communicator, m_stream),
        "ncclAllGather");
}

void Communicator::reduceScatter(const nn::Tensor& whole, const nn::Tensor& part) {
  check(ncclReduceScatter(whole.data, part.data, part.count, dataType(whole.dtype), ncclSum, m_communicator, m_stream),
        "ncclReduceScatter");
}

void Communicator::allReduce(const nn::Tensor& values) {
  check(
      ncclAllReduce(values.data, values.data, values.count, dataType(values.dtype), ncclSum, m_communicator, m_stream),
      "ncclAllReduce");
}

}  // namespace plumb::fsdp
