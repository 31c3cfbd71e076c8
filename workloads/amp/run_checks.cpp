// SPDX-License-Identifier: Apache-2.0
#include "workloads/amp/run_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace plumb::amp {
namespace {

// Fewer updates say nothing about the loss.
constexpr int kUpdatesThatLearn = 10;

const char* nameOf(nn::Dtype dtype) {
  if (dtype == nn::Dtype::kFloat16) return "fp16";
  return dtype == nn::Dtype::kBfloat16 ? "bf16" : "fp32";
}

std::string percent(double share) { return fmt::format("{:.2f} %", 100 * share); }

nn::Dtype productsOf(Precision precision) {
  if (precision == Precision::kFloat16) return nn::Dtype::kFloat16;
  return precision == Precision::kBfloat16 ? nn::Dtype::kBfloat16 : nn::Dtype::kFloat32;
}

void checkTypes(const Options& o, const Types& types, nn::Checks& checks) {
  const nn::Dtype products = productsOf(o.precision);
  checks.expect(types.products == products, fmt::format("matrix products and activations are {}", nameOf(products)),
                nameOf(types.products));
  const nn::Dtype kept = o.mistake == Mistake::kHalfModel ? nn::Dtype::kFloat16 : nn::Dtype::kFloat32;
  checks.expect(types.parameters == kept, fmt::format("weights, gradients and moments are {}", nameOf(kept)),
                nameOf(types.parameters));
  checks.expect(types.loss == nn::Dtype::kFloat32, "the loss is fp32", nameOf(types.loss));
}

void checkLoss(const Options& o, const RunResult& run, nn::Checks& checks) {
  checks.expect(std::isfinite(run.evaluation), "the evaluation loss is finite", fmt::format("{:.6f}", run.evaluation));
  const auto updates = std::count(run.skipped.begin(), run.skipped.end(), false);
  if (updates < kUpdatesThatLearn || o.mistake == Mistake::kFloat16WithoutScaler || !run.evaluationBefore) return;
  checks.expect(run.evaluation < *run.evaluationBefore, "the loss falls",
                fmt::format("{:.6f} to {:.6f}", *run.evaluationBefore, run.evaluation));
}

// By the steps alone.
float expectedScale(const Options& o, const std::vector<bool>& skipped) {
  float scale = o.initialScale;
  int good = 0;
  for (const bool step : skipped) {
    good = step ? 0 : good + 1;
    if (step) scale /= 2;
    if (good == o.growthInterval) {
      scale *= 2;
      good = 0;
    }
  }
  return scale;
}

void checkFloat16Underflow(const Options& o, const Underflow& shares, nn::Checks& checks) {
  checks.expect(shares.unscaled.zero > shares.exact.zero + 0.1,
                "without scaling a large share of the gradients is lost",
                fmt::format("{} are 0, {} in fp32", percent(shares.unscaled.zero), percent(shares.exact.zero)));
  checks.expect(shares.scaled.zero < shares.exact.zero + 0.02,
                fmt::format("at scale {:.0f} almost none is", kUsualScale),
                fmt::format("{} are 0", percent(shares.scaled.zero)));
  checks.expect(shares.overflowing.nonFinite > 0.0,
                fmt::format("at scale {:.0f} gradients overflow", kOverflowingScale),
                fmt::format("{} are inf or nan", percent(shares.overflowing.nonFinite)));
  if (o.mistake == Mistake::kFloat16WithoutScaler)
    checks.expect(shares.unscaled.zero > shares.scaled.zero, "a scaler would have saved gradients",
                  fmt::format("{} against {} are 0", percent(shares.unscaled.zero), percent(shares.scaled.zero)));
}

void checkBfloat16Range(const Options& o, const RunResult& run, nn::Checks& checks) {
  const Underflow& shares = *run.underflow;
  checks.expect(shares.unscaled.zero < shares.exact.zero + 0.02, "bf16 has fp32's range: without scaling none is lost",
                fmt::format("{} are 0, {} in fp32", percent(shares.unscaled.zero), percent(shares.exact.zero)));
  if (o.mistake != Mistake::kBfloat16WithScaler) return;
  checks.expect(
      std::abs(shares.scaled.zero - shares.unscaled.zero) < 0.02, "the scaler gains nothing",
      fmt::format("{} are 0 with it, {} without", percent(shares.scaled.zero), percent(shares.unscaled.zero)));
  checks.expect(std::find(run.skipped.begin(), run.skipped.end(), true) == run.skipped.end(), "and no step overflows");
}

}  // namespace

void check(const Options& o, const RunResult& run, nn::Checks& checks) {
  checkTypes(o, run.types, checks);
  if (o.mistake == Mistake::kHalfModel) {
    checks.expect(run.worst.nonFinite > 0.0 || run.worst.lostUpdates > 0.0,
                  "a model that is half as a whole breaks, or loses updates",
                  fmt::format("{} of the weights are inf or nan, {} lost an update", percent(run.worst.nonFinite),
                              percent(run.worst.lostUpdates)));
    return;
  }
  checkLoss(o, run, checks);
  if (o.scalesLoss()) {
    const float expected = expectedScale(o, run.skipped);
    checks.expect(run.finalScale == expected,
                  fmt::format("the scale is halved by skipped steps, doubled after {} good ones: {:.0f}",
                              o.growthInterval, expected),
                  fmt::format("{:.0f}", run.finalScale));
  }
  if (!run.underflow) return;
  if (o.precision == Precision::kFloat16) checkFloat16Underflow(o, *run.underflow, checks);
  if (o.precision == Precision::kBfloat16) checkBfloat16Range(o, run, checks);
}

}  // namespace plumb::amp
