// SPDX-License-Identifier: Apache-2.0
#include "workloads/fsdp/transformer.h"

#include <cmath>

#include "workloads/nn/nvtx.h"
#include "workloads/nn/operations.h"

namespace plumb::fsdp {

using nn::Buffer;
using nn::Matrix;
using nn::Range;
using nn::Tensor;

namespace {

struct Sizes {
  explicit Sizes(const ModelShape& shape)
      : tokens(static_cast<int>(shape.tokens())),
        dim(shape.dim),
        hidden(shape.hidden()),
        vocabulary(shape.vocabulary) {}
  int tokens, dim, hidden, vocabulary;
};

}  // namespace

// --- block

const Tensor& Block::forward(const Compute& c, const FlatTensors& weights, const Tensor& in) {
  const Range range(m_name);
  const Sizes s(c.shape);
  forwardToHidden(c, weights, in);
  m_output = c.activation(m_name + "/output", c.shape.tokens() * c.shape.dim);
  {
    const Range projection("down projection");
    c.gemm.multiply(s.tokens, s.dim, s.hidden, {m_hidden, s.hidden}, {weights[kDown], s.dim}, {m_output, s.dim});
  }
  nn::add(c.stream, m_middle, m_output, m_output);
  return m_output;
}

void Block::dropActivations() {
  for (Buffer* buffer : {&m_norm1Rms, &m_norm1, &m_qkv, &m_probabilities, &m_attention, &m_middle, &m_norm2Rms,
                         &m_norm2, &m_up, &m_hidden})
    buffer->reset();
}

void Block::drop() {
  dropActivations();
  m_output.reset();
}

// The backward pass needs all but the result.
void Block::recompute(const Compute& c, const FlatTensors& weights, const Tensor& in) {
  const Range range("recompute " + m_name);
  m_output.reset();
  forwardToHidden(c, weights, in);
}

void Block::forwardToHidden(const Compute& c, const FlatTensors& weights, const Tensor& in) {
  const Sizes s(c.shape);
  const size_t width = c.shape.tokens() * c.shape.dim;

  m_norm1Rms = c.statistic(m_name + "/norm 1 rms", c.shape.tokens());
  m_norm1 = c.activation(m_name + "/norm 1", width);
  nn::rmsNormForward(c.stream, in, weights[kNorm1Gain], m_norm1, m_norm1Rms);
  m_qkv = c.activation(m_name + "/qkv", 3 * width);
  {
    const Range projection("qkv projection");
    c.gemm.multiply(s.tokens, 3 * s.dim, s.dim, {m_norm1, s.dim}, {weights[kQkv], 3 * s.dim}, {m_qkv, 3 * s.dim});
  }
  m_probabilities = c.activation(m_name + "/attention probabilities", c.shape.scores());
  m_attention = c.activation(m_name + "/attention", width);
  attentionForward(c);
  m_middle = c.activation(m_name + "/middle", width);
  {
    const Range projection("attention out projection");
    c.gemm.multiply(s.tokens, s.dim, s.dim, {m_attention, s.dim}, {weights[kAttentionOut], s.dim}, {m_middle, s.dim});
  }
  nn::add(c.stream, in, m_middle, m_middle);

  m_norm2Rms = c.statistic(m_name + "/norm 2 rms", c.shape.tokens());
  m_norm2 = c.activation(m_name + "/norm 2", width);
  nn::rmsNormForward(c.stream, m_middle, weights[kNorm2Gain], m_norm2, m_norm2Rms);
  m_up = c.activation(m_name + "/up", 4 * width);
  {
    const Range projection("up projection");
    c.gemm.multiply(s.tokens, s.hidden, s.dim, {m_norm2, s.dim}, {weights[kUp], s.hidden}, {m_up, s.hidden});
  }
  m_hidden = c.activation(m_name + "/hidden", 4 * width);
  nn::siluForward(c.stream, m_up, m_hidden);
}

// qkv lies [token][q k v][head][headDim]: the heads of one sequence are a batch at a distance of headDim.
void Block::attentionForward(const Compute& c) {
  const int sequence = c.shape.sequence;
  const int dim = c.shape.dim;
  const int headDim = c.shape.headDim();
  const size_t perSequence = static_cast<size_t>(sequence) * dim;
  const size_t matrices = static_cast<size_t>(c.shape.heads) * sequence * sequence;
  const long long matrix = static_cast<long long>(sequence) * sequence;
  const float scale = 1.0f / std::sqrt(static_cast<float>(headDim));
  {
    const Range range("attention scores");
    for (int b = 0; b < c.shape.batch; ++b) {
      const Tensor qkv = m_qkv.tensor().slice(b * 3 * perSequence, 3 * perSequence);
      const Matrix q{qkv, 3 * dim};
      const Matrix kTransposed{qkv.slice(dim, 0), 3 * dim, true};
      const Matrix scores{m_probabilities.tensor().slice(b * matrices, matrices), sequence};
      c.gemm.multiplyBatch(sequence, sequence, headDim, q, headDim, kTransposed, headDim, scores, matrix, c.shape.heads,
                           scale);
    }
  }
  nn::causalSoftmaxForward(c.stream, m_probabilities, sequence);
  const Range range("attention values");
  for (int b = 0; b < c.shape.batch; ++b) {
    const Tensor qkv = m_qkv.tensor().slice(b * 3 * perSequence, 3 * perSequence);
    const Matrix p{m_probabilities.tensor().slice(b * matrices, matrices), sequence};
    const Matrix v{qkv.slice(2 * dim, 0), 3 * dim};
    const Matrix out{m_attention.tensor().slice(b * perSequence, perSequence), dim};
    c.gemm.multiplyBatch(sequence, headDim, sequence, p, matrix, v, headDim, out, headDim, c.shape.heads);
  }
}

void Block::attentionBackward(const Compute& c, const Tensor& outGradient, const Tensor& qkvGradient) {
  const int sequence = c.shape.sequence;
  const int dim = c.shape.dim;
  const int headDim = c.shape.headDim();
  const int heads = c.shape.heads;
  const size_t perSequence = static_cast<size_t>(sequence) * dim;
  const size_t matrices = static_cast<size_t>(heads) * sequence * sequence;
  const long long matrix = static_cast<long long>(sequence) * sequence;
  const float scale = 1.0f / std::sqrt(static_cast<float>(headDim));
  const Buffer scoreGradient = c.activation(m_name + "/score gradient", c.shape.scores());
  {
    const Range range("attention values backward");
    for (int b = 0; b < c.shape.batch; ++b) {
      const Tensor qkv = m_qkv.tensor().slice(b * 3 * perSequence, 3 * perSequence);
      const Tensor qkvGrad = qkvGradient.slice(b * 3 * perSequence, 3 * perSequence);
      const Matrix out{outGradient.slice(b * perSequence, perSequence), dim};
      const Tensor p = m_probabilities.tensor().slice(b * matrices, matrices);
      const Tensor pGrad = scoreGradient.tensor().slice(b * matrices, matrices);
      c.gemm.multiplyBatch(sequence, sequence, headDim, out, headDim, {qkv.slice(2 * dim, 0), 3 * dim, true}, headDim,
                           {pGrad, sequence}, matrix, heads);
      c.gemm.multiplyBatch(sequence, headDim, sequence, {p, sequence, true}, matrix, out, headDim,
                           {qkvGrad.slice(2 * dim, 0), 3 * dim}, headDim, heads);
    }
  }
  nn::causalSoftmaxBackward(c.stream, m_probabilities, scoreGradient, sequence);
  const Range range("attention scores backward");
  for (int b = 0; b < c.shape.batch; ++b) {
    const Tensor qkv = m_qkv.tensor().slice(b * 3 * perSequence, 3 * perSequence);
    const Tensor qkvGrad = qkvGradient.slice(b * 3 * perSequence, 3 * perSequence);
    const Tensor pGrad = scoreGradient.tensor().slice(b * matrices, matrices);
    c.gemm.multiplyBatch(sequence, headDim, sequence, {pGrad, sequence}, matrix, {qkv.slice(dim, 0), 3 * dim}, headDim,
                         {qkvGrad, 3 * dim}, headDim, heads, scale);
    c.gemm.multiplyBatch(sequence, headDim, sequence, {pGrad, sequence, true}, matrix, {qkv, 3 * dim}, headDim,
                         {qkvGrad.slice(dim, 0), 3 * dim}, headDim, heads, scale);
  }
}

void Block::backward(const Compute& c, const FlatTensors& weights, const FlatTensors& gradients, const Tensor& in,
                     const Tensor& gradient) {
  const Range range(m_name);
  const Sizes s(c.shape);
  const size_t width = c.shape.tokens() * c.shape.dim;
  m_output.reset();

  const Buffer normGradient = c.activation(m_name + "/norm gradient", width);
  Buffer hiddenGradient = c.activation(m_name + "/hidden gradient", 4 * width);
  {
    const Range projection("down projection backward");
    c.gemm.multiply(s.hidden, s.dim, s.tokens, {m_hidden, s.hidden, true}, {gradient, s.dim},
                    {gradients[kDown], s.dim});
    c.gemm.multiply(s.tokens, s.hidden, s.dim, {gradient, s.dim}, {weights[kDown], s.dim, true},
                    {hiddenGradient, s.hidden});
  }
  m_hidden.reset();
  nn::siluBackward(c.stream, m_up, hiddenGradient);
  m_up.reset();
  {
    const Range projection("up projection backward");
    c.gemm.multiply(s.dim, s.hidden, s.tokens, {m_norm2, s.dim, true}, {hiddenGradient, s.hidden},
                    {gradients[kUp], s.hidden});
    c.gemm.multiply(s.tokens, s.dim, s.hidden, {hiddenGradient, s.hidden}, {weights[kUp], s.hidden, true},
                    {normGradient, s.dim});
  }
  hiddenGradient.reset();
  m_norm2.reset();
  nn::rmsNormGainBackward(c.stream, m_middle, m_norm2Rms, normGradient, c.scratch, gradients[kNorm2Gain]);
  nn::rmsNormBackward(c.stream, m_middle, weights[kNorm2Gain], m_norm2Rms, normGradient, gradient, gradient);
  m_norm2Rms.reset();
  m_middle.reset();

  const Buffer attentionGradient = c.activation(m_name + "/attention gradient", width);
  const Buffer qkvGradient = c.activation(m_name + "/qkv gradient", 3 * width);
  {
    const Range projection("attention out projection backward");
    c.gemm.multiply(s.dim, s.dim, s.tokens, {m_attention, s.dim, true}, {gradient, s.dim},
                    {gradients[kAttentionOut], s.dim});
    c.gemm.multiply(s.tokens, s.dim, s.dim, {gradient, s.dim}, {weights[kAttentionOut], s.dim, true},
                    {attentionGradient, s.dim});
  }
  m_attention.reset();
  attentionBackward(c, attentionGradient, qkvGradient);
  m_probabilities.reset();
  m_qkv.reset();
  {
    const Range projection("qkv projection backward");
    c.gemm.multiply(s.dim, 3 * s.dim, s.tokens, {m_norm1, s.dim, true}, {qkvGradient, 3 * s.dim},
                    {gradients[kQkv], 3 * s.dim});
    c.gemm.multiply(s.tokens, s.dim, 3 * s.dim, {qkvGradient, 3 * s.dim}, {weights[kQkv], 3 * s.dim, true},
                    {normGradient, s.dim});
  }
  m_norm1.reset();
  nn::rmsNormGainBackward(c.stream, in, m_norm1Rms, normGradient, c.scratch, gradients[kNorm1Gain]);
  nn::rmsNormBackward(c.stream, in, weights[kNorm1Gain], m_norm1Rms, normGradient, gradient, gradient);
  m_norm1Rms.reset();
}

// --- root

const Tensor& Root::embed(const Compute& c, const FlatTensors& weights, const Tensor& ids) {
  const Range range("embedding");
  m_embedded = c.activation("embedding/output", c.shape.tokens() * c.shape.dim);
  nn::embeddingForward(c.stream, weights[kEmbedding], ids, m_embedded);
  return m_embedded;
}

void Root::headForward(const Compute& c, const FlatTensors& weights, const Tensor& in, const Tensor& targets,
                       const Tensor& loss, float factor) {
  const Sizes s(c.shape);
  {
    const Range range("head");
    m_normRms = c.statistic("head/norm rms", c.shape.tokens());
    m_norm = c.activation("head/norm", c.shape.tokens() * c.shape.dim);
    nn::rmsNormForward(c.stream, in, weights[kFinalGain], m_norm, m_normRms);
    m_logits = c.activation("head/logits", c.shape.tokens() * c.shape.vocabulary);
    const Range projection("head projection");
    c.gemm.multiply(s.tokens, s.vocabulary, s.dim, {m_norm, s.dim}, {weights[kHead], s.vocabulary},
                    {m_logits, s.vocabulary});
  }
  const Range range("loss");
  m_losses = c.statistic("loss/per token", c.shape.tokens());
  m_logSum = c.statistic("loss/log sum", c.shape.tokens());
  nn::crossEntropyForward(c.stream, m_logits, targets, m_losses, m_logSum);
  nn::sum(c.stream, m_losses, loss, factor);
}

Buffer Root::headBackward(const Compute& c, const FlatTensors& weights, const FlatTensors& gradients, const Tensor& in,
                          const Tensor& targets, float factor) {
  const Sizes s(c.shape);
  {
    const Range range("loss");
    nn::crossEntropyBackward(c.stream, m_logits, targets, m_logSum, factor);
  }
  const Range range("head");
  const Buffer normGradient = c.activation("head/norm gradient", c.shape.tokens() * c.shape.dim);
  Buffer gradient = c.activation("residual gradient", c.shape.tokens() * c.shape.dim);
  {
    const Range projection("head projection backward");
    c.gemm.multiply(s.dim, s.vocabulary, s.tokens, {m_norm, s.dim, true}, {m_logits, s.vocabulary},
                    {gradients[kHead], s.vocabulary});
    c.gemm.multiply(s.tokens, s.dim, s.vocabulary, {m_logits, s.vocabulary}, {weights[kHead], s.vocabulary, true},
                    {normGradient, s.dim});
  }
  m_logits.reset();
  m_losses.reset();
  m_logSum.reset();
  nn::rmsNormGainBackward(c.stream, in, m_normRms, normGradient, c.scratch, gradients[kFinalGain]);
  nn::rmsNormBackward(c.stream, in, weights[kFinalGain], m_normRms, normGradient, {}, gradient);
  m_norm.reset();
  m_normRms.reset();
  return gradient;
}

void Root::embeddingBackward(const Compute& c, const FlatTensors& gradients, const Tensor& ids, Buffer gradient) {
  const Range range("embedding");
  nn::embeddingBackward(c.stream, gradient, ids, gradients[kEmbedding]);
  m_embedded.reset();
}

void Root::drop() {
  for (Buffer* buffer : {&m_embedded, &m_normRms, &m_norm, &m_logits, &m_losses, &m_logSum}) buffer->reset();
}

}  // namespace plumb::fsdp
