// SPDX-License-Identifier: Apache-2.0
// Honest statistics of repeated measurements.
#pragma once
#include <algorithm>
#include <vector>

namespace plumb::lessons {

// The p-quantile (0 … 1) by linear interpolation between the closest ranks. Requires at least one sample.
inline double quantile(std::vector<double> samples, double p) {
  std::sort(samples.begin(), samples.end());
  const double position = p * static_cast<double>(samples.size() - 1);
  const auto below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, samples.size() - 1);
  return samples[below] + (position - static_cast<double>(below)) * (samples[above] - samples[below]);
}

inline double median(const std::vector<double>& samples) { return quantile(samples, 0.5); }

}  // namespace plumb::lessons
