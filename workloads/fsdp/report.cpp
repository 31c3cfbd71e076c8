// SPDX-License-Identifier: Apache-2.0
#include "workloads/fsdp/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "workloads/fsdp/memory_plan.h"
#include "workloads/nn/device.h"

namespace plumb::fsdp {
namespace {

constexpr size_t kStepsThatLearn = 6;

std::string mebibytes(size_t bytes) { return fmt::format("{:.2f} MiB", static_cast<double>(bytes) / (1 << 20)); }

const char* name(nn::Dtype dtype) {
  if (dtype == nn::Dtype::kFloat32) return "fp32";
  return dtype == nn::Dtype::kFloat16 ? "fp16" : "bf16";
}

void printGroup(const GroupLayout& layout, int shards, const Policy& policy) {
  fmt::print("  {:<10} {:>12} parameters, shard {:>12}", layout.name, layout.count(), layout.shard(shards));
  if (!policy.ddp)
    fmt::print(", all-gather {:>12} bytes, reduce-scatter {:>12} bytes",
               layout.padded(shards) * nn::sizeOf(policy.parameterDtype),
               layout.padded(shards) * nn::sizeOf(policy.reduceDtype));
  fmt::print("\n");
}

// One line, or none when everything is as it is by default.
std::string describe(const Policy& policy, int ranks) {
  std::vector<std::string> parts;
  if (policy.ddp)
    parts.push_back(fmt::format("DDP with buckets of {} KiB", policy.bucketBytes >> 10));
  else if (policy.replicas > 1)
    parts.push_back(fmt::format("HSDP: {} replicas x {} shards", policy.replicas, policy.shards(ranks)));
  if (!policy.reshardAfterForward) parts.push_back("no resharding after forward");
  if (policy.prefetch != 1) parts.push_back(fmt::format("prefetch {}", policy.prefetch));
  if (policy.accumulate > 1) parts.push_back(fmt::format("{} micro steps", policy.accumulate));
  if (policy.checkpointActivations) parts.push_back("activations recomputed per block");
  if (policy.reduceDtype != nn::Dtype::kFloat32)
    parts.push_back(fmt::format("reduced in {}", name(policy.reduceDtype)));
  if (policy.lossScale() != 1.0f) parts.push_back(fmt::format("fixed loss scale {}", policy.lossScale()));
  return fmt::format("{}", fmt::join(parts, ", "));
}

void printMemory(const Options& options, int ranks, const nn::MemoryLedger& ledger) {
  const auto moments = memoryMoments(options.shape(ranks), ranks, options.policy);
  const MemoryMoment peak = peakMoment(moments);
  const nn::CategoryBytes byHand = categoryPeaks(moments);
  fmt::print("\nPeak device memory of rank 0 in bytes: by hand from the dimensions, and as allocated.\n");
  fmt::print("At the peak of the whole ({}), and each category's own peak:\n", peak.name);
  fmt::print("  {:<22} {:>14} {:>14}   {:>14} {:>14}\n", "category", "peak by hand", "allocated", "own by hand",
             "allocated");
  for (size_t i = 0; i < nn::kCategoryCount; ++i) {
    const auto category = static_cast<nn::Category>(i);
    fmt::print("  {:<22} {:>14} {:>14}   {:>14} {:>14}\n", nn::categoryName(category), peak.bytes[category],
               ledger.atPeak()[category], byHand[category], ledger.peaks()[category]);
  }
  fmt::print("  {:<22} {:>14} {:>14}\n", "total", peak.bytes.total(), ledger.atPeak().total());
}

}  // namespace

double Progress::medianMilliseconds() const {
  std::vector<double> sorted(m_milliseconds.begin() + (m_milliseconds.size() > 1 ? 1 : 0), m_milliseconds.end());
  std::sort(sorted.begin(), sorted.end());
  const size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

void printHeader(const Options& o, int ranks) {
  const ModelShape shape = o.shape(ranks);
  const GroupLayout block = blockLayout(shape, 0);
  const GroupLayout root = rootLayout(shape);
  const size_t total = root.count() + static_cast<size_t>(o.layers) * block.count();
  fmt::print(
      "fsdp on {}: {} ranks, {} layers, dim {}, {} heads, vocabulary {}, batch {} x {} tokens, {} parameters, {}\n",
      nn::deviceName(), ranks, o.layers, o.dim, o.heads, o.vocabulary, o.batch, o.sequence, total,
      o.policy.parameterDtype == nn::Dtype::kFloat32
          ? "fp32"
          : fmt::format("{} compute with fp32 shards", name(o.policy.parameterDtype)));
  const std::string policy = describe(o.policy, ranks);
  if (!policy.empty()) fmt::print("  {}\n", policy);
  printGroup(root, o.policy.shards(ranks), o.policy);
  GroupLayout each = block;
  each.name = "each block";
  printGroup(each, o.policy.shards(ranks), o.policy);
}

void printStep(const Progress& progress, const nn::MemoryLedger& memory) {
  fmt::print("step {:<3}  loss {:.4f}  {:>9.2f} ms  peak {}\n", progress.step(), progress.losses().back(),
             progress.milliseconds().back(), mebibytes(memory.atPeak().total()));
}

void printSummary(const Options& o, int ranks, const Trainer& trainer, const Progress& progress) {
  const int steps = static_cast<int>(progress.losses().size());
  fmt::print("\n{} steps, loss {:.4f} -> {:.4f}, median {:.2f} ms per step after the first\n", steps,
             progress.losses().front(), progress.losses().back(), progress.medianMilliseconds());
  const StepCollectives& done = trainer.collectives();
  fmt::print("Per step and rank: {} forward all-gathers, {} backward all-gathers, {} reduce-scatters, ",
             done.forwardGathers, done.backwardGathers, done.reduceScatters);
  if (done.gradientAllReduces > 0) fmt::print("{} all-reduces of gradients, ", done.gradientAllReduces);
  fmt::print("1 all-reduce (loss)\n");
  printMemory(o, ranks, trainer.memory());
}

void check(const Options& o, int ranks, const Trainer& trainer, const Progress& progress, nn::Checks& checks) {
  const auto moments = memoryMoments(o.shape(ranks), ranks, o.policy);
  checks.expect(trainer.collectives() == plannedCollectives(o.shape(ranks), o.policy),
                "the last step's collectives are those that follow from the options");
  checks.expect(trainer.memory().atPeak().bytes == peakMoment(moments).bytes.bytes &&
                    trainer.memory().peaks().bytes == categoryPeaks(moments).bytes,
                "the peak of memory is the one calculated by hand, in every category",
                fmt::format("{} bytes", trainer.memory().atPeak().total()));
  const std::vector<float>& losses = progress.losses();
  checks.expect(std::all_of(losses.begin(), losses.end(), [](float loss) { return std::isfinite(loss); }),
                "every loss is finite");
  // Fewer steps, or others than usual, say nothing about the training.
  if (losses.size() >= kStepsThatLearn && o.learningRate == Options{}.learningRate)
    checks.expect(losses.back() < losses.front(), "the loss falls",
                  fmt::format("{:.4f} to {:.4f}", losses.front(), losses.back()));
}

}  // namespace plumb::fsdp
