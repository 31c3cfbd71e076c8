// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <chrono>
#include <cstdio>

#include "workloads/fsdp/checkpoint.h"
#include "workloads/fsdp/communicator.h"
#include "workloads/fsdp/launcher.h"
#include "workloads/fsdp/memory_plan.h"
#include "workloads/fsdp/options.h"
#include "workloads/fsdp/report.h"
#include "workloads/fsdp/trainer.h"
#include "workloads/nn/device.h"
#include "workloads/nn/device_choice.h"
#include "workloads/nn/nvtx.h"

namespace plumb::fsdp {
namespace {

int chooseRanks(const Options& options, const nn::DeviceChoice& choice) {
  if (options.ranks == 0) return choice.gpu ? std::min(2, choice.gpuCount) : 2;
  if (choice.gpu && options.ranks > choice.gpuCount)
    throw nn::UsageError(
        fmt::format("--ranks {} needs as many GPUs, this machine has {}: use fewer, or --device software",
                    options.ranks, choice.gpuCount));
  return options.ranks;
}

// The run that the user started: starts its ranks. arguments: with the program's name first.
int launchRun(const Options& options, const nn::DeviceChoice& choice, std::vector<std::string> arguments) {
  const int ranks = chooseRanks(options, choice);
  checkRanks(options, ranks);
  arguments.insert(arguments.end(), {"--device", choice.gpu ? "gpu" : "software"});
  return runRanks(choice.program, arguments, ranks);
}

// Writes a checkpoint, wipes the model, reads it back; the loss on a batch that comes next must be the same to the bit.
bool checkpointKeepsTheLoss(const Options& options, Trainer& trainer, bool speaks) {
  const float before = trainer.evaluate(options.steps);
  const size_t bytes = saveCheckpoint(trainer, options.save);
  eraseState(trainer);
  loadCheckpoint(trainer, options.save);
  const float after = trainer.evaluate(options.steps);
  if (speaks)
    fmt::print("\nCheckpoint {}: {} bytes; loss on the next batch {:.6f} before saving, {:.6f} after loading\n",
               options.save, bytes, before, after);
  return before == after;
}

int trainRank(const Options& options, const RankEnvironment& environment) {
  checkRanks(options, environment.worldSize);
  nn::useDevice(environment.localRank);
  const bool speaks = environment.rank == 0;
  const ModelShape shape = options.shape(environment.worldSize);
  if (speaks) printHeader(options, environment.worldSize);

  const auto [communicator, trainer] = [&] {
    const nn::Range range("setup");
    auto made = std::make_unique<Communicator>(environment);
    const TrainingOptions training{options.learningRate, options.seed, options.policy};
    auto trains = std::make_unique<Trainer>(shape, training, *made);
    return std::make_pair(std::move(made), std::move(trains));
  }();
  Progress progress;
  for (int step = 0; step < options.steps; ++step) {
    const auto start = std::chrono::steady_clock::now();
    const float loss = trainer->step(step);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    progress.add(step, loss, took.count());
    if (speaks) printStep(progress, trainer->memory());
  }
  if (speaks) printSummary(options, environment.worldSize, *trainer, progress);
  nn::Checks checks;
  check(options, environment.worldSize, *trainer, progress, checks);
  if (!options.save.empty())
    checks.expect(checkpointKeepsTheLoss(options, *trainer, speaks), "the loaded checkpoint gives the same loss");
  if (speaks) checks.print();
  const std::vector<std::string> failed = checks.failures();
  for (const std::string& claim : failed)
    fmt::print(stderr, "fsdp: rank {}: it does not hold that {}\n", environment.rank, claim);
  return failed.empty() ? 0 : 1;
}

int run(const std::vector<std::string>& arguments) {
  const ParsedOptions parsed = parseOptions({arguments.begin() + 1, arguments.end()});
  if (parsed.help) {
    fmt::print("{}", *parsed.help);
    return 0;
  }
  const bool isRank = RankEnvironment::present();
  const RankEnvironment environment = isRank ? RankEnvironment::read() : RankEnvironment{};
  const nn::DeviceChoice choice = nn::chooseDevice(parsed.options.device);
  if (!choice.note.empty() && environment.rank == 0) fmt::print("fsdp: {}\n", choice.note);
  std::fflush(stdout);
  if (!isRank) return launchRun(parsed.options, choice, arguments);
  nn::enterProgram(choice, arguments);
  return trainRank(parsed.options, environment);
}

}  // namespace
}  // namespace plumb::fsdp

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // a line is seen when it is printed, in a pipe too
  try {
    return plumb::fsdp::run({argv, argv + argc});
  } catch (const plumb::nn::UsageError& error) {
    fmt::print(stderr, "fsdp: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "fsdp: {}\n", error.what());
    return 1;
  }
}
