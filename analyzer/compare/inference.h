// SPDX-License-Identifier: Apache-2.0
// Is the difference between two samples more than chance? Welch's t interval for the difference of two means: no equal
// variances assumed, 95 % confidence.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace plumb::compare {

// Independent observations: one per step.
struct SampleMoments {
  int64_t count = 0;
  double mean = 0;
  double variance = 0;  // of the sample (n - 1); 0 for fewer than two
};
[[nodiscard]] SampleMoments momentsOf(const std::vector<double>& values);

struct Confidence {
  double low, high;  // of mean(b) - mean(a)
};
// None for fewer than three observations on a side: then no interval means anything.
[[nodiscard]] std::optional<Confidence> welchInterval(const SampleMoments& a, const SampleMoments& b);

// The 97.5 % quantile of Student's t with that many degrees of freedom (2 or more), to 0.05 %.
[[nodiscard]] double studentQuantile(double degreesOfFreedom);

}  // namespace plumb::compare
