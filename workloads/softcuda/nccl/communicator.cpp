// SPDX-License-Identifier: Apache-2.0
#include "workloads/softcuda/nccl/communicator.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace softnccl {
namespace {

thread_local std::string t_last_error;

}  // namespace

Communicator::Communicator(std::unique_ptr<Region> region, const RegionId& id, std::string name)
    : m_region(std::move(region)), m_id(id), m_name(std::move(name)), m_transfer(*m_region) {
  cudaGetDevice(&m_device);
}

Communicator::~Communicator() { close(); }

void Communicator::close() {
  m_proxy.drain();
  m_profiler.reset();
  if (m_event) {
    cudaEventDestroy(m_event);
    m_event = nullptr;
  }
}

void Communicator::awaitAll() {
  m_region->wait([this] { return m_region->header().joined.load() == m_region->ranks(); });
  Region::closeId(m_id);  // all have it mapped; does nothing in the other processes
  m_profiler = std::make_unique<Profiler>(m_id.hash, m_name.empty() ? nullptr : m_name.c_str(), ranks(), rank());
}

uint64_t Communicator::takeTurn() {
  const std::lock_guard lock(m_mutex);
  return m_next_turn++;
}

bool Communicator::begin(uint64_t turn) {
  std::unique_lock lock(m_mutex);
  m_turned.wait(lock, [&] { return (m_running == 0 && (turn == kNoTurn || turn == m_turn)) || m_region->aborted(); });
  ++m_running;
  return !m_region->aborted();
}

void Communicator::end(uint64_t turn) {
  {
    const std::lock_guard lock(m_mutex);
    --m_running;
    if (turn != kNoTurn) {
      advance(turn);
    }
  }
  m_turned.notify_all();
}

void Communicator::skip(uint64_t turn) {
  {
    const std::lock_guard lock(m_mutex);
    advance(turn);
  }
  m_turned.notify_all();
}

void Communicator::advance(uint64_t turn) {
  m_ended.insert(turn);
  while (m_ended.erase(m_turn) != 0) {
    ++m_turn;
  }
}

void Communicator::awaitIdle() {
  std::unique_lock lock(m_mutex);
  m_turned.wait(lock, [this] { return (m_turn == m_next_turn && m_running == 0) || m_region->aborted(); });
}

void Communicator::awaitStopped() {
  std::unique_lock lock(m_mutex);
  m_turned.wait(lock, [this] { return m_running == 0; });
}

void Communicator::abort() {
  {
    const std::lock_guard lock(m_mutex);
    m_region->abort();
  }
  m_turned.notify_all();
}

cudaError_t Communicator::orderAfterLast(cudaStream_t stream) {
  const std::lock_guard lock(m_mutex);
  cudaError_t error = cudaSuccess;
  if (m_launched && m_last_stream != stream) {
    if (!m_event) {
      error = cudaEventCreateWithFlags(&m_event, cudaEventDisableTiming);
    }
    // The earlier stream may have been destroyed; its kernel then still takes its turn first.
    if (error == cudaSuccess && cudaEventRecord(m_event, m_last_stream) == cudaSuccess) {
      error = cudaStreamWaitEvent(stream, m_event, 0);
    }
  }
  m_last_stream = stream;
  m_launched = true;
  return error;
}

ncclRedOp_t Communicator::addOperation(const Operation& operation, const void* device_scalar, ncclDataType_t type) {
  const std::lock_guard lock(m_mutex);
  const int op = m_next_operation++;
  m_operations[op] = {operation, device_scalar, type};
  return static_cast<ncclRedOp_t>(op);
}

bool Communicator::removeOperation(ncclRedOp_t op) {
  const std::lock_guard lock(m_mutex);
  return m_operations.erase(op) != 0;
}

bool Communicator::resolve(ncclRedOp_t op, Operation* operation) {
  if (op >= 0 && op < ncclNumOps) {
    *operation = Operation{op, false, 1};
    return true;
  }
  const std::lock_guard lock(m_mutex);
  const auto found = m_operations.find(op);
  if (found == m_operations.end()) {
    return false;
  }
  *operation = found->second.operation;
  if (found->second.device_scalar) {
    operation->scalar = readScalar(found->second.device_scalar, found->second.type);
  }
  return true;
}

double readScalar(const void* scalar, ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
      return static_cast<double>(*static_cast<const int8_t*>(scalar));
    case ncclUint8:
      return static_cast<double>(*static_cast<const uint8_t*>(scalar));
    case ncclInt32:
      return static_cast<double>(*static_cast<const int32_t*>(scalar));
    case ncclUint32:
      return static_cast<double>(*static_cast<const uint32_t*>(scalar));
    case ncclInt64:
      return static_cast<double>(*static_cast<const int64_t*>(scalar));
    case ncclUint64:
      return static_cast<double>(*static_cast<const uint64_t*>(scalar));
    case ncclFloat16:
      return static_cast<double>(__half2float(*static_cast<const __half*>(scalar)));
    case ncclBfloat16:
      return static_cast<double>(__bfloat162float(*static_cast<const __nv_bfloat16*>(scalar)));
    case ncclFloat32:
      return static_cast<double>(*static_cast<const float*>(scalar));
    case ncclFloat8e4m3:
      return static_cast<double>(static_cast<float>(*static_cast<const __nv_fp8_e4m3*>(scalar)));
    case ncclFloat8e5m2:
      return static_cast<double>(static_cast<float>(*static_cast<const __nv_fp8_e5m2*>(scalar)));
    default:
      return *static_cast<const double*>(scalar);
  }
}

ncclResult_t fail(ncclResult_t result, const char* call, const std::string& what) {
  t_last_error = std::string(call) + ": " + what;
  if (const char* const level = std::getenv("NCCL_DEBUG"); level && std::strcmp(level, "VERSION") != 0) {
    std::fprintf(stderr, "NCCL WARN %s\n", t_last_error.c_str());
  }
  return result;
}

const char* lastError() { return t_last_error.c_str(); }

}  // namespace softnccl
