// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/memory_operators.h"

#include <gtest/gtest.h>

#include "analyzer/analyses/operator_work.h"

namespace plumb::test {
namespace {

TEST(MemoryOperators, ElementwiseReadsItsInputsAndWritesItsResult) {
  const auto add = workOfOperator("aten::add", "[[8, 64], [8, 64], []]", R"(["float", "float", "Scalar"])", "");
  ASSERT_TRUE(add);
  EXPECT_EQ(add->bytes, 3 * 8 * 64 * 4);
  EXPECT_EQ(add->flops, 8 * 64);
  EXPECT_EQ(add->precision, "fp32");
  EXPECT_FALSE(add->precisionAssumed);  // no matrix unit, so no tf32
  const auto gelu = workOfOperator("aten::gelu", "[[8, 64], []]", R"(["c10::BFloat16", ""])", "");
  ASSERT_TRUE(gelu);
  EXPECT_EQ(gelu->bytes, 2 * 8 * 64 * 2);
  EXPECT_EQ(gelu->precision, "fp32");  // how torch computes it
  const auto inPlace = workOfOperator("aten::mul_", "[[8, 64], []]", R"(["float", "Scalar"])", "");
  EXPECT_EQ(inPlace->bytes, 2 * 8 * 64 * 4);
  const auto equal = workOfOperator("aten::eq", "[[8, 64], []]", R"(["float", "Scalar"])", "");
  EXPECT_EQ(equal->bytes, 8 * 64 * (4 + 1));
  EXPECT_EQ(equal->flops, 0);
}

TEST(MemoryOperators, BroadcastingAndExpandedTensors) {
  const char* types = R"(["float", "float", "Scalar"])";
  EXPECT_EQ(workOfOperator("aten::add", "[[4, 3, 8], [3, 1], []]", types, "")->bytes, 4 * (96 + 3 + 96));
  EXPECT_FALSE(workOfOperator("aten::add", "[[4, 3], [2, 3], []]", types, ""));
  // A dimension of stride 0 was expanded: what is in memory is read once.
  EXPECT_EQ(workOfOperator("aten::add", "[[4, 8], [4, 8], []]", types, "", "[[8, 1], [0, 1], []]")->bytes,
            4 * (32 + 8 + 32));
}

TEST(MemoryOperators, ResultsHaveTheTypeThatTorchGivesThem) {
  const auto bytesOf = [](const char* name, const char* dims, const char* types) {
    return workOfOperator(name, dims, types, "")->bytes;
  };
  EXPECT_EQ(bytesOf("aten::mul", "[[10], [10]]", R"(["c10::BFloat16", "float"])"), 10 * (2 + 4 + 4));
  EXPECT_EQ(bytesOf("aten::mul", "[[10], []]", R"(["c10::BFloat16", "double"])"), 10 * (2 + 2) + 8);  // a number
  EXPECT_EQ(bytesOf("aten::div", "[[10], [10]]", R"(["int", "int"])"), 10 * (4 + 4 + 4));
  EXPECT_EQ(bytesOf("aten::where", "[[10], [10], [10]]", R"(["bool", "float", "float"])"), 10 * (1 + 4 + 4 + 4));
  EXPECT_EQ(bytesOf("aten::sqrt", "[[10], [10]]", R"(["float", "float"])"), 10 * (4 + 4));  // the second is the result
}

TEST(MemoryOperators, CopiesAndFillsComputeNothing) {
  const auto cast = workOfOperator("aten::copy_", "[[10, 4], [4], []]", R"(["float", "long int", "Scalar"])", "");
  ASSERT_TRUE(cast);
  EXPECT_EQ(cast->bytes, 40 * 4 + 4 * 8);
  EXPECT_EQ(cast->flops, 0);
  EXPECT_EQ(cast->precision, "");
  EXPECT_EQ(workOfOperator("aten::fill_", "[[10], []]", R"(["int", "Scalar"])", "")->bytes, 40);
}

TEST(MemoryOperators, Reductions) {
  const char* dims = "[[16, 32, 8], [], [], []]";
  const char* types = R"(["float", "ScalarList", "Scalar", ""])";
  const auto last = workOfOperator("aten::mean", dims, types, R"(["", "[-1]", "True", ""])");
  ASSERT_TRUE(last);
  EXPECT_EQ(last->bytes, 4 * (16 * 32 * 8 + 16 * 32));
  EXPECT_EQ(last->flops, 16 * 32 * 8);
  EXPECT_EQ(workOfOperator("aten::sum", dims, types, R"(["", "[0, 1]", "False", ""])")->bytes, 4 * (16 * 32 * 8 + 8));
  EXPECT_EQ(workOfOperator("aten::sum", dims, types, "")->bytes, 4 * (16 * 32 * 8 + 1));  // of which, is not told
  EXPECT_EQ(workOfOperator("aten::argmax", dims, types, R"(["", "1", "False", ""])")->bytes,
            4 * 16 * 32 * 8 + 8 * 16 * 8);
  EXPECT_EQ(workOfOperator("aten::sum", dims, types, R"(["", "[7]", "False", ""])")->bytes, 4 * (16 * 32 * 8 + 1));
}

TEST(MemoryOperators, SoftmaxAndNormalizations) {
  EXPECT_EQ(workOfOperator("aten::_softmax", "[[16, 100], [], []]", R"(["c10::Half", "Scalar", "Scalar"])",
                           R"(["", "-1", "True"])")
                ->bytes,
            1600 * (2 + 4));
  EXPECT_EQ(workOfOperator("aten::native_layer_norm", "[[16, 100], [], [100], [100], []]",
                           R"(["float", "ScalarList", "float", "float", "Scalar"])", "")
                ->bytes,
            4 * (1600 + 100 + 100 + 1600));
  // grad, input, shape, mean, rstd, weight, bias, mask: gradients of input, weight and bias are written
  EXPECT_EQ(workOfOperator("aten::native_layer_norm_backward",
                           "[[16, 100], [16, 100], [], [16, 1], [16, 1], [100], [100], []]",
                           R"(["float", "float", "ScalarList", "float", "float", "float", "float", "ScalarList"])", "")
                ->bytes,
            4 * (2 * 1600 + 2 * 16 + 200 + 1600 + 200));
  EXPECT_EQ(workOfOperator("aten::native_batch_norm", "[[2, 3, 4, 4], [3], [3], [3], [3], [], [], []]",
                           R"(["float", "float", "float", "float", "float", "Scalar", "Scalar", "Scalar"])", "")
                ->bytes,
            4 * (2 * 96 + 4 * 3));
}

TEST(MemoryOperators, WhatIsMissingMakesItUnknown) {
  EXPECT_FALSE(workOfOperator("aten::add", "[[8], [8]]", "", ""));             // no types
  EXPECT_FALSE(workOfOperator("aten::add", "", R"(["float", "float"])", ""));  // no shapes
  EXPECT_FALSE(workOfOperator("aten::add", "[[8], [8]]", R"(["float", "c10::complex<float>"])", ""));
  EXPECT_FALSE(workOfOperator("aten::add", "[[8], [[8]]]", R"(["float", "TensorList"])", ""));
  EXPECT_FALSE(workOfOperator("aten::relu", "[[0, 8]]", R"(["float"])", ""));  // nothing moves
  EXPECT_FALSE(workOfOperator("aten::relu", "[[-8]]", R"(["float"])", ""));
  EXPECT_FALSE(isMemoryOperator("aten::mm"));
  EXPECT_FALSE(isMemoryOperator("mine::add"));
  EXPECT_FALSE(isMemoryOperator("aten::_"));
}

}  // namespace
}  // namespace plumb::test
