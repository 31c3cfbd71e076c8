// SPDX-License-Identifier: Apache-2.0
// Matrix products through cuBLAS on row-major matrices.
#pragma once
#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include "workloads/nn/memory.h"
#include "workloads/nn/tensor.h"

namespace plumb::nn {

// How fp32 operands are multiplied; 16-bit operands always go to the matrix units with fp32 accumulation.
enum class Float32Multiply { kFloat32, kTensorFloat32 };

// A row-major operand: rows follow each other at a distance of stride elements; transposed means that the product uses
// the transpose of what lies in memory.
struct Matrix {
  Tensor tensor;
  int stride;
  bool transposed = false;
};

// Not thread-safe. The ledger and the stream must outlive it.
class Gemm {
 public:
  Gemm(MemoryLedger& ledger, cudaStream_t stream, Float32Multiply multiply = Float32Multiply::kFloat32);
  ~Gemm();
  Gemm(const Gemm&) = delete;
  Gemm& operator=(const Gemm&) = delete;

  // What each takes as scratch for cuBLAS, so that cuBLAS takes none unnamed: 0 on the software device, which needs
  // none.
  static size_t workspaceBytes();

  // c[m][n] = alpha * a[m][k] * b[k][n] (+ c if accumulate). a and b have one dtype; c has it too or is fp32.
  void multiply(int m, int n, int k, const Matrix& a, const Matrix& b, const Matrix& c, float alpha = 1.0f,
                bool accumulate = false);
  // The same for count products whose operands lie at fixed distances (elements).
  void multiplyBatch(int m, int n, int k, const Matrix& a, long long aDistance, const Matrix& b, long long bDistance,
                     const Matrix& c, long long cDistance, int count, float alpha = 1.0f);

 private:
  cublasComputeType_t computeType(Dtype dtype) const;

  cublasHandle_t m_handle = nullptr;
  Buffer m_workspace;
  Float32Multiply m_multiply;
};

}  // namespace plumb::nn
