// SPDX-License-Identifier: Apache-2.0
// The mixed-precision training loop.
#pragma once
#include <memory>

#include "workloads/amp/grad_scaler.h"
#include "workloads/amp/mlp.h"
#include "workloads/amp/options.h"
#include "workloads/nn/stream.h"

namespace plumb::amp {

// Made-up regression: count samples of inputs uniform numbers in [-1, 1), and a smooth function of the first four.
void makeSamples(uint64_t seed, uint64_t firstSample, int count, int inputs, float* x, float* y);

// What fp16 does to a model that is half as a whole; shares of all weights (0 … 1).
struct HalfHealth {
  double zeroMoments;  // AdamW's v is 0 though the gradient is not: its square is too small for fp16
  double lostUpdates;  // the weight is what it was, though its gradient is not 0
  double nonFinite;    // the weight is inf or nan
};

// Shares of the weights' gradients (0 … 1).
struct GradientShares {
  double zero;       // exactly 0
  double nonFinite;  // inf or nan
};

// In which types the training keeps and computes what.
struct Types {
  nn::Dtype products;    // results of matrix products, activations
  nn::Dtype parameters;  // weights, gradients and AdamW's moments
  nn::Dtype loss;
};

struct StepResult {
  float loss;    // mean squared error of the batch, unscaled
  bool skipped;  // a gradient was not finite
};

class Trainer {
 public:
  // Allocates and initialises on the current device. options: with its defaults chosen.
  explicit Trainer(const Options& options);
  ~Trainer();

  StepResult step(int step);
  // Mean squared error in fp32 on samples that training never sees.
  float evaluate();
  // Of the weights since the last call or the start; reads all of them.
  HalfHealth health();

  // Of the gradients of a loss with the weight kSmallLoss on samples that training never sees, in the precision of the
  // training with the loss multiplied by scale; in fp32 if exact.
  GradientShares gradientShares(float scale, bool exact);
  // As the tensors are. Throws nn::DeviceError when parameters differ.
  Types types();

  const nn::MemoryLedger& memory() const { return m_ledger; }
  const GradScaler& scaler() const { return m_scaler; }
  bool scalesLoss() const { return m_options.scalesLoss(); }

 private:
  void loadBatch(uint64_t firstSample);
  const nn::Tensor& forward();
  void backward(const nn::Tensor& prediction);
  bool unscale();  // whether all gradients are finite
  void update();
  std::vector<float> download(const nn::Tensor& tensor);

  Options m_options;
  nn::MemoryLedger m_ledger;
  nn::Stream m_stream;
  nn::Gemm m_gemm;
  nn::Buffer m_scratch, m_x, m_y, m_losses, m_loss, m_foundNonFinite;
  nn::PinnedArray<float> m_hostX, m_hostY, m_hostLoss;
  nn::PinnedArray<int> m_hostFound;
  Compute m_context;
  std::unique_ptr<Mlp> m_mlp;
  GradScaler m_scaler;
  int m_updates = 0;
  std::vector<std::vector<float>> m_before;  // each parameter's weights when health() was asked last
};

}  // namespace plumb::amp
