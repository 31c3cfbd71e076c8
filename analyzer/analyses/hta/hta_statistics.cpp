// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/hta/hta_statistics.h"

#include <algorithm>
#include <cmath>

namespace plumb::hta {

double quantile(const std::vector<double>& sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(position);
  const double low = sorted[below], high = sorted[std::min(below + 1, sorted.size() - 1)];
  const double rest = position - static_cast<double>(below);
  return rest < 0.5 ? low + (high - low) * rest : high - (high - low) * (1 - rest);
}

double rounded(double value, int digits) {
  const double scale = std::pow(10.0, digits);
  return std::nearbyint(value * scale) / scale;
}

Description describe(std::vector<double> values) {
  Description result;
  result.count = static_cast<int64_t>(values.size());
  double sum = 0;
  for (const double value : values) sum += value;
  result.mean = sum / static_cast<double>(values.size());
  if (values.size() > 1) {
    double squares = 0;
    for (const double value : values) squares += (value - result.mean) * (value - result.mean);
    result.std = std::sqrt(squares / static_cast<double>(values.size() - 1));
  }
  std::sort(values.begin(), values.end());
  result.min = values.front();
  result.max = values.back();
  result.p25 = quantile(values, 0.25);
  result.p50 = quantile(values, 0.5);
  result.p75 = quantile(values, 0.75);
  return result;
}

}  // namespace plumb::hta
