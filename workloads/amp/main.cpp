// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <vector>

#include "workloads/amp/options.h"
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
      return "fp16-no-scaler: gradients below 6e-8 become 0 and are lost; see the shares of zeros above.";
    case Mistake::kNone:
      break;
  }
  return nullptr;
}

void printZeros(Trainer& trainer, const Options& options) {
  const bool is16Bit = options.precision == Precision::kFloat16 || options.precision == Precision::kBfloat16;
  if (!is16Bit || options.mistake == Mistake::kHalfModel) return;
  const float scale = options.scalesLoss() ? trainer.scaler().scale() : options.initialScale;
  fmt::print("{:<22} {:.2f} % unscaled, {:.2f} % at scale {:.0f}, {:.2f} % in fp32\n", "gradients that are 0",
             100 * trainer.zeroGradients(1.0f, false), 100 * trainer.zeroGradients(scale, false), scale,
             100 * trainer.zeroGradients(1.0f, true));
}

int train(const Options& options) {
  nn::useDevice(0);
  fmt::print("amp on {}: MLP {}-{}-{}-{}-1, batch {}, {} steps, {}\n", nn::deviceName(), options.inputs, options.hidden,
             options.hidden, options.hidden, options.batch, options.steps, precisionName(options.precision));
  const auto trainer = [&] {
    const nn::Range range("setup");
    return std::make_unique<Trainer>(options);
  }();
  const bool half = options.mistake == Mistake::kHalfModel;
  if (half) trainer->health();
  std::vector<double> milliseconds;
  StepResult last{};
  const int interval = std::max(1, options.steps / 10);
  for (int step = 0; step < options.steps; ++step) {
    const float scale = trainer->scaler().scale();
    const auto start = std::chrono::steady_clock::now();
    last = trainer->step(step);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    milliseconds.push_back(took.count());
    const HalfHealth health = half ? trainer->health() : HalfHealth{};
    if (step % interval != 0 && step + 1 != options.steps && !last.skipped) continue;
    fmt::print("step {:<4} loss {:.6f}  {:>8.3f} ms", step, last.loss, took.count());
    if (trainer->scalesLoss())
      fmt::print("  scale {:.0f}{}", scale, last.skipped ? "  skipped: a gradient is inf or nan" : "");
    if (half)
      fmt::print("  v is 0: {:.1f} %  updates lost: {:.1f} %  weights inf or nan: {:.1f} %", 100 * health.zeroMoments,
                 100 * health.lostUpdates, 100 * health.nonFinite);
    fmt::print("\n");
  }
  const size_t peak = trainer->memory().atPeak().total();
  const float evaluation = trainer->evaluate();
  fmt::print("\n{:<22} {}\n", "precision", precisionName(options.precision));
  fmt::print("{:<22} {:.3f} (median after {} steps of warm-up)\n", "ms/step", medianAfterWarmUp(milliseconds),
             std::min<size_t>(kWarmUp, milliseconds.size() > kWarmUp ? kWarmUp : 0));
  fmt::print("{:<22} {:.6f}\n", "last loss", last.loss);
  fmt::print("{:<22} {:.6f}\n", "evaluation loss (fp32)", evaluation);
  fmt::print("{:<22} {} bytes\n", "peak memory", peak);
  if (trainer->scalesLoss()) {
    fmt::print("{:<22} {:.0f}\n", "final scale", trainer->scaler().scale());
    fmt::print("{:<22} {}\n", "skipped steps", trainer->scaler().skippedSteps());
  } else {
    const bool lacks = options.precision == Precision::kFloat16;
    fmt::print("{:<22} none ({})\n{:<22} 0\n", "final scale",
               lacks ? "which fp16 needs" : fmt::format("{} needs no loss scaling", precisionName(options.precision)),
               "skipped steps");
  }
  printZeros(*trainer, options);
  if (const char* text = explanation(options.mistake)) fmt::print("\nWrong on purpose: {}\n", text);
  if (options.mistake != Mistake::kNone || std::isfinite(evaluation)) return 0;
  fmt::print(stderr, "amp: the evaluation loss is inf or nan\n");
  return 1;
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
