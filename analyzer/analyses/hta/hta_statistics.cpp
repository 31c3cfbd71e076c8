// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/hta/hta_statistics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

namespace plumb::hta {

namespace {

// heap[1] … heap[count], where the partitions went too deep.
void heapSort(const std::vector<double>& values, size_t* heap, size_t count) {
  const auto sink = [&](size_t at, size_t last, size_t moved) {
    for (size_t child = 2 * at; child <= last; child = 2 * at) {
      if (child < last && values[heap[child]] < values[heap[child + 1]]) ++child;
      if (!(values[moved] < values[heap[child]])) break;
      heap[at] = heap[child];
      at = child;
    }
    heap[at] = moved;
  };
  for (size_t i = count / 2; i > 0; --i) sink(i, count, heap[i]);
  for (; count > 1; --count) {
    const size_t moved = heap[count];
    heap[count] = heap[1];
    sink(1, count - 1, moved);
  }
}

}  // namespace

std::vector<size_t> sortOrder(const std::vector<double>& values) {
  constexpr std::ptrdiff_t kSmall = 15;
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (values.empty()) return order;
  const auto at = [&](std::ptrdiff_t i) { return values[order[static_cast<size_t>(i)]]; };
  const auto swap = [&](std::ptrdiff_t i, std::ptrdiff_t j) {
    std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(j)]);
  };
  struct Part {
    std::ptrdiff_t left, right;
    int depth;
  };
  const int deepest = 2 * static_cast<int>(std::bit_width(values.size()) - 1);
  std::vector<Part> parts{{0, static_cast<std::ptrdiff_t>(values.size()) - 1, deepest}};
  while (!parts.empty()) {
    auto [left, right, depth] = parts.back();
    parts.pop_back();
    if (depth < 0) {
      heapSort(values, order.data() + left - 1, static_cast<size_t>(right - left + 1));
      continue;
    }
    while (right - left > kSmall) {
      const std::ptrdiff_t middle = left + ((right - left) >> 1);
      if (at(middle) < at(left)) swap(middle, left);
      if (at(right) < at(middle)) swap(right, middle);
      if (at(middle) < at(left)) swap(middle, left);
      const double pivot = at(middle);
      std::ptrdiff_t i = left, j = right - 1;
      swap(middle, j);
      for (;;) {
        do ++i;
        while (at(i) < pivot);
        do --j;
        while (pivot < at(j));
        if (i >= j) break;
        swap(i, j);
      }
      swap(i, right - 1);
      --depth;
      if (i - left < right - i) {
        parts.push_back({i + 1, right, depth});
        right = i - 1;
      } else {
        parts.push_back({left, i - 1, depth});
        left = i + 1;
      }
    }
    if (left < right) {
      std::stable_sort(order.begin() + left, order.begin() + right + 1,
                       [&](size_t a, size_t b) { return values[a] < values[b]; });
    }
  }
  return order;
}

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
