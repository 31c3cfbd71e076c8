// SPDX-License-Identifier: Apache-2.0
#include "plugins/cublas/convert.h"

#include <gtest/gtest.h>

namespace plumb::cublas {
namespace {

Gemm gemm(abi::DataType type, int64_t m = 4, int64_t n = 3, int64_t k = 2, int64_t batch = 1) {
  return {m, n, k, batch, 0, 0, type, type, type, abi::kCompute32F};
}

TEST(GemmFlops, TwoPerMultiplyAdd) {
  EXPECT_EQ(gemmFlops(gemm(abi::kR32F)), 48);
  EXPECT_EQ(gemmFlops(gemm(abi::kR32F, 4, 3, 2, 5)), 240);
  EXPECT_EQ(gemmFlops(gemm(abi::kC32F)), 192);
  EXPECT_EQ(gemmFlops(gemm(abi::kR32F, 100'000, 100'000, 100'000)), 2e15) << "no overflow";
}

TEST(GemmBytes, EachOperandOnce) {
  EXPECT_EQ(gemmBytes(gemm(abi::kR32F)), (8 + 6 + 12) * 4);
  EXPECT_EQ(gemmBytes(gemm(abi::kR16BF, 4, 3, 2, 10)), (8 + 6 + 12) * 2 * 10);
  Gemm mixed = gemm(abi::kR16F);
  mixed.typeC = abi::kR32F;
  EXPECT_EQ(gemmBytes(mixed), (8 + 6) * 2 + 12 * 4);
}

TEST(ComputeTypeName, ByTheOperands) {
  EXPECT_STREQ(computeTypeName(abi::kCompute32F, abi::kR16BF, 0), "bf16");
  EXPECT_STREQ(computeTypeName(abi::kCompute32F, abi::kR16F, 0), "fp16");
  EXPECT_STREQ(computeTypeName(abi::kCompute32F, abi::kR8FE4M3, 0), "fp8");
  EXPECT_STREQ(computeTypeName(abi::kCompute64F, abi::kR64F, 0), "fp64");
  EXPECT_STREQ(computeTypeName(abi::kCompute16F, abi::kR16F, 0), "fp16");
  EXPECT_STREQ(computeTypeName(abi::kCompute32I, abi::kR8I, 0), "int8");
}

TEST(ComputeTypeName, FloatOperandsByComputeTypeAndMathMode) {
  EXPECT_STREQ(computeTypeName(abi::kCompute32F, abi::kR32F, 0), "fp32");
  EXPECT_STREQ(computeTypeName(abi::kCompute32F, abi::kR32F, abi::kMathTf32), "tf32");
  EXPECT_STREQ(computeTypeName(abi::kCompute32F, abi::kR32F, abi::kMathTf32 | 16), "tf32") << "flags in the upper bits";
  EXPECT_STREQ(computeTypeName(abi::kCompute32FFastTf32, abi::kR32F, 0), "tf32");
  EXPECT_STREQ(computeTypeName(abi::kCompute32FFast16BF, abi::kR32F, 0), "bf16");
  EXPECT_STREQ(computeTypeName(abi::kCompute32FPedantic, abi::kR32F, abi::kMathTf32), "fp32");
}

TEST(DataType, UnknownTypesHaveNoName) {
  EXPECT_STREQ(dataTypeName(4711), "?");
  EXPECT_EQ(dataTypeBytes(4711), 0);
}

TEST(ConvertGemm, EveryField) {
  Gemm in = gemm(abi::kR16BF);
  in.transposeA = 1;
  in.transposeB = 2;  // conjugate transpose
  const LibraryCallRecord out = convertGemm(in, {1, 2, 3, 4, 5}, 9, 77, 100, 150);
  EXPECT_EQ(out.header.kind, RecordKind::kLibraryCall);
  EXPECT_EQ(out.header.tid, 9u);
  EXPECT_EQ(out.start_ns, 100);
  EXPECT_EQ(out.end_ns, 150);
  EXPECT_EQ(out.external_id, 77u);
  EXPECT_EQ(out.name, 1u);
  EXPECT_EQ(out.datatype_a, 2u);
  EXPECT_EQ(out.datatype_b, 3u);
  EXPECT_EQ(out.datatype_c, 4u);
  EXPECT_EQ(out.compute_type, 5u);
  EXPECT_EQ(out.m, 4);
  EXPECT_EQ(out.n, 3);
  EXPECT_EQ(out.k, 2);
  EXPECT_EQ(out.batch, 1);
  EXPECT_EQ(out.transpose_a, 1u);
  EXPECT_EQ(out.transpose_b, 1u);
  EXPECT_EQ(out.flops, 48);
}

}  // namespace
}  // namespace plumb::cublas
