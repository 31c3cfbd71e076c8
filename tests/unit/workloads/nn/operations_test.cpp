// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/unit/workloads/nn/device_arrays.h"
#include "workloads/nn/gemm.h"

namespace plumb::test {
namespace {

using nn::Buffer;
using nn::Dtype;

std::vector<float> ramp(size_t count, float from, float to) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = from + (to - from) * static_cast<float>(i) / static_cast<float>(std::max<size_t>(1, count - 1));
  return values;
}

TEST(Operations, CastRoundsToNearestEven) {
  DeviceArrays device;
  const std::vector<float> values = {1.0f, 1.0f + 1.0f / 512, 1.0f + 3.0f / 512, 65519.0f, 65520.0f, -0.0f, 3e-8f};
  const auto bf16 = device.download(device.upload(values, Dtype::kBfloat16));
  EXPECT_EQ(bf16[1], 1.0f) << "halfway between 1 and 1 + 2^-7 lies 1 + 2^-8; 2^-9 is below it";
  EXPECT_EQ(bf16[2], 1.0f + 1.0f / 128);
  const auto fp16 = device.download(device.upload(values, Dtype::kFloat16));
  EXPECT_EQ(fp16[3], 65504.0f);
  EXPECT_TRUE(std::isinf(fp16[4])) << "fp16 overflows where a value would round above 65504";
  EXPECT_EQ(fp16[6], 5.9604645e-8f) << "subnormal";
}

TEST(Operations, PointwiseKernelsRespectLengthsThatAreNoMultipleOfAPack) {
  DeviceArrays device;
  for (const size_t count : {1u, 7u, 8u, 9u, 1023u, 1025u}) {
    const std::vector<float> a = ramp(count, -2, 2);
    Buffer guarded = device.upload(std::vector<float>(count + 8, 99.0f));
    const Buffer in = device.upload(a);
    nn::siluForward(device.stream(), in, guarded.tensor().slice(0, count));
    const auto out = device.download(guarded);
    for (size_t i = 0; i < count; ++i) EXPECT_NEAR(out[i], a[i] / (1 + std::exp(-a[i])), 1e-6);
    for (size_t i = count; i < count + 8; ++i) EXPECT_EQ(out[i], 99.0f) << count;
  }
}

TEST(Operations, BiasAddsOneValueAColumnAndReluCutsAtZero) {
  DeviceArrays device;
  const Buffer x = device.upload(std::vector<float>{1, 2, 3, -4, -5, -6});
  nn::biasForward(device.stream(), x, device.upload(std::vector<float>{10, 0, 4}), true);
  EXPECT_EQ(device.download(x), (std::vector<float>{11, 2, 7, 6, 0, 0}));
}

TEST(Operations, EmbeddingGradientAddsTheTokensOfARow) {
  DeviceArrays device;
  constexpr size_t kColumns = 16;
  const Buffer ids = device.upload(std::vector<int>{2, 0, 2});
  std::vector<float> gradient(3 * kColumns);
  for (size_t i = 0; i < gradient.size(); ++i) gradient[i] = static_cast<float>(i / kColumns + 1);
  const Buffer table = device.upload(std::vector<float>(3 * kColumns, 77.0f));
  nn::embeddingBackward(device.stream(), device.upload(gradient), ids, table);
  const auto out = device.download(table);
  EXPECT_EQ(out[0], 2.0f);
  EXPECT_EQ(out[kColumns], 0.0f) << "no token: 0, not what was there";
  EXPECT_EQ(out[2 * kColumns + 5], 4.0f);
}

TEST(Operations, CausalSoftmaxSeesNoFuture) {
  DeviceArrays device;
  constexpr int kSequence = 8;
  const Buffer scores = device.upload(ramp(2 * kSequence * kSequence, -3, 3), Dtype::kBfloat16);
  nn::causalSoftmaxForward(device.stream(), scores, kSequence);
  const auto p = device.download(scores);
  for (int row = 0; row < 2 * kSequence; ++row) {
    float total = 0;
    for (int column = 0; column < kSequence; ++column) {
      const float value = p[static_cast<size_t>(row * kSequence + column)];
      if (column > row % kSequence) {
        EXPECT_EQ(value, 0.0f);
      }
      total += value;
    }
    EXPECT_NEAR(total, 1.0f, 0.01f);
  }
}

TEST(Operations, SumsOverRowsAndSumAreRight) {
  DeviceArrays device;
  constexpr size_t kRows = 100;
  for (const size_t columns : {1u, 5u, 24u, 600u}) {
    std::vector<float> values(kRows * columns);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i / columns + i % columns);
    const Buffer scratch = device.empty(nn::kColumnChunks * columns);
    const Buffer out = device.empty(columns);
    nn::biasBackward(device.stream(), device.upload(values), scratch, out);
    const auto sums = device.download(out);
    for (size_t c = 0; c < columns; ++c) EXPECT_FLOAT_EQ(sums[c], 99 * 50 + 100 * static_cast<float>(c));
  }
  const Buffer total = device.empty(1);
  nn::sum(device.stream(), device.upload(std::vector<float>(1000, 0.5f)), total, 0.1f);
  EXPECT_FLOAT_EQ(device.download(total)[0], 50.0f);
}

