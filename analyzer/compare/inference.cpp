// SPDX-License-Identifier: Apache-2.0
#include "analyzer/compare/inference.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace plumb::compare {

SampleMoments momentsOf(const std::vector<double>& values) {
  SampleMoments moments;
  double squares = 0;
  for (const double value : values) {  // Welford
    ++moments.count;
    const double delta = value - moments.mean;
    moments.mean += delta / static_cast<double>(moments.count);
    squares += delta * (value - moments.mean);
  }
  if (moments.count > 1) moments.variance = squares / static_cast<double>(moments.count - 1);
  return moments;
}

double studentQuantile(double degreesOfFreedom) {
  static constexpr std::array<double, 10> kSmall = {12.706, 4.303, 3.182, 2.776, 2.571,
                                                    2.447,  2.365, 2.306, 2.262, 2.228};
  const double v = std::max(degreesOfFreedom, 1.0);
  if (v < static_cast<double>(kSmall.size())) {
    const auto below = static_cast<size_t>(v) - 1;
    const double rest = v - std::floor(v);
    return kSmall[below] + rest * (kSmall[std::min(below + 1, kSmall.size() - 1)] - kSmall[below]);
  }
  // Expansion around the normal quantile (Abramowitz and Stegun 26.7.5).
  const double z = 1.959964, z3 = z * z * z, z5 = z3 * z * z;
  return z + (z3 + z) / (4 * v) + (5 * z5 + 16 * z3 + 3 * z) / (96 * v * v);
}

std::optional<Confidence> welchInterval(const SampleMoments& a, const SampleMoments& b) {
  if (a.count < 3 || b.count < 3) return std::nullopt;
  const double va = a.variance / static_cast<double>(a.count), vb = b.variance / static_cast<double>(b.count);
  const double difference = b.mean - a.mean, spread = va + vb;
  if (spread <= 0) return Confidence{difference, difference};
  const double freedom =
      spread * spread / (va * va / static_cast<double>(a.count - 1) + vb * vb / static_cast<double>(b.count - 1));
  const double half = studentQuantile(freedom) * std::sqrt(spread);
  return Confidence{difference - half, difference + half};
}

}  // namespace plumb::compare
