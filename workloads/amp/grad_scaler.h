// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace plumb::amp {

// Dynamic loss scaling: the loss is multiplied by scale() before the backward pass, the gradients divided by it after.
// A step whose gradients are not all finite is skipped and halves the scale; enough good ones in a row double it.
class GradScaler {
 public:
  GradScaler(float initialScale, int growthInterval) : m_scale(initialScale), m_growthInterval(growthInterval) {}

  float scale() const { return m_scale; }
  int skippedSteps() const { return m_skipped; }

  // Takes note of a step; returns whether its gradients may be used.
  bool update(bool allFinite) {
    if (!allFinite) {
      m_scale *= 0.5f;
      m_goodSteps = 0;
      ++m_skipped;
      return false;
    }
    if (++m_goodSteps == m_growthInterval) {
      m_scale *= 2.0f;
      m_goodSteps = 0;
    }
    return true;
  }

 private:
  float m_scale;
  int m_growthInterval;
  int m_goodSteps = 0;
  int m_skipped = 0;
};

}  // namespace plumb::amp
