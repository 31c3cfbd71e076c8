// SPDX-License-Identifier: Apache-2.0
// libcublas's handle and what its entry points share.
#pragma once
#include <cublas_v2.h>

#include <cstdint>
#include <functional>

// A handle may be used by one thread at a time, as in cuBLAS.
struct cublasContext {
  cudaStream_t stream = nullptr;
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  cublasAtomicsMode_t atomics = CUBLAS_ATOMICS_NOT_ALLOWED;
  int sm_count_target = 0;
};

namespace softcublas {

// One GEMM as an entry point received it.
struct GemmCall {
  const char* name;
  cublasHandle_t handle;
  cublasOperation_t transpose_a, transpose_b;
  int64_t m, n, k;
  const void* alpha;
  const void* a;
  cudaDataType a_type;
  int64_t lda, stride_a;
  const void* b;
  cudaDataType b_type;
  int64_t ldb, stride_b;
  const void* beta;
  void* c;
  cudaDataType c_type;
  int64_t ldc, stride_c;
  int64_t batch;
  cublasComputeType_t compute;
  bool pointer_arrays;
};

// Checks the arguments as cuBLAS does and queues the product.
cublasStatus_t launch(const GemmCall& call);

// Queues body as one kernel of that name over `count` elements; name must be a literal.
cublasStatus_t launch(cublasHandle_t handle, const char* name, int64_t count, std::function<void()> body);

cublasStatus_t statusOf(cudaError_t error);

}  // namespace softcublas
