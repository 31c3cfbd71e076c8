// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <vector>

#include "workloads/amp/options.h"
#include "workloads/amp/run_checks.h"
#include "workloads/amp/trainer.h"
#include "workloads/nn/device.h"
#include "workloads/nn/device_choice.h"
#include "workloads/nn/nvtx.h"

namespace plumb::amp {
namespace {

constexpr size_t kWarmUp = 5;

double medianAfterWarmUp(std::vector<double> milliseconds) {
  if (milliseconds.size() > kWarmUp) milliseconds.erase(milliseconds.begin(), milliseconds.begin() + kWarmUp);
  std::sort(milliseconds.begin(), milliseconds.end());
  const size_t middle = milliseconds.size() / 2;
  return milliseconds.size() % 2 == 1 ? milliseconds[middle] : (milliseconds[middle - 1] + milliseconds[middle]) / 2;
}

const char* explanation(Mistake mistake) {
  switch (mistake) {
    case Mistake::kHalfModel:
      return "half-model: weights, gradients and AdamW's moments are fp16 tensors, half the memory. The square of a "
             "gradient\nbelow 8e-4 is 0 in v, and epsilon, 1e-8, is 0 too: the update divides by 0. With --epsilon "
             "1e-4 it "
             "lives, but an\nupdate smaller than half the distance of two fp16 weights is lost. Keep these tensors in "
             "fp32 "
             "and cast for the\nproducts, as autocast does.";
    case Mistake::kBfloat16WithScaler:
      return "bf16-scaler: bf16 has fp32's range, so scaling changes nothing but costs a pass over all gradients and a "
             "wait per step.";
    case Mistake::kFloat16WithoutScaler:
      return "fp16-no-scaler: gradients below 3e-8 become 0 and are lost (see the shares above), and the evaluation "
             "loss is "
             "larger than with\nthe scaler: run it without --wrong to compare.";
    case Mistake::kNone:
      break;
  }
  return nullptr;
}

std::optional<Underflow> measureUnderflow(Trainer& trainer, const Options& options) {
  const bool is16Bit = options.precision == Precision::kFloat16 || options.precision == Precision::kBfloat16;
  if (!is16Bit || options.mistake == Mistake::kHalfModel) return std::nullopt;
  return Underflow{trainer.gradientShares(1.0f, false), trainer.gradientShares(kUsualScale, false),
                   trainer.gradientShares(kOverflowingScale, false), trainer.gradientShares(1.0f, true)};
}

void printStep(int step, const StepResult& result, double milliseconds, float scale, const Trainer& trainer) {
  fmt::print("step {:<4} loss {:.6f}  {:>8.3f} ms", step, result.loss, milliseconds);
  if (trainer.scalesLoss())
    fmt::print("  scale {:.0f}{}", scale, result.skipped ? "  skipped: a gradient is inf or nan" : "");
}

void printHealth(const HalfHealth& health) {
  fmt::print("  v is 0: {:.1f} %  updates lost: {:.1f} %  weights inf or nan: {:.1f} %", 100 * health.zeroMoments,
             100 * health.lostUpdates, 100 * health.nonFinite);
}

struct Progress {
  std::vector<double> milliseconds;
  float lastLoss = 0.0f;
};

Progress trainSteps(const Options& options, Trainer& trainer, RunResult& result) {
  const bool half = options.mistake == Mistake::kHalfModel;
  if (half) trainer.health();
  Progress progress;
  const int interval = std::max(1, options.steps / 10);
  for (int step = 0; step < options.steps; ++step) {
    const float scale = trainer.scaler().scale();
    const auto start = std::chrono::steady_clock::now();
    const StepResult done = trainer.step(step);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    progress.milliseconds.push_back(took.count());
    progress.lastLoss = done.loss;
    result.skipped.push_back(done.skipped);
    const HalfHealth health = half ? trainer.health() : HalfHealth{};
    result.worst = {std::max(result.worst.zeroMoments, health.zeroMoments),
                    std::max(result.worst.lostUpdates, health.lostUpdates),
                    std::max(result.worst.nonFinite, health.nonFinite)};
    if (step % interval != 0 && step + 1 != options.steps && !done.skipped) continue;
    printStep(step, done, took.count(), scale, trainer);
    if (half) printHealth(health);
    fmt::print("\n");
  }
  return progress;
}

// The lines for a comparison of precisions.
void printComparison(const Options& options, const Trainer& trainer, const Progress& progress, const RunResult& result,
                     size_t trainingPeak) {
  fmt::print("\n{:<22} {}\n", "precision", precisionName(options.precision));
  fmt::print("{:<22} {:.3f} (median after {} steps of warm-up)\n", "ms/step", medianAfterWarmUp(progress.milliseconds),
             std::min<size_t>(kWarmUp, progress.milliseconds.size() > kWarmUp ? kWarmUp : 0));
  fmt::print("{:<22} {:.6f}\n", "last loss", progress.lastLoss);
  fmt::print("{:<22} {:.6f}\n", "evaluation loss (fp32)", result.evaluation);
  fmt::print("{:<22} {} bytes (up to the end of training)\n", "peak memory", trainingPeak);
  if (const size_t whole = trainer.memory().atPeak().total(); whole != trainingPeak)
    fmt::print("{:<22} {} bytes (with the comparisons after training)\n", "peak of the whole run", whole);
  if (trainer.scalesLoss()) {
    fmt::print("{:<22} {:.0f}\n", "final scale", trainer.scaler().scale());
    fmt::print("{:<22} {}\n", "skipped steps", trainer.scaler().skippedSteps());
  } else {
    const bool lacks = options.precision == Precision::kFloat16;
    fmt::print("{:<22} none ({})\n{:<22} 0\n", "final scale",
               lacks ? "which fp16 needs" : fmt::format("{} needs no loss scaling", precisionName(options.precision)),
               "skipped steps");
  }
  if (!result.underflow) return;
  const Underflow& u = *result.underflow;
  fmt::print("{:<22} 1/{:.0f}: the gradients of a loss as small as auxiliary ones are\n", "loss weight",
             1 / kSmallLoss);
  fmt::print("{:<22} {:.2f} % unscaled, {:.2f} % at scale {:.0f}, {:.2f} % in fp32\n", "gradients that are 0",
             100 * u.unscaled.zero, 100 * u.scaled.zero, kUsualScale, 100 * u.exact.zero);
  fmt::print("{:<22} {:.2f} % at scale {:.0f}, {:.2f} % at scale {:.0f}\n", "gradients inf or nan",
             100 * u.scaled.nonFinite, kUsualScale, 100 * u.overflowing.nonFinite, kOverflowingScale);
}

int train(const Options& options) {
  nn::useDevice(0);
  fmt::print("amp on {}: MLP {}-{}-{}-{}-1, batch {}, {} steps, {}, loss weight {:g}\n", nn::deviceName(),
             options.inputs, options.hidden, options.hidden, options.hidden, options.batch, options.steps,
             precisionName(options.precision), options.lossWeight);
  const auto trainer = [&] {
    const nn::Range range("setup");
    return std::make_unique<Trainer>(options);
  }();
  RunResult result;
  if (options.mistake != Mistake::kHalfModel) result.evaluationBefore = trainer->evaluate();
  const Progress progress = trainSteps(options, *trainer, result);
  const size_t trainingPeak = trainer->memory().atPeak().total();
  result.finalScale = trainer->scaler().scale();
  result.evaluation = trainer->evaluate();
  result.underflow = measureUnderflow(*trainer, options);
  result.types = trainer->types();
  printComparison(options, *trainer, progress, result, trainingPeak);
  if (const char* text = explanation(options.mistake)) fmt::print("\nWrong on purpose: {}\n", text);
  nn::Checks checks;
  check(options, result, checks);
  return checks.print() ? 0 : 1;
}

int run(const std::vector<std::string>& arguments) {
  ParsedOptions parsed = parseOptions({arguments.begin() + 1, arguments.end()});
  if (parsed.help) {
    fmt::print("{}", *parsed.help);
    return 0;
  }
  const nn::DeviceChoice choice = nn::chooseDevice(parsed.options.device);
  if (!choice.note.empty()) fmt::print("amp: {}\n", choice.note);
  std::fflush(stdout);
  nn::enterProgram(choice, arguments);
  parsed.options.chooseDefaults(choice.gpu);
  return train(parsed.options);
}

}  // namespace
}  // namespace plumb::amp

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // a line is seen when it is printed, in a pipe too
  try {
    return plumb::amp::run({argv, argv + argc});
  } catch (const plumb::nn::UsageError& error) {
    fmt::print(stderr, "amp: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "amp: {}\n", error.what());
    return 1;
  }
}
