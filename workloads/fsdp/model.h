// SPDX-License-Identifier: Apache-2.0
// The decoder transformer's shape: dimensions, and how the parameters of a block and of the root lie in one flat array.
// L blocks of RMSNorm, causal multi-head attention, RMSNorm, SiLU feed-forward of 4 dim; around them the root: token
// embedding, final RMSNorm, head. No biases, and no position encoding: the causal mask alone tells the order (NoPE).
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "workloads/nn/tensor.h"

namespace plumb::fsdp {

struct ModelShape {
  int layers = 0;
  int dim = 0;
  int heads = 0;
  int vocabulary = 0;
  int batch = 0;  // sequences of one rank
  int sequence = 0;

  size_t tokens() const { return static_cast<size_t>(batch) * sequence; }
  int headDim() const { return dim / heads; }
  int hidden() const { return 4 * dim; }
  size_t scores() const { return tokens() * heads * sequence; }  // elements of one block's attention matrices
};

struct ParameterSpec {
  std::string name;
  size_t count;
  float scale;  // initial values: offset + scale * uniform [-1, 1)
  float offset;
};

// Shards start at multiples of this many elements, so that vector accesses stay aligned.
inline constexpr size_t kShardAlignment = 8;

// The parameters that are gathered and reduced together: one flat array, padded so that all ranks have equal shards.
struct GroupLayout {
  std::string name;
  std::vector<ParameterSpec> parameters;

  size_t count() const;               // without padding
  size_t offset(size_t index) const;  // of a parameter, in elements
  size_t padded(int ranks) const;
  size_t shard(int ranks) const { return padded(ranks) / static_cast<size_t>(ranks); }
};

// Indices into the layouts.
enum BlockParameter : size_t { kNorm1Gain, kQkv, kAttentionOut, kNorm2Gain, kUp, kDown };
enum RootParameter : size_t { kEmbedding, kFinalGain, kHead };

GroupLayout blockLayout(const ModelShape& shape, int block);
GroupLayout rootLayout(const ModelShape& shape);

}  // namespace plumb::fsdp
