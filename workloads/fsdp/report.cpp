// SPDX-License-Identifier: Apache-2.0
#include "workloads/fsdp/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "workloads/fsdp/memory_plan.h"
#include "workloads/nn/device.h"

namespace plumb::fsdp {
namespace {

std::string mebibytes(size_t bytes) { return fmt::format("{:.2f} MiB", static_cast<double>(bytes) / (1 << 20)); }

void printGroup(const GroupLayout& layout, int ranks, nn::Dtype compute) {
  fmt::print("  {:<10} {:>12} parameters, shard {:>12}, all-gather {:>12} bytes, reduce-scatter {:>12} bytes\n",
             layout.name, layout.count(), layout.shard(ranks), layout.padded(ranks) * nn::sizeOf(compute),
             layout.padded(ranks) * sizeof(float));
}

void printMemory(const Options& options, int ranks, const nn::MemoryLedger& ledger) {
  const auto moments = memoryMoments(options.shape(ranks), ranks, options.compute);
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
      o.compute == nn::Dtype::kFloat32 ? "fp32" : "bf16 compute with fp32 shards");
  printGroup(root, ranks, o.compute);
  GroupLayout each = block;
  each.name = "each block";
  printGroup(each, ranks, o.compute);
}

void printStep(const Progress& progress, const nn::MemoryLedger& memory) {
  fmt::print("step {:<3}  loss {:.4f}  {:>9.2f} ms  peak {}\n", progress.step(), progress.losses().back(),
             progress.milliseconds().back(), mebibytes(memory.atPeak().total()));
}

void printSummary(const Options& o, int ranks, const Trainer& trainer, const Progress& progress) {
  const int steps = static_cast<int>(progress.losses().size());
  fmt::print("\n{} steps, loss {:.4f} -> {:.4f}, median {:.2f} ms per step after the first\n", steps,
             progress.losses().front(), progress.losses().back(), progress.medianMilliseconds());
  fmt::print(
      "Per step and rank: {} forward all-gathers, {} backward all-gathers, {} reduce-scatters, 1 all-reduce (loss)\n",
      o.layers + 1, o.layers, o.layers + 1);
  printMemory(o, ranks, trainer.memory());
}

}  // namespace plumb::fsdp
