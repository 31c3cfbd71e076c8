// SPDX-License-Identifier: Apache-2.0
// The one GEMM of the software device, behind every GEMM entry point of libcublas and libcublasLt:
//   D = epilogue(alpha · op(A) · op(B) + beta · C)
// Operands are rounded as the compute type says, products accumulate in fp32 (fp64 for fp64), and the result is rounded
// once, to nearest even, into D's type. Lives in libcublasLt.so.13; libcublas.so.13 reaches it through softcublas_gemm.
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>

namespace softcublas {

enum class Element : uint8_t { kFp16, kBf16, kFp32, kFp64 };
enum class Compute : uint8_t {
  kFp32,
  kTf32,
  kFp16,
  kBf16,
  kFp64
};  // how fp32 operands are rounded before they multiply
enum class Activation : uint8_t { kNone, kRelu, kGelu };

struct Gemm {
  bool transpose_a = false;
  bool transpose_b = false;
  int64_t m = 0, n = 0, k = 0;
  Element ab_type = Element::kFp32;
  Element c_type = Element::kFp32;  // of C and D
  Compute compute = Compute::kFp32;

  // Column-major. With pointer_arrays these are device arrays of `batch` pointers; else matrix i is at i · stride
  // elements.
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;
  void* d = nullptr;
  int64_t lda = 1, ldb = 1, ldc = 1, ldd = 1;
  int64_t stride_a = 0, stride_b = 0, stride_c = 0, stride_d = 0;
  int64_t batch = 1;
  bool pointer_arrays = false;

  // Scalars: values, or where a pointer is set, read from the device when the kernel runs (type scale_type).
  double alpha = 1, beta = 0;
  const void* alpha_device = nullptr;
  const void* beta_device = nullptr;
  Element scale_type = Element::kFp32;

  // Epilogue, in this order: bias (a vector of m), activation.
  const void* bias = nullptr;
  Element bias_type = Element::kFp32;
  int64_t bias_stride = 0;  // elements from one batch entry's bias to the next
  Activation activation = Activation::kNone;
};

// Computes on the calling thread, with help of up to `threads` - 1 others.
void runGemm(const Gemm& gemm, int threads);

// "softgemm_<operands>_<C>_<accumulator>_<transposes>[_epilogue]"; valid for the life of the process.
const char* kernelName(const Gemm& gemm);

}  // namespace softcublas

// Queues the GEMM on the stream as one kernel. gemm is copied.
extern "C" cudaError_t softcublas_gemm(cudaStream_t stream, const softcublas::Gemm* gemm);
