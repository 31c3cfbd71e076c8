// SPDX-License-Identifier: Apache-2.0
// An MLP whose tensors come and go as a framework's do: gradients appear in the backward pass, the optimizer's state
// in its first step, and both stay.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "workloads/nn/gemm.h"
#include "workloads/nn/memory.h"
#include "workloads/nn/stream.h"

namespace plumb::lessons {

struct MlpShape {
  std::vector<int> widths;  // of the input, the hidden layers and the output
  int batch;

  [[nodiscard]] size_t layers() const { return widths.size() - 1; }
  [[nodiscard]] size_t weightOf(size_t layer) const;  // elements
  [[nodiscard]] size_t biasOf(size_t layer) const { return static_cast<size_t>(widths[layer + 1]); }
  [[nodiscard]] size_t parameters() const;
  [[nodiscard]] size_t outputOf(size_t layer) const;  // elements of the layer's result
};

// How AdamW's denominators, as large as what they belong to, are held.
enum class Optimizer {
  kSgd,
  kMomentum,
  kAdamwForeach,   // all at once: one kernel list over all parameters, as foreach=True
  kAdamwOneByOne,  // one parameter's at a time, as foreach=False
  kAdamwFused,     // none: one kernel does it all
};
const char* nameOf(Optimizer optimizer);

// Not thread-safe. Everything is allocated on one stream and freed with the object.
class MlpTraining {
 public:
  MlpTraining(const MlpShape& shape, Optimizer optimizer);
  ~MlpTraining();
  MlpTraining(const MlpTraining&) = delete;
  MlpTraining& operator=(const MlpTraining&) = delete;

  void forward();
  void backward();
  void optimizerStep();
  // The mean squared error of the last forward pass. Waits for the device.
  float loss() const;
  const nn::MemoryLedger& memory() const { return m_ledger; }

 private:
  struct Parameter {
    std::string name;
    nn::Buffer weight, gradient, m, v;
  };
  struct Layer {
    Parameter weight, bias;
    nn::Buffer output;
  };
  nn::Buffer buffer(nn::Category category, const std::string& name, size_t count);
  void addParameter(Parameter& parameter, const std::string& name, size_t count, uint64_t seed, float scale);
  void backward(size_t layer, const nn::Tensor& gradient);
  const nn::Tensor& inputOf(size_t layer) const;
  std::vector<Parameter*> parameters();
  void zeroState(nn::Buffer& state, const Parameter& parameter, const char* suffix);
  void adamwInParts(bool allAtOnce);

  MlpShape m_shape;
  Optimizer m_optimizer;
  nn::Stream m_stream;
  nn::MemoryLedger m_ledger;
  nn::Gemm m_gemm;
  std::vector<Layer> m_layers;
  nn::Buffer m_input, m_target, m_scratch, m_loss;
  int m_steps = 0;
};

}  // namespace plumb::lessons
