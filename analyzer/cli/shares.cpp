// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/shares.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace plumb::cli {

std::vector<int64_t> sharesInTenths(const std::vector<int64_t>& parts) {
  long double whole = 0;
  for (const int64_t part : parts) whole += static_cast<long double>(part);
  if (whole <= 0) return {};
  std::vector<int64_t> shares;
  std::vector<long double> remainders;
  int64_t sum = 0;
  for (const int64_t part : parts) {
    const long double exact = 1000 * static_cast<long double>(part) / whole;
    shares.push_back(static_cast<int64_t>(exact));
    remainders.push_back(exact - std::floor(exact));
    sum += shares.back();
  }
  std::vector<size_t> order(parts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return remainders[a] > remainders[b]; });
  for (size_t i = 0; sum < 1000 && i < order.size(); ++i, ++sum) ++shares[order[i]];
  return shares;
}

}  // namespace plumb::cli
