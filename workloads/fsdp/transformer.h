// SPDX-License-Identifier: Apache-2.0
// Forward and backward passes of a block and of the root, written by hand, on weights that somebody else gathers and on
// gradients that somebody else reduces. Everything is enqueued on one stream; nothing waits.
#pragma once
#include <cuda_runtime_api.h>

#include <string>

#include "workloads/fsdp/model.h"
#include "workloads/nn/gemm.h"
#include "workloads/nn/memory.h"

namespace plumb::fsdp {

// What every pass needs; outlives all that is made with it.
struct Compute {
  const ModelShape& shape;
  nn::Dtype dtype;  // of weights and activations
  cudaStream_t stream;
  nn::MemoryLedger& ledger;
  nn::Gemm& gemm;
  const nn::Tensor& scratch;  // kColumnChunks * dim floats

  nn::Buffer activation(const std::string& name, size_t count) const {
    return {ledger, stream, nn::Category::kActivation, name, dtype, count};
  }
  nn::Buffer statistic(const std::string& name, size_t count) const {
    return {ledger, stream, nn::Category::kActivation, name, nn::Dtype::kFloat32, count};
  }
};

// A flat array of a group and its layout: weights (compute dtype) or whole gradients (fp32).
struct FlatTensors {
  const GroupLayout& layout;
  nn::Tensor flat;

  nn::Tensor operator[](size_t index) const { return flat.slice(layout.offset(index), layout.parameters[index].count); }
};

class Block {
 public:
  explicit Block(std::string name) : m_name(std::move(name)) {}

  // Keeps what backward() needs. The input must stay until then; the result is kept here.
  const nn::Tensor& forward(const Compute& c, const FlatTensors& weights, const nn::Tensor& in);
  // Activation checkpointing: frees all that forward() kept but the result, and makes it again before backward().
  void dropActivations();
  void recompute(const Compute& c, const FlatTensors& weights, const nn::Tensor& in);
  // gradient: of the output, becomes that of the input. Writes all weight gradients and frees what forward() kept.
  void backward(const Compute& c, const FlatTensors& weights, const FlatTensors& gradients, const nn::Tensor& in,
                const nn::Tensor& gradient);
  // Frees everything after a forward pass that no backward pass follows.
  void drop();

 private:
  void forwardToHidden(const Compute& c, const FlatTensors& weights, const nn::Tensor& in);
  void attentionForward(const Compute& c);
  void attentionBackward(const Compute& c, const nn::Tensor& outGradient, const nn::Tensor& qkvGradient);

  std::string m_name;
  nn::Buffer m_norm1Rms, m_norm1, m_qkv, m_probabilities, m_attention;
  nn::Buffer m_middle;  // the residual stream between attention and feed-forward
  nn::Buffer m_norm2Rms, m_norm2, m_up, m_hidden, m_output;
};

// Embedding, final norm, head and loss.
class Root {
 public:
  const nn::Tensor& embed(const Compute& c, const FlatTensors& weights, const nn::Tensor& ids);
  // loss[0] = sum of the cross-entropy of this rank's tokens * factor.
  void headForward(const Compute& c, const FlatTensors& weights, const nn::Tensor& in, const nn::Tensor& targets,
                   const nn::Tensor& loss, float factor);
  // Returns the gradient of in. factor: what each token's loss counts in the total.
  nn::Buffer headBackward(const Compute& c, const FlatTensors& weights, const FlatTensors& gradients,
                          const nn::Tensor& in, const nn::Tensor& targets, float factor);
  void embeddingBackward(const Compute& c, const FlatTensors& gradients, const nn::Tensor& ids, nn::Buffer gradient);
  // Frees everything after a forward pass that no backward pass follows.
  void drop();

 private:
  nn::Buffer m_embedded, m_normRms, m_norm, m_logits, m_losses, m_logSum;
};

}  // namespace plumb::fsdp
