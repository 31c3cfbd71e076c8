// SPDX-License-Identifier: Apache-2.0
#include "workloads/fsdp/memory_plan.h"

#include <algorithm>

#include "workloads/nn/gemm.h"
#include "workloads/nn/operations.h"

namespace plumb::fsdp {

using nn::Category;
using nn::CategoryBytes;

std::vector<MemoryMoment> memoryMoments(const ModelShape& shape, int ranks, nn::Dtype compute) {
  constexpr size_t kFloat = sizeof(float);
  const size_t element = nn::sizeOf(compute);
  const size_t layers = static_cast<size_t>(shape.layers);
  const GroupLayout block = blockLayout(shape, 0);
  const GroupLayout root = rootLayout(shape);
  const size_t shards = layers * block.shard(ranks) + root.shard(ranks);

  // Activations: row is one value per token and dimension, statistic one fp32 value per token.
  const size_t row = shape.tokens() * shape.dim * element;
  const size_t statistic = shape.tokens() * kFloat;
  const size_t scores = shape.scores() * element;
  const size_t logits = shape.tokens() * shape.vocabulary * element;
  // norm 1, qkv, attention, middle, norm 2, up, hidden, output
  const size_t blockKept = (1 + 3 + 1 + 1 + 1 + 4 + 4 + 1) * row + scores + 2 * statistic;
  const size_t kept = row + layers * blockKept + kFloat;  // with the embedding's output and the loss

  CategoryBytes always;
  always[Category::kParameter] = shards * kFloat;
  always[Category::kGradient] = shards * kFloat;
  always[Category::kOptimizerState] = 2 * shards * kFloat;
  always[Category::kInput] = 2 * shape.tokens() * sizeof(int);
  always[Category::kWorkspace] =
      static_cast<size_t>(nn::kColumnChunks) * shape.dim * kFloat + nn::Gemm::workspaceBytes();
  always[Category::kCommunicationBuffer] = root.padded(ranks) * element;

  MemoryMoment head{"head backward", always};
  head.bytes[Category::kGradient] += root.padded(ranks) * kFloat;
  head.bytes[Category::kCommunicationBuffer] += block.padded(ranks) * element;
  // the final norm's output and its gradient, the residual stream's gradient
  head.bytes[Category::kActivation] = kept + logits + 3 * row + 3 * statistic;

  // The last block, with the one before it being gathered.
  CategoryBytes last = always;
  last[Category::kGradient] += (root.padded(ranks) + block.padded(ranks)) * kFloat;
  last[Category::kCommunicationBuffer] += std::min<size_t>(2, layers) * block.padded(ranks) * element;

  MemoryMoment feedForward{"last block, feed-forward backward", last};
  // gone: output; new: gradients of the residual stream, of norm 2 and of hidden
  feedForward.bytes[Category::kActivation] = kept - row + (1 + 1 + 4) * row;

  MemoryMoment attention{"last block, attention backward", last};
  // gone: output, hidden, up, norm 2, middle, attention; new: gradients of the residual stream, of norm 1, of
  // attention, of qkv and of the scores
  attention.bytes[Category::kActivation] =
      kept - (1 + 4 + 4 + 1 + 1 + 1) * row - statistic + (1 + 1 + 1 + 3) * row + scores;

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
