// SPDX-License-Identifier: Apache-2.0
// libcublas: the GEMM entry points, all of them one GemmCall.
#include <cuda_fp16.h>

#include <algorithm>
#include <climits>
#include <string>

#include "workloads/softcuda/cublas/arithmetic.h"
#include "workloads/softcuda/cublas/handle.h"
#include "workloads/softcuda/unsupported.h"

namespace softcublas {
namespace {

bool validOperation(cublasOperation_t operation) {
  return operation == CUBLAS_OP_N || operation == CUBLAS_OP_T || operation == CUBLAS_OP_C;
}

bool validShape(const GemmCall& call) {
  if (call.m < 0 || call.n < 0 || call.k < 0 || call.batch < 0 || !validOperation(call.transpose_a) ||
      !validOperation(call.transpose_b)) {
    return false;
  }
  const int64_t a_rows = call.transpose_a == CUBLAS_OP_N ? call.m : call.k;
  const int64_t b_rows = call.transpose_b == CUBLAS_OP_N ? call.k : call.n;
  return call.lda >= std::max<int64_t>(1, a_rows) && call.ldb >= std::max<int64_t>(1, b_rows) &&
         call.ldc >= std::max<int64_t>(1, call.m);
}

}  // namespace

cublasStatus_t launch(const GemmCall& call) {
  if (!call.handle) {
    return CUBLAS_STATUS_NOT_INITIALIZED;
  }
  if (!validShape(call) || !call.alpha || !call.beta) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const auto arithmetic = arithmeticOf(call.compute, call.handle->math);
  const auto ab = elementOf(call.a_type);
  const auto c = elementOf(call.c_type);
  if (!arithmetic || !ab || !c || call.a_type != call.b_type || !supported(*arithmetic, *ab, *c)) {
    const std::string what = "types A " + std::to_string(call.a_type) + ", B " + std::to_string(call.b_type) + ", C " +
                             std::to_string(call.c_type) + ", compute type " + std::to_string(call.compute);
    softcuda::reportUnsupported(call.name, what.c_str());
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  if (std::max({call.m, call.n, call.k, call.lda, call.ldb, call.ldc, call.batch}) > INT_MAX) {
    softcuda::reportUnsupported(call.name, "a dimension above 2^31 - 1");
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  if (call.m == 0 || call.n == 0 || call.batch == 0) {
    return CUBLAS_STATUS_SUCCESS;
  }
  if (!call.c || (call.k > 0 && (!call.a || !call.b))) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  Gemm gemm;
  gemm.transpose_a = call.transpose_a != CUBLAS_OP_N;
  gemm.transpose_b = call.transpose_b != CUBLAS_OP_N;
  gemm.m = call.m;
  gemm.n = call.n;
  gemm.k = call.k;
  gemm.ab_type = *ab;
  gemm.c_type = *c;
  gemm.compute = computeFor(*arithmetic, *ab);
  gemm.a = call.a;
  gemm.b = call.b;
  gemm.c = call.c;
  gemm.d = call.c;
  gemm.lda = call.lda;
  gemm.ldb = call.ldb;
  gemm.ldc = gemm.ldd = call.ldc;
  gemm.stride_a = call.stride_a;
  gemm.stride_b = call.stride_b;
  gemm.stride_c = gemm.stride_d = call.stride_c;
  gemm.batch = call.batch;
  gemm.pointer_arrays = call.pointer_arrays;
  gemm.scale_type = arithmetic->scale;
  if (call.handle->pointer_mode == CUBLAS_POINTER_MODE_HOST) {
    gemm.alpha = scalarAt(call.alpha, arithmetic->scale);
    gemm.beta = scalarAt(call.beta, arithmetic->scale);
  } else {
    gemm.alpha_device = call.alpha;
    gemm.beta_device = call.beta;
  }
  return statusOf(softcublas_gemm(call.handle->stream, &gemm));
}

}  // namespace softcublas

using softcublas::GemmCall;
using softcublas::launch;

// Each entry point exists with 32-bit and with 64-bit sizes.
#define TYPED_GEMM(NAME, INT, T, TYPE, COMPUTE)                                                                 \
  cublasStatus_t NAME(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, INT m, INT n, INT k,   \
                      const T* alpha, const T* a, INT lda, const T* b, INT ldb, const T* beta, T* c, INT ldc) { \
    return launch(GemmCall{#NAME, handle, ta,  tb, m,    n, k,    alpha, a, TYPE, lda,     0,                   \
                           b,     TYPE,   ldb, 0,  beta, c, TYPE, ldc,   0, 1,    COMPUTE, false});             \
  }
#define TYPED_GEMM_STRIDED(NAME, INT, T, TYPE, COMPUTE)                                                            \
  cublasStatus_t NAME(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, INT m, INT n, INT k,      \
                      const T* alpha, const T* a, INT lda, long long stride_a, const T* b, INT ldb,                \
                      long long stride_b, const T* beta, T* c, INT ldc, long long stride_c, INT batch) {           \
    return launch(GemmCall{#NAME, handle, ta,  tb,       m,    n, k,    alpha, a,        TYPE,  lda,     stride_a, \
                           b,     TYPE,   ldb, stride_b, beta, c, TYPE, ldc,   stride_c, batch, COMPUTE, false});  \
  }
#define TYPED_GEMM_BATCHED(NAME, INT, T, TYPE, COMPUTE)                                                        \
  cublasStatus_t NAME(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, INT m, INT n, INT k,  \
                      const T* alpha, const T* const a[], INT lda, const T* const b[], INT ldb, const T* beta, \
                      T* const c[], INT ldc, INT batch) {                                                      \
    return launch(GemmCall{#NAME, handle, ta, tb,    m,       n,   k, alpha, a,                                \
                           TYPE,  lda,    0,  b,     TYPE,    ldb, 0, beta,  const_cast<T**>(c),               \
                           TYPE,  ldc,    0,  batch, COMPUTE, true});                                          \
  }
#define TYPED(LETTER, INT, SUFFIX, V2, T, TYPE, COMPUTE)                                \
  TYPED_GEMM(cublas##LETTER##gemm##V2##SUFFIX, INT, T, TYPE, COMPUTE)                   \
  TYPED_GEMM_STRIDED(cublas##LETTER##gemmStridedBatched##SUFFIX, INT, T, TYPE, COMPUTE) \
  TYPED_GEMM_BATCHED(cublas##LETTER##gemmBatched##SUFFIX, INT, T, TYPE, COMPUTE)

#define GEMM_EX(NAME, INT)                                                                                    \
  cublasStatus_t NAME(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, INT m, INT n, INT k, \
                      const void* alpha, const void* a, cudaDataType a_type, INT lda, const void* b,          \
                      cudaDataType b_type, INT ldb, const void* beta, void* c, cudaDataType c_type, INT ldc,  \
                      cublasComputeType_t compute, cublasGemmAlgo_t) {                                        \
    return launch(GemmCall{#NAME, handle, ta,  tb, m,    n, k,      alpha, a, a_type, lda,     0,             \
                           b,     b_type, ldb, 0,  beta, c, c_type, ldc,   0, 1,      compute, false});       \
  }
#define GEMM_STRIDED_EX(NAME, INT)                                                                                    \
  cublasStatus_t NAME(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, INT m, INT n, INT k,         \
                      const void* alpha, const void* a, cudaDataType a_type, INT lda, long long stride_a,             \
                      const void* b, cudaDataType b_type, INT ldb, long long stride_b, const void* beta, void* c,     \
                      cudaDataType c_type, INT ldc, long long stride_c, INT batch, cublasComputeType_t compute,       \
                      cublasGemmAlgo_t) {                                                                             \
    return launch(GemmCall{#NAME, handle, ta,  tb,       m,    n, k,      alpha, a,        a_type, lda,     stride_a, \
                           b,     b_type, ldb, stride_b, beta, c, c_type, ldc,   stride_c, batch,  compute, false});  \
  }
#define GEMM_BATCHED_EX(NAME, INT)                                                                                   \
  cublasStatus_t NAME(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, INT m, INT n, INT k,        \
                      const void* alpha, const void* const a[], cudaDataType a_type, INT lda, const void* const b[], \
                      cudaDataType b_type, INT ldb, const void* beta, void* const c[], cudaDataType c_type, INT ldc, \
                      INT batch, cublasComputeType_t compute, cublasGemmAlgo_t) {                                    \
    return launch(GemmCall{#NAME,  handle, ta, tb,    m,       n,   k, alpha, a,                                     \
                           a_type, lda,    0,  b,     b_type,  ldb, 0, beta,  const_cast<void**>(c),                 \
                           c_type, ldc,    0,  batch, compute, true});                                               \
  }
#define SGEMM_EX(NAME, INT)                                                                                     \
  cublasStatus_t NAME(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, INT m, INT n, INT k,   \
                      const float* alpha, const void* a, cudaDataType a_type, INT lda, const void* b,           \
                      cudaDataType b_type, INT ldb, const float* beta, void* c, cudaDataType c_type, INT ldc) { \
    return launch(GemmCall{#NAME,                                                                               \
                           handle,                                                                              \
                           ta,                                                                                  \
                           tb,                                                                                  \
                           m,                                                                                   \
                           n,                                                                                   \
                           k,                                                                                   \
                           alpha,                                                                               \
                           a,                                                                                   \
                           a_type,                                                                              \
                           lda,                                                                                 \
                           0,                                                                                   \
                           b,                                                                                   \
                           b_type,                                                                              \
                           ldb,                                                                                 \
                           0,                                                                                   \
                           beta,                                                                                \
                           c,                                                                                   \
                           c_type,                                                                              \
                           ldc,                                                                                 \
                           0,                                                                                   \
                           1,                                                                                   \
                           CUBLAS_COMPUTE_32F,                                                                  \
                           false});                                                                             \
  }
#define ALL(INT, SUFFIX)                                             \
  TYPED(S, INT, SUFFIX, _v2, float, CUDA_R_32F, CUBLAS_COMPUTE_32F)  \
  TYPED(D, INT, SUFFIX, _v2, double, CUDA_R_64F, CUBLAS_COMPUTE_64F) \
  TYPED(H, INT, SUFFIX, , __half, CUDA_R_16F, CUBLAS_COMPUTE_16F)    \
  GEMM_EX(cublasGemmEx##SUFFIX, INT)                                 \
  GEMM_STRIDED_EX(cublasGemmStridedBatchedEx##SUFFIX, INT)           \
  GEMM_BATCHED_EX(cublasGemmBatchedEx##SUFFIX, INT)                  \
  SGEMM_EX(cublasSgemmEx##SUFFIX, INT)

extern "C" {
ALL(int, )
ALL(int64_t, _64)
}  // extern "C"
