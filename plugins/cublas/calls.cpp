// SPDX-License-Identifier: Apache-2.0
#include "plugins/cublas/calls.h"

#include <cstring>

#include "plugins/cublas/cublas_table.h"
#include "plugins/cublas/lane.h"
#include "plugins/cublas/lt_shape.h"

namespace plumb::cublas {
namespace {

using abi::ComputeType;
using abi::DataType;
using abi::Handle;
using abi::Operation;
using abi::Status;

constexpr Status kNotInitialized = 1;  // CUBLAS_STATUS_NOT_INITIALIZED: the library is not there

// The handle's math mode, 0 if it cannot be read.
int mathMode(Real& real, Handle handle) noexcept {
  static constinit std::atomic<void*> s_getter{nullptr};
  const auto getter = reinterpret_cast<abi::GetMathMode>(real.sibling(lane().host, "cublasGetMathMode", s_getter));
  int mode = 0;
  return getter && getter(handle, &mode) == 0 ? mode : 0;
}

// Calls the function with the arguments it was called with; recorded unless nested. Needs the math mode only where
// float operands leave the choice open.
template <class... Args>
Status callRecorded(Real& real, const char* name, const Gemm& gemm, Handle handle, Args... args) noexcept {
  const auto function = reinterpret_cast<Status (*)(Handle, Args...)>(real.get(lane().host));
  if (!function) {
    return kNotInitialized;
  }
  if (isNested()) {
    return function(handle, args...);
  }
  const bool open = gemm.typeA == abi::kR32F && gemm.compute == abi::kCompute32F;
  const Recording recording(name, gemm, open ? mathMode(real, handle) : 0);
  return function(handle, args...);
}

template <class Int>
Gemm makeGemm(Int m, Int n, Int k, Int batch, Operation ta, Operation tb, DataType a, DataType b, DataType c,
              ComputeType compute) noexcept {
  return {m, n, k, batch, ta, tb, a, b, c, compute};
}

#define PLUMB_REAL(name) \
  static constinit Real s_real { #name }

// cublas<t>gemm: all operands of one type.
#define PLUMB_TYPED_GEMM(name, Int, T, type, compute)                                                                \
  Status name(Handle handle, Operation ta, Operation tb, Int m, Int n, Int k, const T* alpha, const T* a, Int lda,   \
              const T* b, Int ldb, const T* beta, T* c, Int ldc) noexcept {                                          \
    PLUMB_REAL(name);                                                                                                \
    return callRecorded(s_real, #name, makeGemm<Int>(m, n, k, 1, ta, tb, type, type, type, compute), handle, ta, tb, \
                        m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);                                               \
  }
PLUMB_TYPED_GEMM(cublasSgemm_v2, int, float, abi::kR32F, abi::kCompute32F)
PLUMB_TYPED_GEMM(cublasSgemm_v2_64, int64_t, float, abi::kR32F, abi::kCompute32F)
PLUMB_TYPED_GEMM(cublasDgemm_v2, int, double, abi::kR64F, abi::kCompute64F)
PLUMB_TYPED_GEMM(cublasDgemm_v2_64, int64_t, double, abi::kR64F, abi::kCompute64F)
PLUMB_TYPED_GEMM(cublasHgemm, int, uint16_t, abi::kR16F, abi::kCompute16F)
#undef PLUMB_TYPED_GEMM

#define PLUMB_GEMM_EX(name, Int)                                                                                    \
  Status name(Handle handle, Operation ta, Operation tb, Int m, Int n, Int k, const void* alpha, const void* a,     \
              DataType typeA, Int lda, const void* b, DataType typeB, Int ldb, const void* beta, void* c,           \
              DataType typeC, Int ldc, ComputeType compute, int algo) noexcept {                                    \
    PLUMB_REAL(name);                                                                                               \
    return callRecorded(s_real, #name, makeGemm<Int>(m, n, k, 1, ta, tb, typeA, typeB, typeC, compute), handle, ta, \
                        tb, m, n, k, alpha, a, typeA, lda, b, typeB, ldb, beta, c, typeC, ldc, compute, algo);      \
  }
PLUMB_GEMM_EX(cublasGemmEx, int)
PLUMB_GEMM_EX(cublasGemmEx_64, int64_t)
#undef PLUMB_GEMM_EX

#define PLUMB_GEMM_STRIDED_BATCHED_EX(name, Int)                                                                     \
  Status name(Handle handle, Operation ta, Operation tb, Int m, Int n, Int k, const void* alpha, const void* a,      \
              DataType typeA, Int lda, long long strideA, const void* b, DataType typeB, Int ldb, long long strideB, \
              const void* beta, void* c, DataType typeC, Int ldc, long long strideC, Int batch, ComputeType compute, \
              int algo) noexcept {                                                                                   \
    PLUMB_REAL(name);                                                                                                \
    return callRecorded(s_real, #name, makeGemm<Int>(m, n, k, batch, ta, tb, typeA, typeB, typeC, compute), handle,  \
                        ta, tb, m, n, k, alpha, a, typeA, lda, strideA, b, typeB, ldb, strideB, beta, c, typeC, ldc, \
                        strideC, batch, compute, algo);                                                              \
  }
PLUMB_GEMM_STRIDED_BATCHED_EX(cublasGemmStridedBatchedEx, int)
PLUMB_GEMM_STRIDED_BATCHED_EX(cublasGemmStridedBatchedEx_64, int64_t)
#undef PLUMB_GEMM_STRIDED_BATCHED_EX

Status cublasSgemmStridedBatched(Handle handle, Operation ta, Operation tb, int m, int n, int k, const float* alpha,
                                 const float* a, int lda, long long strideA, const float* b, int ldb, long long strideB,
                                 const float* beta, float* c, int ldc, long long strideC, int batch) noexcept {
  PLUMB_REAL(cublasSgemmStridedBatched);
  const Gemm gemm = makeGemm(m, n, k, batch, ta, tb, abi::kR32F, abi::kR32F, abi::kR32F, abi::kCompute32F);
  return callRecorded(s_real, "cublasSgemmStridedBatched", gemm, handle, ta, tb, m, n, k, alpha, a, lda, strideA, b,
                      ldb, strideB, beta, c, ldc, strideC, batch);
}

Status cublasGemmBatchedEx(Handle handle, Operation ta, Operation tb, int m, int n, int k, const void* alpha,
                           const void* const* a, DataType typeA, int lda, const void* const* b, DataType typeB, int ldb,
                           const void* beta, void* const* c, DataType typeC, int ldc, int batch, ComputeType compute,
                           int algo) noexcept {
  PLUMB_REAL(cublasGemmBatchedEx);
  const Gemm gemm = makeGemm(m, n, k, batch, ta, tb, typeA, typeB, typeC, compute);
  return callRecorded(s_real, "cublasGemmBatchedEx", gemm, handle, ta, tb, m, n, k, alpha, a, typeA, lda, b, typeB, ldb,
                      beta, c, typeC, ldc, batch, compute, algo);
}

LtGetters ltGetters(Real& real) noexcept {
  static constinit std::atomic<void*> s_layout{nullptr};
  static constinit std::atomic<void*> s_desc{nullptr};
  return {
      reinterpret_cast<abi::LtGetAttribute>(real.sibling(lane().host, "cublasLtMatrixLayoutGetAttribute", s_layout)),
      reinterpret_cast<abi::LtGetAttribute>(real.sibling(lane().host, "cublasLtMatmulDescGetAttribute", s_desc))};
}

Status cublasLtMatmul(Handle handle, void* desc, const void* alpha, const void* a, void* layoutA, const void* b,
                      void* layoutB, const void* beta, const void* c, void* layoutC, void* d, void* layoutD,
                      const void* algo, void* workspace, size_t workspaceBytes, void* stream) noexcept {
  PLUMB_REAL(cublasLtMatmul);
  using Function = Status (*)(Handle, void*, const void*, const void*, void*, const void*, void*, const void*,
                              const void*, void*, void*, void*, const void*, void*, size_t, void*);
  const auto function = reinterpret_cast<Function>(s_real.get(lane().host));
  if (!function) {
    return kNotInitialized;
  }
  Gemm gemm;
  if (isNested() || !readLtShape(ltGetters(s_real), desc, layoutA, layoutB, layoutD, gemm)) {
    return function(handle, desc, alpha, a, layoutA, b, layoutB, beta, c, layoutC, d, layoutD, algo, workspace,
                    workspaceBytes, stream);
  }
  const Recording recording("cublasLtMatmul", gemm, 0);
  return function(handle, desc, alpha, a, layoutA, b, layoutB, beta, c, layoutC, d, layoutD, algo, workspace,
                  workspaceBytes, stream);
}

struct Replacement {
  const char* name;
  void* function;
};

}  // namespace

void* replacementOf(const char* name) noexcept {
#define PLUMB_REPLACEMENT(function) \
  { #function, reinterpret_cast < void*>(function) }
  const Replacement replacements[] = {
      PLUMB_REPLACEMENT(cublasSgemm_v2),
      PLUMB_REPLACEMENT(cublasSgemm_v2_64),
      PLUMB_REPLACEMENT(cublasDgemm_v2),
      PLUMB_REPLACEMENT(cublasDgemm_v2_64),
      PLUMB_REPLACEMENT(cublasHgemm),
      PLUMB_REPLACEMENT(cublasGemmEx),
      PLUMB_REPLACEMENT(cublasGemmEx_64),
      PLUMB_REPLACEMENT(cublasSgemmStridedBatched),
      PLUMB_REPLACEMENT(cublasGemmStridedBatchedEx),
      PLUMB_REPLACEMENT(cublasGemmStridedBatchedEx_64),
      PLUMB_REPLACEMENT(cublasGemmBatchedEx),
      PLUMB_REPLACEMENT(cublasLtMatmul),
  };
#undef PLUMB_REPLACEMENT
  for (const Replacement& replacement : replacements) {
    if (strcmp(replacement.name, name) == 0) {
      return replacement.function;
    }
  }
  return nullptr;
}

}  // namespace plumb::cublas
