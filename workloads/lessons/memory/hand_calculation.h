// SPDX-License-Identifier: Apache-2.0
// The same memory on paper: from the shape alone, bytes.
#pragma once
#include <algorithm>

#include "workloads/lessons/memory/training.h"
#include "workloads/nn/gemm.h"
#include "workloads/nn/operations.h"

namespace plumb::lessons {

struct HandCalculation {
  size_t model;     // parameters, and the fixed rest: input, target, scratch
  size_t forward;   // + every layer's output
  size_t backward;  // + gradients, - outputs
  size_t step;      // + optimizer state
  size_t peak;
};

// Bytes of optimizer state per parameter.
inline size_t stateBytesPerParameter(Optimizer optimizer) {
  return optimizer == Optimizer::kSgd ? 0 : optimizer == Optimizer::kMomentum ? 4 : 8;
}

// Bytes of the denominators that live at once.
inline size_t temporaryBytes(const MlpShape& shape, Optimizer optimizer) {
  if (optimizer == Optimizer::kAdamwForeach) return 4 * shape.parameters();
  if (optimizer != Optimizer::kAdamwOneByOne) return 0;
  size_t largest = 0;
  for (size_t layer = 0; layer < shape.layers(); ++layer) largest = std::max(largest, shape.weightOf(layer));
  return 4 * largest;
}

// The first step of a training.
inline HandCalculation calculate(const MlpShape& shape, Optimizer optimizer) {
  const size_t weights = 4 * shape.parameters();
  const auto rows = static_cast<size_t>(shape.batch);
  const auto widest = static_cast<size_t>(*std::max_element(shape.widths.begin(), shape.widths.end()));
  const size_t fixed =
      4 * (rows * static_cast<size_t>(shape.widths.front() + shape.widths.back()) + nn::kColumnChunks * widest + 1) +
      nn::Gemm::workspaceBytes();
  size_t outputs = 0;
  for (size_t layer = 0; layer < shape.layers(); ++layer) outputs += 4 * shape.outputOf(layer);
  const size_t prediction = 4 * shape.outputOf(shape.layers() - 1);

  HandCalculation bytes{weights + fixed, weights + fixed + outputs, 2 * weights + fixed, 0, 0};
  bytes.step = bytes.backward + stateBytesPerParameter(optimizer) * shape.parameters();
  bytes.peak = std::max(bytes.forward + prediction, bytes.step + temporaryBytes(shape, optimizer));
  // Backward: gradients of the layers so far, outputs of those before, the gradient at hand and the next one.
  size_t gradients = 0, kept = outputs;
  for (size_t layer = shape.layers(); layer-- > 0;) {
    const size_t own = 4 * shape.outputOf(layer);
    bytes.peak = std::max(bytes.peak, weights + fixed + gradients + kept + own);
    kept -= own;
    gradients += 4 * (shape.weightOf(layer) + shape.biasOf(layer));
    const size_t next = layer > 0 ? 4 * shape.outputOf(layer - 1) : 0;
    bytes.peak = std::max(bytes.peak, weights + fixed + gradients + kept + own + next);
  }
  return bytes;
}

}  // namespace plumb::lessons