TEST(Operations, ScaleAndCheckFindsInfAndNanAnywhere) {
  DeviceArrays device;
  const float bad[] = {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                       std::numeric_limits<float>::quiet_NaN()};
  for (const size_t place : {0u, 500u, 1000u}) {
    for (const float value : bad) {
      std::vector<float> values(1001, 4.0f);
      const Buffer found = device.upload(std::vector<int>{0});
      const Buffer good = device.upload(values);
      nn::scaleAndCheck(device.stream(), good, 0.5f, found);
      EXPECT_EQ(device.downloadInt(found), 0);
      EXPECT_EQ(device.download(good), std::vector<float>(1001, 2.0f));
      values[place] = value;
      nn::scaleAndCheck(device.stream(), device.upload(values), 0.5f, found);
      EXPECT_EQ(device.downloadInt(found), 1);
    }
  }
}

TEST(Operations, AdamwFirstStepMovesByTheLearningRateAgainstTheGradientsSign) {
  DeviceArrays device;
  nn::AdamwOptions options;
  options.learningRate = 0.1f;
  options.weightDecay = 0.0f;
  const Buffer weight = device.upload(std::vector<float>{1, 1, 1});
  const Buffer zeros1 = device.upload(std::vector<float>(3, 0.0f));
  const Buffer zeros2 = device.upload(std::vector<float>(3, 0.0f));
  nn::adamw(device.stream(), options, 1, weight, device.upload(std::vector<float>{5, -0.01f, 0}), zeros1, zeros2);
  const auto out = device.download(weight);
  EXPECT_NEAR(out[0], 0.9f, 1e-5);
  EXPECT_NEAR(out[1], 1.1f, 1e-5);
  EXPECT_EQ(out[2], 1.0f);
}

TEST(Operations, InitialisingInPiecesGivesTheWhole) {
  DeviceArrays device;
  const Buffer whole = device.empty(100);
  nn::initialize(device.stream(), whole, 0, 42, 2.0f, 1.0f);
  const Buffer pieces = device.empty(100);
  nn::initialize(device.stream(), pieces.tensor().slice(0, 37), 0, 42, 2.0f, 1.0f);
  nn::initialize(device.stream(), pieces.tensor().slice(37, 63), 37, 42, 2.0f, 1.0f);
  const auto values = device.download(whole);
  EXPECT_EQ(device.download(pieces), values);
  for (const float value : values) {
    EXPECT_GE(value, -1.0f);
    EXPECT_LT(value, 3.0f);
  }
}

TEST(Gemm, RowMajorWithTransposesAndAccumulation) {
  DeviceArrays device;
  nn::Gemm gemm(device.ledger(), device.stream());
  const Buffer a = device.upload(std::vector<float>{1, 2, 3, 4, 5, 6});  // 2 x 3
  const Buffer b = device.upload(std::vector<float>{1, 0, 2, 1, 0, 3});  // 3 x 2
  const Buffer c = device.empty(4);
  gemm.multiply(2, 2, 3, {a, 3}, {b, 2}, {c, 2});
  EXPECT_EQ(device.download(c), (std::vector<float>{5, 11, 14, 23}));
  gemm.multiply(2, 2, 3, {a, 3}, {b, 2}, {c, 2}, 1.0f, true);
  EXPECT_EQ(device.download(c), (std::vector<float>{10, 22, 28, 46}));
  const Buffer d = device.empty(9);
  gemm.multiply(3, 3, 2, {a, 3, true}, {b, 2, true}, {d, 3});  // a^T b^T = (b a)^T
  EXPECT_EQ(device.download(d), (std::vector<float>{1, 6, 12, 2, 9, 15, 3, 12, 18}));
}

TEST(Memory, TheLedgerKnowsCategoriesAndTheirPeaks) {
  DeviceArrays device;
  nn::MemoryLedger& ledger = device.ledger();
  const auto make = [&](nn::Category category, size_t count) {
    return Buffer(ledger, device.stream(), category, "x", Dtype::kFloat16, count);
  };
  const Buffer weight = make(nn::Category::kParameter, 100);
  { const Buffer early = make(nn::Category::kActivation, 500); }
  Buffer late = make(nn::Category::kGradient, 600);
  late.reset();
  EXPECT_EQ(ledger.live().total(), 200u);
  EXPECT_EQ(ledger.peaks()[nn::Category::kActivation], 1000u);
  EXPECT_EQ(ledger.peaks()[nn::Category::kGradient], 1200u);
  EXPECT_EQ(ledger.atPeak().total(), 1400u);
  EXPECT_EQ(ledger.atPeak()[nn::Category::kActivation], 0u);
}

}  // namespace
}  // namespace plumb::test
