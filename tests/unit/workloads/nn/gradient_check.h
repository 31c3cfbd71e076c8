// SPDX-License-Identifier: Apache-2.0
// Compares a gradient that a backward pass computed with finite differences of the loss.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

namespace plumb::test {

// Along its own direction, the gradient says that the loss changes by its length per unit; and its largest elements are
// right one by one, too. lossAt: the loss at other values of the tensor.
inline void expectGradient(const std::string& what, const std::vector<float>& values,
                           const std::vector<float>& gradient,
                           const std::function<double(const std::vector<float>&)>& lossAt, double tolerance = 0.02) {
  ASSERT_EQ(values.size(), gradient.size());
  const double length = std::sqrt(std::inner_product(gradient.begin(), gradient.end(), gradient.begin(), 0.0));
  ASSERT_GT(length, 1e-6) << what;
  const auto slope = [&](const std::vector<float>& direction, double step) {
    std::vector<float> ahead = values;
    std::vector<float> behind = values;
    for (size_t i = 0; i < values.size(); ++i) {
      ahead[i] += static_cast<float>(step) * direction[i];
      behind[i] -= static_cast<float>(step) * direction[i];
    }
    return (lossAt(ahead) - lossAt(behind)) / (2 * step);
  };
  std::vector<float> unit(gradient);
  for (float& x : unit) x /= static_cast<float>(length);
  // A step that changes the loss by about 0.02: far above rounding, small against its curvature.
  const double step = std::min(0.02 / length, 0.05);
  EXPECT_NEAR(slope(unit, step), length, tolerance * length) << what << ", along the gradient";

  std::vector<size_t> order(gradient.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const size_t checked = std::min<size_t>(3, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(checked), order.end(),
                    [&](size_t a, size_t b) { return std::abs(gradient[a]) > std::abs(gradient[b]); });
  for (size_t k = 0; k < checked; ++k) {
    const size_t i = order[k];
    std::vector<float> axis(gradient.size(), 0.0f);
    axis[i] = 1.0f;
    EXPECT_NEAR(slope(axis, 0.05), gradient[i], 4 * tolerance * std::abs(gradient[i])) << what << "[" << i << "]";
  }
}

}  // namespace plumb::test
