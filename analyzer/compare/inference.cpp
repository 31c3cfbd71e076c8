// SPDX-License-Identifier: Apache-2.0
#include "analyzer/compare/inference.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

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

// Hill, Algorithm 396 (Communications of the ACM 13, 1970), for the two-tailed probability 0.05.
double studentQuantile(double degreesOfFreedom) {
  constexpr double kTails = 0.05, kNormal = 1.959963984540054;
  const double n = std::max(degreesOfFreedom, 2.0);
  const double a = 1 / (n - 0.5), b = 48 / (a * a);
  double c = ((20700 * a / b - 98) * a - 16) * a + 96.36;
  const double d = ((94.5 / (b + c) - 3) / b + 1) * std::sqrt(a * std::numbers::pi / 2) * n;
  double y = std::pow(d * kTails, 2 / n);
  if (y > 0.05 + a) {
    const double x = -kNormal;
    if (n < 5) c += 0.3 * (n - 4.5) * (x + 0.6);
    c += (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b;
    y = x * x;
    y = (((((0.4 * y + 6.3) * y + 36) * y + 94.5) / c - y - 3) / b + 1) * x;
    y = std::expm1(a * y * y);
  } else {
    y = ((1 / (((n + 6) / (n * y) - 0.089 * d - 0.822) * (n + 2) * 3) + 0.5 / (n + 4)) * y - 1) * (n + 1) / (n + 2) +
        1 / y;
  }
  return std::sqrt(n * y);
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
