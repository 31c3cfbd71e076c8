// SPDX-License-Identifier: Apache-2.0
// Matrices of every type, and the plain triple loop to compare with.
#pragma once
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <random>
#include <vector>

namespace softcuda_test {

inline size_t bytesOf(cudaDataType type) { return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2; }

// Numbers in a type's own format, on the device.
class Array {
 public:
  Array(cudaDataType type, size_t count) : m_type(type), m_count(count) {
    cudaMalloc(&m_data, count * bytesOf(type) + 64);
  }
  Array(cudaDataType type, const std::vector<double>& values) : Array(type, values.size()) {
    for (size_t i = 0; i < values.size(); ++i) {
      set(i, values[i]);
    }
  }
  Array(cudaDataType type, std::initializer_list<double> values) : Array(type, std::vector<double>(values)) {}
  ~Array() { cudaFree(m_data); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  void* data() const { return m_data; }
  size_t size() const { return m_count; }
  cudaDataType type() const { return m_type; }
  double get(size_t i) const {
    switch (m_type) {
      case CUDA_R_16F:
        return static_cast<double>(__half2float(static_cast<const __half*>(m_data)[i]));
      case CUDA_R_16BF:
        return static_cast<double>(__bfloat162float(static_cast<const __nv_bfloat16*>(m_data)[i]));
      case CUDA_R_32F:
        return static_cast<double>(static_cast<const float*>(m_data)[i]);
      default:
        return static_cast<const double*>(m_data)[i];
    }
  }
  void set(size_t i, double value) {
    switch (m_type) {
      case CUDA_R_16F:
        static_cast<__half*>(m_data)[i] = __float2half_rn(static_cast<float>(value));
        break;
      case CUDA_R_16BF:
        static_cast<__nv_bfloat16*>(m_data)[i] = __float2bfloat16_rn(static_cast<float>(value));
        break;
      case CUDA_R_32F:
        static_cast<float*>(m_data)[i] = static_cast<float>(value);
        break;
      default:
        static_cast<double*>(m_data)[i] = value;
        break;
    }
  }

 private:
  void* m_data = nullptr;
  cudaDataType m_type;
  size_t m_count;
};

// Small whole numbers: their sums of products are exact in fp32, so results must match to the last bit.
inline std::vector<double> wholeNumbers(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> distribution(-4, 4);
  std::vector<double> values(count);
  for (double& value : values) {
    value = distribution(random);
  }
  return values;
}

struct Shape {
  bool ta, tb;
  int m, n, k;
  int lda, ldb, ldc;
};
inline Shape shape(bool ta, bool tb, int m, int n, int k, int padding = 0) {
  return {ta, tb, m, n, k, (ta ? k : m) + padding, (tb ? n : k) + padding, m + padding};
}
inline size_t sizeA(const Shape& s) { return static_cast<size_t>(s.lda) * static_cast<size_t>(s.ta ? s.m : s.k); }
inline size_t sizeB(const Shape& s) { return static_cast<size_t>(s.ldb) * static_cast<size_t>(s.tb ? s.k : s.n); }
inline size_t sizeC(const Shape& s) { return static_cast<size_t>(s.ldc) * static_cast<size_t>(s.n); }

inline double dotProduct(const Shape& s, const Array& a, const Array& b, int i, int j, size_t a0 = 0, size_t b0 = 0) {
  double sum = 0;
  for (int l = 0; l < s.k; ++l) {
    const auto ai = static_cast<size_t>(s.ta ? i * s.lda + l : l * s.lda + i);
    const auto bi = static_cast<size_t>(s.tb ? l * s.ldb + j : j * s.ldb + l);
    sum += a.get(a0 + ai) * b.get(b0 + bi);
  }
  return sum;
}

inline cublasOperation_t operation(bool transpose) { return transpose ? CUBLAS_OP_T : CUBLAS_OP_N; }

// A handle with a stream of its own.
struct Cublas {
  Cublas() {
    cublasCreate(&handle);
    cudaStreamCreate(&stream);
    cublasSetStream(handle, stream);
  }
  ~Cublas() {
    cublasDestroy(handle);
    cudaStreamDestroy(stream);
  }
  void wait() const { cudaStreamSynchronize(stream); }
  cublasHandle_t handle = nullptr;
  cudaStream_t stream = nullptr;
};

}  // namespace softcuda_test
