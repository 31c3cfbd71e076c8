// SPDX-License-Identifier: Apache-2.0
#include "workloads/nn/memory.h"

#include <algorithm>
#include <numeric>

#include "workloads/nn/error.h"
#include "workloads/nn/nvtx.h"

namespace plumb::nn {

std::string_view categoryName(Category category) {
  static constexpr std::array<std::string_view, kCategoryCount> kNames = {
      "parameter", "gradient", "optimizer_state", "activation", "input", "communication_buffer", "workspace"};
  return kNames[static_cast<size_t>(category)];
}

size_t CategoryBytes::total() const { return std::accumulate(bytes.begin(), bytes.end(), size_t{0}); }

void MemoryLedger::add(Category category, size_t bytes) {
  m_live[category] += bytes;
  m_peaks[category] = std::max(m_peaks[category], m_live[category]);
  if (m_live.total() > m_atPeak.total()) m_atPeak = m_live;
}

void MemoryLedger::remove(Category category, size_t bytes) { m_live[category] -= bytes; }

Buffer::Buffer(MemoryLedger& ledger, cudaStream_t stream, Category category, const std::string& name, Dtype dtype,
               size_t count)
    : m_ledger(&ledger), m_stream(stream), m_category(category) {
  const Tensor tensor{nullptr, dtype, count};
  const std::string fullName = std::string(categoryName(category)) + "/" + name;
  const std::string what = "allocating " + std::to_string(tensor.bytes()) + " bytes for " + fullName;
  void* data = nullptr;
  check(cudaMallocAsync(&data, tensor.bytes(), stream), what.c_str());
  m_tensor = {data, dtype, count};
  ledger.add(category, tensor.bytes());
  nameMemory(data, tensor.bytes(), fullName);
}

void Buffer::freeOn(cudaStream_t stream) noexcept {
  if (!m_tensor.data) return;
  unnameMemory(m_tensor.data);
  cudaFreeAsync(m_tensor.data, stream);
  m_ledger->remove(m_category, m_tensor.bytes());
  m_tensor = {};
}

void Buffer::swap(Buffer& other) noexcept {
  std::swap(m_ledger, other.m_ledger);
  std::swap(m_stream, other.m_stream);
  std::swap(m_category, other.m_category);
  std::swap(m_tensor, other.m_tensor);
}

}  // namespace plumb::nn
