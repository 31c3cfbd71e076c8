// SPDX-License-Identifier: Apache-2.0
// A matrix multiplication's arguments -> LibraryCallRecord. Pure.
//
// flops: 2 m n k per multiplication (8 for complex numbers). bytes: A and B read once and C written once, a lower
// bound; reading C when beta is not 0 is not counted, because beta may be in device memory and cannot be looked at.
#pragma once
#include <cstdint>

#include "collector/api/records.h"
#include "plugins/cublas/cublas_abi.h"

namespace plumb::cublas {

struct Gemm {
  int64_t m;
  int64_t n;
  int64_t k;
  int64_t batch;
  abi::Operation transposeA;
  abi::Operation transposeB;
  abi::DataType typeA;
  abi::DataType typeB;
  abi::DataType typeC;
  abi::ComputeType compute;
};

// "fp32", "bf16" …; "?" for a type that we do not know.
const char* dataTypeName(abi::DataType type) noexcept;
double dataTypeBytes(abi::DataType type) noexcept;

// The unit that the multiplication may use: decided by the operands' type, for float operands by the compute type and
// the handle's math mode (0: unknown or default).
const char* computeTypeName(abi::ComputeType compute, abi::DataType operands, int mathMode) noexcept;

double gemmFlops(const Gemm& gemm) noexcept;
double gemmBytes(const Gemm& gemm) noexcept;

struct Names {
  StringId call;
  StringId typeA;
  StringId typeB;
  StringId typeC;
  StringId compute;
};
LibraryCallRecord convertGemm(const Gemm& gemm, const Names& names, uint32_t tid, uint64_t externalId, int64_t startNs,
                              int64_t endNs) noexcept;

}  // namespace plumb::cublas
