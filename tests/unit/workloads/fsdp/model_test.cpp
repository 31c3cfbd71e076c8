// SPDX-License-Identifier: Apache-2.0
#include "workloads/fsdp/model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "workloads/fsdp/memory_plan.h"
#include "workloads/fsdp/options.h"
#include "workloads/fsdp/trainer.h"

namespace plumb::test {
namespace {

using fsdp::ModelShape;

const ModelShape kShape{3, 64, 4, 256, 2, 32};

TEST(Layout, ABlockHasTwelveDimSquaredPlusItsGains) {
  EXPECT_EQ(fsdp::blockLayout(kShape, 0).count(), 12u * 64 * 64 + 2 * 64);
  EXPECT_EQ(fsdp::rootLayout(kShape).count(), 2u * 256 * 64 + 64);
}

TEST(Layout, ShardsAreEqualAlignedAndCoverEverything) {
  const fsdp::GroupLayout layout = fsdp::blockLayout({1, 8, 1, 8, 1, 8}, 0);
  for (const int ranks : {1, 2, 3, 4, 7, 8}) {
    EXPECT_EQ(layout.shard(ranks) * static_cast<size_t>(ranks), layout.padded(ranks));
    EXPECT_EQ(layout.shard(ranks) % fsdp::kShardAlignment, 0u);
    EXPECT_GE(layout.padded(ranks), layout.count());
    EXPECT_LT(layout.padded(ranks), layout.count() + fsdp::kShardAlignment * static_cast<size_t>(ranks));
  }
}

TEST(Samples, RanksTogetherSeeTheBatchOfOneRank) {
  ModelShape whole = kShape;
  whole.batch = 4;
  std::vector<int> tokens(whole.tokens());
  std::vector<int> targets(whole.tokens());
  fsdp::makeSamples(whole, 1, 8, tokens.data(), targets.data());
  for (int rank = 0; rank < 2; ++rank) {
    std::vector<int> partTokens(kShape.tokens());
    std::vector<int> partTargets(kShape.tokens());
    fsdp::makeSamples(kShape, 1, 8 + 2 * static_cast<uint64_t>(rank), partTokens.data(), partTargets.data());
    for (size_t i = 0; i < partTokens.size(); ++i) {
      EXPECT_EQ(partTokens[i], tokens[static_cast<size_t>(rank) * partTokens.size() + i]);
      EXPECT_EQ(partTargets[i], targets[static_cast<size_t>(rank) * partTokens.size() + i]);
    }
  }
}

TEST(Samples, TheNextTokenFollowsFromTheOneBefore) {
  std::vector<int> tokens(kShape.tokens());
  std::vector<int> targets(kShape.tokens());
  fsdp::makeSamples(kShape, 1, 0, tokens.data(), targets.data());
  for (size_t i = 0; i < tokens.size(); ++i) {
    EXPECT_EQ(targets[i], (5 * tokens[i] + 17) % 64);
    if ((i + 1) % 32 != 0) {
      EXPECT_EQ(targets[i], tokens[i + 1]);
    }
  }
}

TEST(MemoryPlan, ShardedStateIsSixteenBytesPerParameterOverTheRanks) {
  const size_t parameters = fsdp::rootLayout(kShape).padded(2) + 3 * fsdp::blockLayout(kShape, 0).padded(2);
  const auto peaks = fsdp::categoryPeaks(fsdp::memoryMoments(kShape, 2));
  EXPECT_EQ(peaks[nn::Category::kParameter], parameters * 4 / 2);
  EXPECT_EQ(peaks[nn::Category::kOptimizerState], parameters * 8 / 2);
}

TEST(MemoryPlan, AgreesWithWhatATrainingAllocatesToTheByte) {
  // Where the largest moment is depends on the dimensions: many tokens of vocabulary, wide layers, long sequences.
  const ModelShape shapes[] = {kShape, {1, 32, 1, 512, 2, 32}, {2, 64, 2, 64, 1, 16}, {2, 32, 4, 64, 1, 128}};
  for (const ModelShape& shape : shapes) {
    for (const nn::Dtype dtype : {nn::Dtype::kBfloat16, nn::Dtype::kFloat32}) {
      fsdp::Communicator alone{fsdp::RankEnvironment{}};
      fsdp::TrainingOptions options;
      options.policy.parameterDtype = dtype;
      fsdp::Trainer trainer(shape, options, alone);
      trainer.step(0);
      const auto moments = fsdp::memoryMoments(shape, 1, options.policy);
      EXPECT_EQ(trainer.memory().peaks().bytes, fsdp::categoryPeaks(moments).bytes);
      EXPECT_EQ(trainer.memory().atPeak().bytes, fsdp::peakMoment(moments).bytes.bytes)
          << fsdp::peakMoment(moments).name;
    }
  }
}

struct NamedPolicy {
  const char* name;
  fsdp::Policy policy;
};

// One change from the default each, and some that meet.
std::vector<NamedPolicy> policies() {
  const auto bf16 = nn::Dtype::kBfloat16;
  return {{"no reshard", {.reshardAfterForward = false}},
          {"prefetch 0", {.prefetch = 0}},
          {"prefetch 2", {.prefetch = 2}},
          {"two micro steps", {.accumulate = 2}},
          {"checkpointed activations", {.checkpointActivations = true}},
          {"checkpointed, micro steps, no reshard",
           {.reshardAfterForward = false, .accumulate = 2, .checkpointActivations = true}},
          {"bf16 reduction", {.reduceDtype = bf16}},
          {"DDP", {.ddp = true, .bucketBytes = 50000}},
          {"DDP, micro steps", {.accumulate = 2, .checkpointActivations = true, .ddp = true}}};
}

TEST(Policies, MemoryAndCollectivesAreThoseCalculatedByHand) {
  fsdp::Communicator alone{fsdp::RankEnvironment{}};
  for (const NamedPolicy& each : policies()) {
    for (const nn::Dtype dtype : {nn::Dtype::kBfloat16, nn::Dtype::kFloat32}) {
      fsdp::TrainingOptions options;
      options.policy = each.policy;
      options.policy.parameterDtype = dtype;
      fsdp::Trainer trainer(kShape, options, alone);
      trainer.step(0);
      trainer.step(1);
      const auto moments = fsdp::memoryMoments(kShape, 1, options.policy);
      EXPECT_EQ(trainer.memory().peaks().bytes, fsdp::categoryPeaks(moments).bytes) << each.name;
      EXPECT_EQ(trainer.memory().atPeak().bytes, fsdp::peakMoment(moments).bytes.bytes) << each.name;
      EXPECT_EQ(trainer.collectives(), fsdp::plannedCollectives(kShape, options.policy)) << each.name;
    }
  }
}

TEST(Policies, TrainLikeTheDefault) {
  fsdp::Communicator alone{fsdp::RankEnvironment{}};
  const auto losses = [&](const fsdp::Policy& policy) {
    fsdp::TrainingOptions options;
    options.policy = policy;
    options.policy.parameterDtype = nn::Dtype::kFloat32;
    ModelShape shape = kShape;
    shape.batch /= policy.accumulate;
    fsdp::Trainer trainer(shape, options, alone);
    std::vector<float> all;
    for (int step = 0; step < 4; ++step) all.push_back(trainer.step(step));
    return all;
  };
  const auto expected = losses({});
  for (const NamedPolicy& each : policies()) {
    const auto got = losses(each.policy);
    const bool rounds = each.policy.reduceDtype != nn::Dtype::kFloat32;
    const bool addsInAnotherOrder = each.policy.accumulate > 1;
    for (size_t i = 0; i < got.size(); ++i) {
      if (rounds)
        EXPECT_NEAR(got[i], expected[i], 0.01f * expected[i]) << each.name;
      else if (addsInAnotherOrder)
        EXPECT_NEAR(got[i], expected[i], 1e-4f * expected[i]) << each.name;
      else
        EXPECT_EQ(got[i], expected[i]) << each.name;
    }
  }
}

TEST(FsdpTrainer, TheLossFallsAndAStepFreesWhatItAllocates) {
  fsdp::Communicator alone{fsdp::RankEnvironment{}};
  fsdp::Trainer trainer(kShape, {}, alone);
  const float first = trainer.step(0);
  const size_t live = trainer.memory().live().total();
  float last = first;
  for (int step = 1; step < 8; ++step) last = trainer.step(step);
  EXPECT_NEAR(first, std::log(256.0f), 0.5f) << "nothing is known at the start";
  EXPECT_LT(last, first - 1.0f);
  EXPECT_EQ(trainer.memory().live().total(), live);
}

TEST(FsdpTrainer, RepeatsToTheBit) {
  fsdp::Communicator alone{fsdp::RankEnvironment{}};
  const auto losses = [&] {
    fsdp::Trainer trainer(kShape, {}, alone);
    return std::vector<float>{trainer.step(0), trainer.step(1), trainer.step(2)};
  };
  EXPECT_EQ(losses(), losses());
}

TEST(FsdpOptions, ThePresetIsTheArticlesAndOtherOptionsOverrideIt) {
  const auto parsed = fsdp::parseOptions({"--steps", "2", "--preset", "article"}).options;
  EXPECT_EQ(parsed.dim, 2048);
  EXPECT_EQ(parsed.layers, 12);
  EXPECT_EQ(parsed.heads, 16);
  EXPECT_EQ(parsed.vocabulary, 32000);
  EXPECT_EQ(parsed.batch, 8);
  EXPECT_EQ(parsed.sequence, 1024);
  EXPECT_EQ(parsed.steps, 2);
  EXPECT_EQ(fsdp::parseOptions({"--preset", "article"}).options.steps, 5);
}

}  // namespace
}  // namespace plumb::test
