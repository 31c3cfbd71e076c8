// SPDX-License-Identifier: Apache-2.0
// Statistics and orders as pandas computes them.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

namespace plumb::hta {

// DataFrame.describe(): the sample's standard deviation, percentiles interpolated linearly.
struct Description {
  int64_t count = 0;
  double mean = 0, min = 0, p25 = 0, p50 = 0, p75 = 0, max = 0;
  std::optional<double> std;  // none for one value
};
[[nodiscard]] Description describe(std::vector<double> values);  // at least one
[[nodiscard]] double quantile(const std::vector<double>& sorted, double q);
[[nodiscard]] double rounded(double value, int digits);  // half to even
struct Keyed {
  double value = 0;
  uint32_t index = 0;  // of what the value is of; does not count in the order
};
// Leaves rows in the order of sort_values(by=…): numpy's quicksort in its plain form, which does not keep equal values
// in order (median of three, insertion below 17 values).
void sortAsNumpy(std::vector<Keyed>& values);
// The indices of a list in the order of what key(element) gives.
template <class Element, class Key>
[[nodiscard]] std::vector<uint32_t> sortOrder(const std::vector<Element>& list, Key key) {
  std::vector<Keyed> values;
  values.reserve(list.size());
  for (const Element& element : list) {
    values.push_back({static_cast<double>(key(element)), static_cast<uint32_t>(values.size())});
  }
  sortAsNumpy(values);
  std::vector<uint32_t> order;
  order.reserve(values.size());
  for (const Keyed& one : values) order.push_back(one.index);
  return order;
}

}  // namespace plumb::hta
