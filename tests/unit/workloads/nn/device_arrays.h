// SPDX-License-Identifier: Apache-2.0
// Host values to the device and back, for tests of kernels.
#pragma once
#include <vector>

#include "workloads/nn/error.h"
#include "workloads/nn/memory.h"
#include "workloads/nn/operations.h"
#include "workloads/nn/stream.h"

namespace plumb::test {

class DeviceArrays {
 public:
  nn::Stream& stream() { return m_stream; }
  nn::MemoryLedger& ledger() { return m_ledger; }

  nn::Buffer empty(size_t count, nn::Dtype dtype = nn::Dtype::kFloat32) {
    return {m_ledger, m_stream, nn::Category::kWorkspace, "test", dtype, count};
  }

  nn::Buffer upload(const std::vector<float>& values, nn::Dtype dtype = nn::Dtype::kFloat32) {
    nn::Buffer exact = empty(values.size());
    copy(exact.tensor().data, values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice);
    if (dtype == nn::Dtype::kFloat32) return exact;
    nn::Buffer rounded = empty(values.size(), dtype);
    nn::cast(m_stream, exact, rounded);
    return rounded;
  }

  nn::Buffer upload(const std::vector<int>& values) {
    nn::Buffer made = empty(values.size(), nn::Dtype::kInt32);
    copy(made.tensor().data, values.data(), values.size() * sizeof(int), cudaMemcpyHostToDevice);
    return made;
  }

  std::vector<float> download(const nn::Tensor& tensor) {
    std::vector<float> values(tensor.count);
    if (tensor.dtype == nn::Dtype::kFloat32) {
      copy(values.data(), tensor.data, tensor.bytes(), cudaMemcpyDeviceToHost);
    } else {
      nn::Buffer exact = empty(tensor.count);
      nn::cast(m_stream, tensor, exact);
      copy(values.data(), exact.tensor().data, exact.tensor().bytes(), cudaMemcpyDeviceToHost);
    }
    return values;
  }

  int downloadInt(const nn::Tensor& tensor) {
    int value = 0;
    copy(&value, tensor.data, sizeof value, cudaMemcpyDeviceToHost);
    return value;
  }

  void copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    nn::check(cudaMemcpyAsync(to, from, bytes, kind, m_stream), "copying");
    m_stream.synchronize();
  }

 private:
  nn::MemoryLedger m_ledger;
  nn::Stream m_stream;
};

}  // namespace plumb::test
