// SPDX-License-Identifier: Apache-2.0
// The part of cuBLAS's binary interface that we use, written down by ourselves: cuBLAS's headers overload their
// functions in C++, and we must not depend on one version of them.
#pragma once
#include <cstddef>
#include <cstdint>

namespace plumb::cublas::abi {

using Handle = void*;
using Status = int;
using Operation = int;    // 0 N, 1 T, 2 C
using DataType = int;     // cudaDataType
using ComputeType = int;  // cublasComputeType_t

enum : DataType {
  kR32F = 0,
  kR64F = 1,
  kR16F = 2,
  kR8I = 3,
  kC32F = 4,
  kC64F = 5,
  kC16F = 6,
  kR8U = 8,
  kR32I = 10,
  kR16BF = 14,
  kC16BF = 15,
  kR8FE4M3 = 28,
  kR8FE5M2 = 29,
  kR4FE2M1 = 33,
};

enum : ComputeType {
  kCompute16F = 64,
  kCompute16FPedantic = 65,
  kCompute32F = 68,
  kCompute32FPedantic = 69,
  kCompute64F = 70,
  kCompute64FPedantic = 71,
  kCompute32I = 72,
  kCompute32IPedantic = 73,
  kCompute32FFast16F = 74,
  kCompute32FFast16BF = 75,
  kCompute32FFastTf32 = 77,
  kCompute32FEmulated16BFX9 = 78,
  kCompute64FEmulated = 79,
};

// cublasMath_t; the upper bits are flags.
enum : int { kMathMask = 0xF, kMathTensorOp = 1, kMathTf32 = 3 };

// cublasLtMatrixLayoutAttribute_t and cublasLtMatmulDescAttributes_t.
enum : int { kLayoutType = 0, kLayoutRows = 2, kLayoutColumns = 3, kLayoutBatchCount = 5 };
enum : int { kDescComputeType = 0, kDescTransposeA = 3, kDescTransposeB = 4 };

using GetMathMode = Status (*)(Handle, int* mode);
using LtGetAttribute = Status (*)(void* object, int attribute, void* value, size_t bytes, size_t* written);

}  // namespace plumb::cublas::abi
