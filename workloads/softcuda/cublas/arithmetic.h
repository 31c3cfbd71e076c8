// SPDX-License-Identifier: Apache-2.0
// CUDA's type and compute-type numbers as the GEMM's own; shared by libcublas and libcublasLt.
#pragma once
#include <cublas_v2.h>

#include <optional>

#include "workloads/softcuda/cublas/gemm.h"

namespace softcublas {

struct Arithmetic {
  Compute compute;
  Element scale;  // type of alpha and beta
};

// nullopt: not a real floating-point type that the software device knows.
std::optional<Element> elementOf(cudaDataType type);

// nullopt: not supported (integers). math decides whether CUBLAS_COMPUTE_32F means TF32.
std::optional<Arithmetic> arithmeticOf(cublasComputeType_t type, cublasMath_t math);

// Whether cuBLAS's table has this combination.
bool supported(const Arithmetic& arithmetic, Element ab, Element c);

// How a GEMM on such operands multiplies: 16-bit operands are exact in fp32 whatever was asked for.
Compute computeFor(const Arithmetic& arithmetic, Element ab);

double scalarAt(const void* host, Element type);

}  // namespace softcublas
