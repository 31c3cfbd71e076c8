// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/hta/hta_statistics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <utility>

namespace plumb::hta {

namespace {

// Where the partitions went too deep.
void heapSort(Keyed* first, size_t count) {
  const auto heap = [first](size_t at) -> Keyed& { return first[at - 1]; };  // heap(1) … heap(count)
  const auto sink = [&](size_t at, size_t last, Keyed moved) {
    for (size_t child = 2 * at; child <= last; child = 2 * at) {
      if (child < last && heap(child).value < heap(child + 1).value) ++child;
      if (!(moved.value < heap(child).value)) break;
      heap(at) = heap(child);
      at = child;
    }
    heap(at) = moved;
  };
  for (size_t i = count / 2; i > 0; --i) sink(i, count, heap(i));
  for (; count > 1; --count) {
    const Keyed moved = heap(count);
    heap(count) = heap(1);
    sink(1, count - 1, moved);
  }
}

void insertionSort(Keyed* first, Keyed* last) {
  for (Keyed* next = first + 1; next <= last; ++next) {
    const Keyed moved = *next;
    Keyed* at = next;
    for (; at > first && moved.value < at[-1].value; --at) *at = at[-1];
    *at = moved;
  }
}

}  // namespace

void sortAsNumpy(std::vector<Keyed>& values) {
  constexpr std::ptrdiff_t kSmall = 15;
  if (values.empty()) return;
  struct Part {
    Keyed *left, *right;  // both belong to it
    int depth;
  };
  const int deepest = 2 * static_cast<int>(std::bit_width(values.size()) - 1);
  std::vector<Part> parts{{values.data(), values.data() + values.size() - 1, deepest}};
  while (!parts.empty()) {
    auto [left, right, depth] = parts.back();
    parts.pop_back();
    if (depth < 0) {
      heapSort(left, static_cast<size_t>(right - left + 1));
      continue;
    }
    while (right - left > kSmall) {
      Keyed* const middle = left + ((right - left) >> 1);
      if (middle->value < left->value) std::swap(*middle, *left);
      if (right->value < middle->value) std::swap(*right, *middle);
      if (middle->value < left->value) std::swap(*middle, *left);
      const double pivot = middle->value;
      Keyed *i = left, *j = right - 1;
      std::swap(*middle, *j);
      for (;;) {
        do ++i;
        while (i->value < pivot);
        do --j;
        while (pivot < j->value);
        if (i >= j) break;
        std::swap(*i, *j);
      }
      std::swap(*i, *(right - 1));
      --depth;
      if (i - left < right - i) {
        parts.push_back({i + 1, right, depth});
        right = i - 1;
      } else {
        parts.push_back({left, i - 1, depth});
        left = i + 1;
      }
    }
    insertionSort(left, right);
  }
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
