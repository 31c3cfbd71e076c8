// SPDX-License-Identifier: Apache-2.0
#include "workloads/fsdp/memory_plan.h"

#include <algorithm>

#include "workloads/nn/gemm.h"
#include "workloads/nn/operations.h"

namespace plumb::fsdp {

using nn::Category;
using nn::CategoryBytes;

namespace {

constexpr size_t kFloat = sizeof(float);

// What does not depend on the distribution: bytes of one rank's activations.
struct Activations {
  explicit Activations(const ModelShape& shape, size_t element)
      : row(shape.tokens() * shape.dim * element),
        statistic(shape.tokens() * kFloat),
        scores(shape.scores() * element),
        logits(shape.tokens() * shape.vocabulary * element) {}

  size_t row;        // one value per token and dimension
  size_t statistic;  // one fp32 value per token
  size_t scores, logits;

  // norm 1, qkv, attention, middle, norm 2, up, hidden, output
  size_t block() const { return (1 + 3 + 1 + 1 + 1 + 4 + 4 + 1) * row + scores + 2 * statistic; }
};

// Gathered or cast weights: the root's and those of some blocks.
void addWholeWeights(CategoryBytes& bytes, const ModelShape& shape, int shards, const Policy& policy, size_t blocks) {
  if (policy.ddp && policy.parameterDtype == nn::Dtype::kFloat32) return;  // used as they are
  const size_t elements = rootLayout(shape).padded(shards) + blocks * blockLayout(shape, 0).padded(shards);
  const Category category = policy.ddp ? Category::kParameter : Category::kCommunicationBuffer;
  bytes[category] += elements * nn::sizeOf(policy.parameterDtype);
}

}  // namespace

std::vector<MemoryMoment> memoryMoments(const ModelShape& shape, int ranks, const Policy& policy) {
  const int shards = policy.shards(ranks);
  const size_t layers = static_cast<size_t>(shape.layers);
  const size_t block = blockLayout(shape, 0).padded(shards);
  const size_t root = rootLayout(shape).padded(shards);
  const size_t part = (layers * block + root) / static_cast<size_t>(shards);
  const Activations a(shape, nn::sizeOf(policy.parameterDtype));

  CategoryBytes always;
  always[Category::kParameter] = part * kFloat;
  always[Category::kGradient] = part * kFloat;
  always[Category::kOptimizerState] = 2 * part * kFloat;
  always[Category::kInput] = 2 * shape.tokens() * sizeof(int);
  always[Category::kWorkspace] =
      static_cast<size_t>(nn::kColumnChunks) * shape.dim * kFloat + nn::Gemm::workspaceBytes();
  // Whole gradients of the micro steps before; DDP has them in its buckets.
  const bool accumulates = policy.accumulate > 1;
  if (accumulates && !policy.ddp) always[Category::kGradient] += (root + layers * block) * kFloat;
  // Whole gradients of this micro step. DDP writes those of the first straight into its buckets.
  const bool hasOwn = !policy.ddp || accumulates;

  // After the forward pass: the embedding's output, the blocks' activations (with checkpointing their outputs), losses.
  const size_t losses = static_cast<size_t>(policy.accumulate) * kFloat;
  const size_t kept = a.row + losses + layers * (policy.checkpointActivations ? a.row : a.block());
  // When the last block's backward pass begins, all of its activations are there.
  const size_t keptAtLast = policy.checkpointActivations ? kept - a.row + a.block() : kept;

  MemoryMoment head{"head backward", always};
  if (hasOwn) head.bytes[Category::kGradient] += root * kFloat;
  const size_t ahead = std::min<size_t>(static_cast<size_t>(policy.prefetch), layers);
  addWholeWeights(head.bytes, shape, shards, policy, policy.keepsWeights() ? layers : ahead);
  // the final norm's output and its gradient, the residual stream's gradient
  head.bytes[Category::kActivation] = kept + a.logits + 3 * a.row + 3 * a.statistic;

  // The last block, with those before it being gathered.
  CategoryBytes last = always;
  if (hasOwn) last[Category::kGradient] += (root + block) * kFloat;
  addWholeWeights(last, shape, shards, policy, policy.keepsWeights() ? layers : std::min(ahead + 1, layers));

  MemoryMoment feedForward{"last block, feed-forward backward", last};
  // gone: output; new: gradients of the residual stream, of norm 2 and of hidden
  feedForward.bytes[Category::kActivation] = keptAtLast - a.row + (1 + 1 + 4) * a.row;

  MemoryMoment attention{"last block, attention backward", last};
  // gone: output, hidden, up, norm 2, middle, attention; new: gradients of the residual stream, of norm 1, of
  // attention, of qkv and of the scores
  attention.bytes[Category::kActivation] =
      keptAtLast - (1 + 4 + 4 + 1 + 1 + 1) * a.row - a.statistic + (1 + 1 + 1 + 3) * a.row + a.scores;

  return {head, feedForward, attention};
}

MemoryMoment peakMoment(const std::vector<MemoryMoment>& moments) {
  return *std::max_element(moments.begin(), moments.end(), [](const MemoryMoment& a, const MemoryMoment& b) {
    return a.bytes.total() < b.bytes.total();
  });
}

CategoryBytes categoryPeaks(const std::vector<MemoryMoment>& moments) {
  CategoryBytes peaks;
  for (const MemoryMoment& moment : moments)
    for (size_t i = 0; i < nn::kCategoryCount; ++i) peaks.bytes[i] = std::max(peaks.bytes[i], moment.bytes.bytes[i]);
  return peaks;
}

}  // namespace plumb::fsdp
