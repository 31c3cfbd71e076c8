// SPDX-License-Identifier: Apache-2.0
#include "workloads/nn/gemm.h"

#include "workloads/nn/error.h"
#include "workloads/nn/operations.h"

namespace plumb::nn {
namespace {

cudaDataType_t dataType(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFloat16:
      return CUDA_R_16F;
    case Dtype::kBfloat16:
      return CUDA_R_16BF;
    default:
      return CUDA_R_32F;
  }
}

cublasOperation_t operation(const Matrix& matrix) { return matrix.transposed ? CUBLAS_OP_T : CUBLAS_OP_N; }

}  // namespace

size_t Gemm::workspaceBytes() { return kernelsAreForGpu() ? size_t{32} << 20 : 0; }

Gemm::Gemm(MemoryLedger& ledger, cudaStream_t stream, Float32Multiply multiply) : m_multiply(multiply) {
  check(cublasCreate(&m_handle), "creating the cuBLAS handle");
  check(cublasSetStream(m_handle, stream), "giving cuBLAS its stream");
  if (workspaceBytes() == 0) return;
  m_workspace =
      Buffer(ledger, stream, Category::kWorkspace, "cublas", Dtype::kFloat32, workspaceBytes() / sizeof(float));
  check(cublasSetWorkspace(m_handle, m_workspace.tensor().data, workspaceBytes()), "giving cuBLAS its workspace");
}

Gemm::~Gemm() { cublasDestroy(m_handle); }

cublasComputeType_t Gemm::computeType(Dtype dtype) const {
  const bool tf32 = dtype == Dtype::kFloat32 && m_multiply == Float32Multiply::kTensorFloat32;
  return tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

// cuBLAS is column-major: what it calls C is our C transposed, so the operands change places.
void Gemm::multiply(int m, int n, int k, const Matrix& a, const Matrix& b, const Matrix& c, float alpha,
                    bool accumulate) {
  const float beta = accumulate ? 1.0f : 0.0f;
  check(cublasGemmEx(m_handle, operation(b), operation(a), n, m, k, &alpha, b.tensor.data, dataType(b.tensor.dtype),
                     b.stride, a.tensor.data, dataType(a.tensor.dtype), a.stride, &beta, c.tensor.data,
                     dataType(c.tensor.dtype), c.stride, computeType(a.tensor.dtype), CUBLAS_GEMM_DEFAULT),
        "cublasGemmEx");
}

void Gemm::multiplyBatch(int m, int n, int k, const Matrix& a, long long aDistance, const Matrix& b,
                         long long bDistance, const Matrix& c, long long cDistance, int count, float alpha) {
  const float beta = 0.0f;
  check(cublasGemmStridedBatchedEx(
            m_handle, operation(b), operation(a), n, m, k, &alpha, b.tensor.data, dataType(b.tensor.dtype), b.stride,
            bDistance, a.tensor.data, dataType(a.tensor.dtype), a.stride, aDistance, &beta, c.tensor.data,
            dataType(c.tensor.dtype), c.stride, cDistance, count, computeType(a.tensor.dtype), CUBLAS_GEMM_DEFAULT),
        "cublasGemmStridedBatchedEx");
}

}  // namespace plumb::nn
