// SPDX-License-Identifier: Apache-2.0
// Where training memory goes: an MLP after each phase of a step, for five optimizers, beside the hand calculation.
#include <fmt/format.h>

#include <cmath>

#include "workloads/lessons/common/lesson.h"
#include "workloads/lessons/memory/hand_calculation.h"
#include "workloads/nn/device.h"
#include "workloads/nn/nvtx.h"

namespace plumb::lessons {
namespace {

struct Options {
  int width = 1024;
  int hidden = 4096;
  int batch = 256;
};
Options g_options;

std::string mib(size_t bytes) { return fmt::format("{:.1f}", static_cast<double>(bytes) / (1 << 20)); }

// What the device's memory pool says is handed out, now or at most.
size_t poolBytes(cudaMemPoolAttr attribute) {
  int device = 0;
  cudaMemPool_t pool = nullptr;
  uint64_t bytes = 0;
  nn::check(cudaGetDevice(&device), "finding the device");
  nn::check(cudaDeviceGetDefaultMemPool(&pool, device), "finding the memory pool");
  nn::check(cudaMemPoolGetAttribute(pool, attribute, &bytes), "asking the memory pool");
  return bytes;
}

void forgetPoolPeak() {
  int device = 0;
  cudaMemPool_t pool = nullptr;
  uint64_t zero = 0;
  nn::check(cudaDeviceSynchronize(), "waiting for the device");
  nn::check(cudaGetDevice(&device), "finding the device");
  nn::check(cudaDeviceGetDefaultMemPool(&pool, device), "finding the memory pool");
  nn::check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &zero), "forgetting the pool's peak");
}

struct Measured {
  HandCalculation allocated;
  size_t poolPeak;
  float loss;
};

Measured oneStep(const MlpShape& shape, Optimizer optimizer) {
  forgetPoolPeak();
  const nn::Range range(nameOf(optimizer));
  MlpTraining training(shape, optimizer);
  const auto live = [&] { return training.memory().live().total(); };
  Measured measured{};
  measured.allocated.model = live();
  {
    const nn::Range step("step", 0);
    training.forward();
    measured.allocated.forward = live();
    training.backward();
    measured.allocated.backward = live();
    training.optimizerStep();
    measured.allocated.step = live();
    measured.loss = training.loss();
  }
  measured.allocated.peak = training.memory().atPeak().total();
  measured.poolPeak = poolBytes(cudaMemPoolAttrUsedMemHigh);
  return measured;
}

void teach(Checks& checks) {
  nn::useDevice(0);
  const MlpShape shape{{g_options.width, g_options.hidden, g_options.hidden, g_options.width}, g_options.batch};
  const size_t parameters = shape.parameters();
  fmt::print("MLP {} -> {} -> {} -> {}, batch {}: {} parameters, {} MiB in fp32\n\n", g_options.width, g_options.hidden,
             g_options.hidden, g_options.width, g_options.batch, parameters, mib(4 * parameters));
  Table table({"MiB allocated after", "model", "forward", "backward", "step", "peak", "pool's peak",
               "bytes per parameter at the peak"});
  const auto add = [&](const std::string& name, const HandCalculation& bytes, const std::string& pool) {
    table.add({name, mib(bytes.model), mib(bytes.forward), mib(bytes.backward), mib(bytes.step), mib(bytes.peak), pool,
               fmt::format("{:.2f}", static_cast<double>(bytes.peak) / static_cast<double>(parameters))});
  };
  for (const Optimizer optimizer : {Optimizer::kSgd, Optimizer::kMomentum, Optimizer::kAdamwForeach,
                                    Optimizer::kAdamwOneByOne, Optimizer::kAdamwFused}) {
    const std::string name = nameOf(optimizer);
    const HandCalculation hand = calculate(shape, optimizer);
    const Measured measured = oneStep(shape, optimizer);
    const HandCalculation& own = measured.allocated;
    add(name, own, mib(measured.poolPeak));
    add("  by hand", hand, "");
    checks.expect(own.model == hand.model && own.forward == hand.forward && own.backward == hand.backward &&
                      own.step == hand.step && own.peak == hand.peak,
                  name + ": allocated to the byte what the hand calculation says");
    checks.expect(static_cast<double>(measured.poolPeak) > 0.99 * static_cast<double>(hand.peak) &&
                      static_cast<double>(measured.poolPeak) < 1.05 * static_cast<double>(hand.peak) + (4 << 20),
                  name + ": so does the device's memory pool", mib(measured.poolPeak) + " MiB at its peak");
    checks.expect(std::isfinite(measured.loss), name + ": trains", fmt::format("loss {:.4f}", measured.loss));
  }
  table.print();
  if (g_options.width == 1024 && g_options.hidden == 4096)
    checks.expect(parameters == 25'175'040, "25,175,040 parameters, 96.0 MiB", mib(4 * parameters));
  fmt::print(
      "\nAdamW keeps 16 bytes per parameter: weight, gradient and two moments. A foreach optimizer adds its "
      "denominators "
      "for all\nparameters at once ({} MiB), one parameter at a time only the largest one's ({} MiB), a fused one "
      "none.\n",
      mib(temporaryBytes(shape, Optimizer::kAdamwForeach)), mib(temporaryBytes(shape, Optimizer::kAdamwOneByOne)));
}

}  // namespace
}  // namespace plumb::lessons

int main(int argc, char** argv) {
  using plumb::lessons::g_options;
  return plumb::lessons::runLesson(
      argc, argv,
      {"memory", "Memory of a training step: what is allocated after model, forward, backward and step, and the peak.",
       [](plumb::lessons::OptionList& options) {
         options.integer("--width", g_options.width, 8, 65536, "of the input and the output, a multiple of 8");
         options.integer("--hidden", g_options.hidden, 8, 65536, "width of the two hidden layers, a multiple of 8");
         options.integer("--batch", g_options.batch, 1, 1 << 20, "rows");
       },
       plumb::lessons::teach});
}
