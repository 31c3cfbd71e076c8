// SPDX-License-Identifier: Apache-2.0
// What a run of amp must show, by its precision and its mistake.
#pragma once
#include <optional>
#include <vector>

#include "workloads/amp/options.h"
#include "workloads/amp/trainer.h"
#include "workloads/nn/checks.h"

namespace plumb::amp {

// A scale at which fp16 overflows with a small loss.
constexpr float kOverflowingScale = 1099511627776.0f;  // 2^40

// Of the gradients of a small loss after the training, at scale 1, kUsualScale and kOverflowingScale, and in fp32; only
// for 16-bit products with fp32 weights.
struct Underflow {
  GradientShares unscaled, scaled, overflowing, exact;
};

struct RunResult {
  std::vector<bool> skipped;              // of each step
  std::optional<float> evaluationBefore;  // the training
  float evaluation = 0.0f;                // after it
  float finalScale = 1.0f;
  Types types{};
  std::optional<Underflow> underflow;
  HalfHealth worst{};  // the largest of each, for the half model
};

void check(const Options& options, const RunResult& run, nn::Checks& checks);

}  // namespace plumb::amp
