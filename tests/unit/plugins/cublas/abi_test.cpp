// SPDX-License-Identifier: Apache-2.0
// Our copy of cuBLAS's numbers and signatures against its headers, and the list of functions we stand in for.
#include <cublasLt.h>
#include <cublas_v2.h>

#include <string>

#include <gtest/gtest.h>

#include "plugins/cublas/calls.h"
#include "plugins/cublas/cublas_abi.h"

namespace plumb::cublas {
namespace {

static_assert(static_cast<int>(CUDA_R_32F) == abi::kR32F && static_cast<int>(CUDA_R_16BF) == abi::kR16BF);
static_assert(static_cast<int>(CUDA_R_16F) == abi::kR16F && static_cast<int>(CUDA_R_64F) == abi::kR64F);
static_assert(static_cast<int>(CUDA_R_8F_E4M3) == abi::kR8FE4M3 && static_cast<int>(CUDA_R_8F_E5M2) == abi::kR8FE5M2);
static_assert(static_cast<int>(CUDA_R_4F_E2M1) == abi::kR4FE2M1 && static_cast<int>(CUDA_R_8I) == abi::kR8I);
static_assert(static_cast<int>(CUBLAS_COMPUTE_16F) == abi::kCompute16F);
static_assert(static_cast<int>(CUBLAS_COMPUTE_32F) == abi::kCompute32F);
static_assert(static_cast<int>(CUBLAS_COMPUTE_32F_PEDANTIC) == abi::kCompute32FPedantic);
static_assert(static_cast<int>(CUBLAS_COMPUTE_32F_FAST_TF32) == abi::kCompute32FFastTf32);
static_assert(static_cast<int>(CUBLAS_COMPUTE_32F_FAST_16F) == abi::kCompute32FFast16F);
static_assert(static_cast<int>(CUBLAS_COMPUTE_32F_FAST_16BF) == abi::kCompute32FFast16BF);
static_assert(static_cast<int>(CUBLAS_COMPUTE_64F) == abi::kCompute64F);
static_assert(static_cast<int>(CUBLAS_COMPUTE_32I) == abi::kCompute32I);
static_assert(static_cast<int>(CUBLAS_TF32_TENSOR_OP_MATH) == abi::kMathTf32);
static_assert(static_cast<int>(CUBLASLT_MATRIX_LAYOUT_TYPE) == static_cast<int>(abi::kLayoutType) &&
              static_cast<int>(CUBLASLT_MATRIX_LAYOUT_ROWS) == static_cast<int>(abi::kLayoutRows));
static_assert(static_cast<int>(CUBLASLT_MATRIX_LAYOUT_COLS) == static_cast<int>(abi::kLayoutColumns));
static_assert(static_cast<int>(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT) == static_cast<int>(abi::kLayoutBatchCount));
static_assert(static_cast<int>(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE) == static_cast<int>(abi::kDescComputeType));
static_assert(static_cast<int>(CUBLASLT_MATMUL_DESC_TRANSA) == static_cast<int>(abi::kDescTransposeA));
static_assert(static_cast<int>(CUBLASLT_MATMUL_DESC_TRANSB) == static_cast<int>(abi::kDescTransposeB));
static_assert(sizeof(cudaDataType) == sizeof(abi::DataType) && sizeof(cublasStatus_t) == sizeof(abi::Status));

TEST(CublasReplacements, CoverTheWholeList) {
#define PLUMB_INTERPOSED(library, function) \
  EXPECT_NE(replacementOf(#function), nullptr) << #function << " of " << library;
#include "collector/api/interposed.def"
#undef PLUMB_INTERPOSED
  EXPECT_EQ(replacementOf("cublasCreate_v2"), nullptr);
}

}  // namespace
}  // namespace plumb::cublas
