// SPDX-License-Identifier: Apache-2.0
// Device memory that knows its category: every tensor is one allocation of exactly its size, named for the profiler and
// counted in a ledger.
#pragma once
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <cuda_runtime_api.h>

#include "workloads/nn/tensor.h"

namespace plumb::nn {

enum class Category { kParameter, kGradient, kOptimizerState, kActivation, kInput, kCommunicationBuffer, kWorkspace };
inline constexpr size_t kCategoryCount = 7;
// The trace format's name of the category: "parameter", "optimizer_state" …
std::string_view categoryName(Category category);

// Bytes by category.
struct CategoryBytes {
  std::array<size_t, kCategoryCount> bytes{};

  size_t& operator[](Category category) { return bytes[static_cast<size_t>(category)]; }
  size_t operator[](Category category) const { return bytes[static_cast<size_t>(category)]; }
  size_t total() const;
};

// What is allocated now and was at most, in the order in which the host asked. Not thread-safe: one per training loop.
class MemoryLedger {
 public:
  void add(Category category, size_t bytes);
  void remove(Category category, size_t bytes);

  const CategoryBytes& live() const { return m_live; }
  const CategoryBytes& peaks() const { return m_peaks; }    // each category's own maximum
  const CategoryBytes& atPeak() const { return m_atPeak; }  // what was live when the total was largest

 private:
  CategoryBytes m_live;
  CategoryBytes m_peaks;
  CategoryBytes m_atPeak;
};

// A tensor's device memory. Allocated in the order of its stream and freed in the order of the same stream unless
// freeOn() says otherwise. The ledger and the stream must outlive it.
class Buffer {
 public:
  Buffer() = default;
  // name is the part after the category: "block 3/shard". Throws DeviceError when the device has not enough memory.
  Buffer(MemoryLedger& ledger, cudaStream_t stream, Category category, const std::string& name, Dtype dtype,
         size_t count);
  ~Buffer() { reset(); }
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    if (this != &other) {
      reset();
      swap(other);
    }
    return *this;
  }

  void reset() noexcept { freeOn(m_stream); }
  void freeOn(cudaStream_t stream) noexcept;

  explicit operator bool() const { return m_tensor.data != nullptr; }
  operator const Tensor&() const { return m_tensor; }  // NOLINT: a buffer is used wherever a tensor is
  const Tensor& tensor() const { return m_tensor; }
  template <class T>
  T* as() const {
    return static_cast<T*>(m_tensor.data);
  }

 private:
  void swap(Buffer& other) noexcept;

  MemoryLedger* m_ledger = nullptr;
  cudaStream_t m_stream = nullptr;
  Category m_category = Category::kWorkspace;
  Tensor m_tensor;
};

}  // namespace plumb::nn
