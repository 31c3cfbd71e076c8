// SPDX-License-Identifier: Apache-2.0
#include "workloads/amp/mlp.h"

#include <gtest/gtest.h>

#include "tests/unit/workloads/nn/device_arrays.h"
#include "tests/unit/workloads/nn/gradient_check.h"
#include "workloads/amp/trainer.h"

namespace plumb::test {
namespace {

using amp::Compute;
using nn::Buffer;
using nn::Category;
using nn::Dtype;

TEST(Mlp, GradientsAgreeWithFiniteDifferences) {
  DeviceArrays device;
  nn::Gemm gemm(device.ledger(), device.stream());
  const Buffer scratch = device.empty(nn::kColumnChunks * 24);
  const Compute c{Dtype::kFloat32, device.stream(), device.ledger(), gemm, scratch.tensor()};
  constexpr int kRows = 12;
  constexpr int kInputs = 8;
  amp::Mlp mlp(c, {kInputs, 24, 24, 1}, 7);
  std::vector<float> x(kRows * kInputs);
  std::vector<float> y(kRows);
  amp::makeSamples(3, 0, kRows, kInputs, x.data(), y.data());
  const Buffer in = device.upload(x);
  const Buffer wanted = device.upload(y);
  const Buffer losses = device.empty(kRows);

  const auto loss = [&] {
    nn::squaredErrorForward(device.stream(), mlp.forward(c, in, kRows), wanted, losses);
    double total = 0;
    for (const float value : device.download(losses)) total += value;
    return total / kRows;
  };
  loss();
  const nn::Tensor prediction = mlp.forward(c, in, kRows);
  Buffer gradient = device.empty(kRows);
  nn::squaredErrorBackward(device.stream(), prediction, wanted, gradient, 1.0f / kRows);
  mlp.backward(c, std::move(gradient), kRows);

  for (amp::Parameter* parameter : mlp.parameters()) {
    const auto values = device.download(parameter->weight);
    const auto lossAt = [&](const std::vector<float>& others) {
      device.copy(parameter->weight.tensor().data, others.data(), others.size() * sizeof(float),
                  cudaMemcpyHostToDevice);
      return loss();
    };
    expectGradient(parameter->name, values, device.download(parameter->gradient), lossAt, 0.05);
    lossAt(values);
  }
}

TEST(GradScaler, HalvesAndSkipsOnInfAndDoublesAfterEnoughGoodSteps) {
  amp::GradScaler scaler(65536, 3);
  EXPECT_FALSE(scaler.update(false));
  EXPECT_EQ(scaler.scale(), 32768);
  for (int step = 0; step < 2; ++step) EXPECT_TRUE(scaler.update(true));
  EXPECT_EQ(scaler.scale(), 32768);
  EXPECT_TRUE(scaler.update(true));
  EXPECT_EQ(scaler.scale(), 65536);
  EXPECT_TRUE(scaler.update(true));
  EXPECT_FALSE(scaler.update(false));  // and the count starts again
  for (int step = 0; step < 2; ++step) EXPECT_TRUE(scaler.update(true));
  EXPECT_EQ(scaler.scale(), 32768);
  EXPECT_EQ(scaler.skippedSteps(), 2);
}

amp::Options small(amp::Precision precision) {
  amp::Options options;
  options.precision = precision;
  options.hidden = 64;
  options.batch = 128;
  options.steps = 60;
  return options;
}

TEST(AmpTrainer, LearnsInEveryPrecisionAndEvaluatesAlike) {
  std::vector<float> evaluations;
  for (const amp::Precision precision : {amp::Precision::kFloat32, amp::Precision::kTensorFloat32,
                                         amp::Precision::kFloat16, amp::Precision::kBfloat16}) {
    const amp::Options options = small(precision);
    amp::Trainer trainer(options);
    const float before = trainer.evaluate();
    for (int step = 0; step < options.steps; ++step) trainer.step(step);
    evaluations.push_back(trainer.evaluate());
    EXPECT_LT(evaluations.back(), 0.7f * before) << amp::precisionName(precision);
  }
  for (const float evaluation : evaluations) EXPECT_NEAR(evaluation, evaluations[0], 0.1f * evaluations[0]);
}

TEST(AmpTrainer, AnOverflowOfFp16SkipsTheStepAndHalvesTheScale) {
  amp::Options options = small(amp::Precision::kFloat16);
  options.initialScale = 1099511627776.0f;  // 2^40
  amp::Trainer trainer(options);
  const float before = trainer.evaluate();
  ASSERT_TRUE(trainer.step(0).skipped);
  EXPECT_EQ(trainer.scaler().scale(), 549755813888.0f);
  EXPECT_EQ(trainer.evaluate(), before) << "a skipped step leaves the weights alone";
  int step = 1;
  while (step < 40 && trainer.step(step).skipped) ++step;
  EXPECT_EQ(trainer.scaler().skippedSteps(), step);
  EXPECT_EQ(trainer.scaler().scale(), std::ldexp(1099511627776.0f, -step));
  EXPECT_NE(trainer.evaluate(), before);
}

TEST(AmpTrainer, SmallGradientsUnderflowInFp16UnlessTheLossIsScaled) {
  amp::Trainer trainer(small(amp::Precision::kFloat16));
  const double exact = trainer.gradientShares(1.0f, true).zero;
  EXPECT_GT(trainer.gradientShares(1.0f, false).zero, exact + 0.2);
  EXPECT_NEAR(trainer.gradientShares(65536.0f, false).zero, exact, 0.01);
  amp::Trainer bfloat(small(amp::Precision::kBfloat16));
  EXPECT_NEAR(bfloat.gradientShares(1.0f, false).zero, exact, 0.02) << "bf16 has the range of fp32";
}

TEST(AmpTrainer, LargeScalesOverflowInFp16Only) {
  constexpr float kLarge = 1099511627776.0f;  // 2^40
  amp::Trainer trainer(small(amp::Precision::kFloat16));
  EXPECT_GT(trainer.gradientShares(kLarge, false).nonFinite, 0.0);
  EXPECT_EQ(trainer.gradientShares(65536.0f, false).nonFinite, 0.0);
  EXPECT_EQ(trainer.gradientShares(kLarge, true).nonFinite, 0.0);
  amp::Trainer bfloat(small(amp::Precision::kBfloat16));
  EXPECT_EQ(bfloat.gradientShares(kLarge, false).nonFinite, 0.0);
}

float trainedWith(amp::Mistake mistake, amp::Options options = small(amp::Precision::kFloat16)) {
  options.mistake = mistake;
  amp::Trainer trainer(options);
  for (int step = 0; step < options.steps; ++step) trainer.step(step);
  return trainer.evaluate();
}

TEST(AmpTrainer, AModelThatIsHalfAsAWholeTrainsWorse) {
  const float good = trainedWith(amp::Mistake::kNone);
  EXPECT_FALSE(trainedWith(amp::Mistake::kHalfModel) < 1.5f * good) << "larger, or nan";
}

// At the default size, where nearly all gradients underflow.
TEST(AmpTrainer, Fp16WithoutAScalerLearnsLess) {
  amp::Options options;
  options.precision = amp::Precision::kFloat16;
  options.lossWeight = amp::kSmallLoss;
  options.chooseDefaults(false);
  EXPECT_GT(trainedWith(amp::Mistake::kFloat16WithoutScaler, options),
            1.2f * trainedWith(amp::Mistake::kNone, options));
}

TEST(AmpTrainer, FreesEverythingOfAStep) {
  amp::Trainer trainer(small(amp::Precision::kBfloat16));
  trainer.step(0);
  const size_t live = trainer.memory().live().total();
  for (int step = 1; step < 4; ++step) trainer.step(step);
  EXPECT_EQ(trainer.memory().live().total(), live);
}

}  // namespace
}  // namespace plumb::test
