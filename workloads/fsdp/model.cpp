// SPDX-License-Identifier: Apache-2.0
#include "workloads/fsdp/model.h"

#include <cmath>

namespace plumb::fsdp {
namespace {

// The half width of a uniform distribution of standard deviation 1 / sqrt(inputs).
float scaleFor(int inputs) { return std::sqrt(3.0f / static_cast<float>(inputs)); }

size_t product(int a, int b) { return static_cast<size_t>(a) * static_cast<size_t>(b); }

}  // namespace

size_t GroupLayout::count() const { return offset(parameters.size()); }

size_t GroupLayout::offset(size_t index) const {
  size_t elements = 0;
  for (size_t i = 0; i < index; ++i) elements += parameters[i].count;
  return elements;
}

size_t GroupLayout::padded(int ranks) const {
  const size_t unit = kShardAlignment * static_cast<size_t>(ranks);
  return (count() + unit - 1) / unit * unit;
}

GroupLayout blockLayout(const ModelShape& shape, int block) {
  const int d = shape.dim;
  const int hidden = shape.hidden();
  // What is added to the residual stream starts smaller the deeper the model is.
  const float residual = 1.0f / std::sqrt(2.0f * static_cast<float>(shape.layers));
  return {"block " + std::to_string(block),
          {{"norm 1 gain", static_cast<size_t>(d), 0.0f, 1.0f},
           {"qkv", product(d, 3 * d), scaleFor(d), 0.0f},
           {"attention out", product(d, d), scaleFor(d) * residual, 0.0f},
           {"norm 2 gain", static_cast<size_t>(d), 0.0f, 1.0f},
           {"up", product(d, hidden), scaleFor(d), 0.0f},
           {"down", product(hidden, d), scaleFor(hidden) * residual, 0.0f}}};
}

GroupLayout rootLayout(const ModelShape& shape) {
  const int d = shape.dim;
  return {"root",
          {{"embedding", product(shape.vocabulary, d), 1.0f, 0.0f},
           {"final gain", static_cast<size_t>(d), 0.0f, 1.0f},
           {"head", product(d, shape.vocabulary), 0.5f * scaleFor(d), 0.0f}}};
}

}  // namespace plumb::fsdp
