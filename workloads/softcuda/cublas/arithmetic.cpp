// SPDX-License-Identifier: Apache-2.0
#include "workloads/softcuda/cublas/arithmetic.h"

#include <cuda_fp16.h>

#include <cstdlib>

namespace softcublas {
namespace {

// NVIDIA_TF32_OVERRIDE=0 turns TF32 off whatever the program asks for.
bool tf32Allowed() {
  const char* const value = std::getenv("NVIDIA_TF32_OVERRIDE");
  return !value || value[0] != '0';
}

}  // namespace

std::optional<Element> elementOf(cudaDataType type) {
  switch (type) {
    case CUDA_R_16F:
      return Element::kFp16;
    case CUDA_R_16BF:
      return Element::kBf16;
    case CUDA_R_32F:
      return Element::kFp32;
    case CUDA_R_64F:
      return Element::kFp64;
    default:
      return std::nullopt;
  }
}

std::optional<Arithmetic> arithmeticOf(cublasComputeType_t type, cublasMath_t math) {
  switch (type) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
      return Arithmetic{Compute::kFp32, Element::kFp16};
    case CUBLAS_COMPUTE_32F: {
      const auto mode =
          static_cast<cublasMath_t>(static_cast<int>(math) & ~CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
      const bool tf32 = (mode == CUBLAS_TF32_TENSOR_OP_MATH || mode == CUBLAS_TENSOR_OP_MATH) && tf32Allowed();
      return Arithmetic{tf32 ? Compute::kTf32 : Compute::kFp32, Element::kFp32};
    }
    case CUBLAS_COMPUTE_32F_PEDANTIC:
    case CUBLAS_COMPUTE_32F_EMULATED_16BFX9:
      return Arithmetic{Compute::kFp32, Element::kFp32};
    case CUBLAS_COMPUTE_32F_FAST_16F:
      return Arithmetic{Compute::kFp16, Element::kFp32};
    case CUBLAS_COMPUTE_32F_FAST_16BF:
      return Arithmetic{Compute::kBf16, Element::kFp32};
    case CUBLAS_COMPUTE_32F_FAST_TF32:
      return Arithmetic{tf32Allowed() ? Compute::kTf32 : Compute::kFp32, Element::kFp32};
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
    case CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT:
      return Arithmetic{Compute::kFp64, Element::kFp64};
    default:
      return std::nullopt;
  }
}

bool supported(const Arithmetic& arithmetic, Element ab, Element c) {
  if (arithmetic.compute == Compute::kFp64) {
    return ab == Element::kFp64 && c == Element::kFp64;
  }
  if (arithmetic.scale == Element::kFp16) {
    return ab == Element::kFp16 && c == Element::kFp16;
  }
  return ab != Element::kFp64 && (c == ab || c == Element::kFp32);
}

Compute computeFor(const Arithmetic& arithmetic, Element ab) {
  return ab == Element::kFp64 || ab == Element::kFp32 ? arithmetic.compute : Compute::kFp32;
}

double scalarAt(const void* host, Element type) {
  switch (type) {
    case Element::kFp16:
      return static_cast<double>(__half2float(*static_cast<const __half*>(host)));
    case Element::kFp64:
      return *static_cast<const double*>(host);
    default:
      return static_cast<double>(*static_cast<const float*>(host));
  }
}

}  // namespace softcublas
