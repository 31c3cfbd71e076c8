// SPDX-License-Identifier: Apache-2.0
// Short runs of names (grams) that come back at equal distances vote for the distance. The distance that the sequence
// agrees with best is the period; of its multiples, which agree as well, the smallest. Repetitions inside a step
// (layers) vote too, but the rest of the step does not agree with them.
#include "analyzer/analyses/kernel_period.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace plumb {
namespace {

constexpr size_t kGram = 4;
constexpr size_t kCandidates = 48;
constexpr size_t kRepetitions = 3;
constexpr double kLeastMatch = 0.8, kLeastCover = 0.5, kSameMatch = 0.02;

struct Gram {
  uint64_t hash;
  size_t at;
};

std::vector<Gram> gramsOf(const std::vector<uint64_t>& names, size_t size) {
  std::vector<Gram> grams;
  grams.reserve(names.size());
  for (size_t i = 0; i + size <= names.size(); ++i) {
    uint64_t hash = 14695981039346656037u;  // FNV-1a over the names
    for (size_t k = 0; k < size; ++k) hash = (hash ^ names[i + k]) * 1099511628211u;
    grams.push_back({hash, i});
  }
  std::sort(grams.begin(), grams.end(),
            [](const Gram& a, const Gram& b) { return std::pair(a.hash, a.at) < std::pair(b.hash, b.at); });
  return grams;
}

// Calls take(first, last) for the places of each gram that occurs often enough.
template <class Take>
void forEachGram(const std::vector<Gram>& grams, const Take& take) {
  for (size_t first = 0; first < grams.size();) {
    size_t last = first + 1;
    while (last < grams.size() && grams[last].hash == grams[first].hash) ++last;
    if (last - first >= kRepetitions) take(first, last);
    first = last;
  }
}

double matchOf(const std::vector<uint64_t>& names, size_t length, size_t from, size_t to) {
  if (to <= from + length) return 0;
  size_t same = 0;
  for (size_t i = from; i + length < to; ++i) same += names[i] == names[i + length];
  return static_cast<double>(same) / static_cast<double>(to - from - length);
}

std::optional<size_t> lengthOf(const std::vector<uint64_t>& names, const std::vector<Gram>& grams) {
  std::unordered_map<size_t, size_t> votes;
  forEachGram(grams, [&](size_t first, size_t last) {
    for (size_t i = first + 1; i < last; ++i) ++votes[grams[i].at - grams[i - 1].at];
  });
  std::vector<std::pair<size_t, size_t>> candidates;  // votes, length
  for (const auto& [length, count] : votes) {
    if (length >= 2 && length * kRepetitions <= names.size()) candidates.emplace_back(count, length);
  }
  const size_t kept = std::min(candidates.size(), kCandidates);
  std::partial_sort(
      candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(kept), candidates.end(),
      [](const auto& a, const auto& b) { return std::pair(b.first, a.second) < std::pair(a.first, b.second); });
  candidates.resize(kept);
  // The first third is often different: setup and warm-up.
  const size_t from = names.size() / 3;
  double best = 0;
  std::vector<std::pair<size_t, double>> matches;
  for (const auto& [count, length] : candidates) {
    const double match = matchOf(names, length, from, names.size());
    matches.emplace_back(length, match);
    best = std::max(best, match);
  }
  std::optional<size_t> shortest;
  for (const auto& [length, match] : matches) {
    if (match >= best - kSameMatch && match >= kLeastMatch) shortest = std::min(shortest.value_or(length), length);
  }
  return shortest;
}

// A gram that comes once a repetition.
struct Anchor {
  std::vector<size_t> places;
  int64_t gap = 0;  // median of the pauses before it
};

std::optional<Anchor> anchorOf(const std::vector<Gram>& grams, const std::vector<int64_t>& gapBefore, size_t length) {
  std::optional<Anchor> best;
  forEachGram(grams, [&](size_t first, size_t last) {
    size_t regular = 0;
    for (size_t i = first + 1; i < last; ++i) {
      const size_t distance = grams[i].at - grams[i - 1].at;
      regular += distance * 10 >= length * 9 && distance * 10 <= length * 11;
    }
    if (regular + 1 < kRepetitions || regular * 10 < (last - first - 1) * 8) return;
    Anchor anchor;
    std::vector<int64_t> gaps;
    for (size_t i = first; i < last; ++i) {
      anchor.places.push_back(grams[i].at);
      gaps.push_back(gapBefore[grams[i].at]);
    }
    const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2);
    std::nth_element(gaps.begin(), middle, gaps.end());
    anchor.gap = *middle;
    const auto better = [&] {
      if (!best) return true;
      // One that misses repetitions is no boundary, however long the pause before it.
      const size_t mine = anchor.places.size(), theirs = best->places.size();
      if (mine * 10 < theirs * 9) return false;
      if (theirs * 10 < mine * 9) return true;
      return std::pair(anchor.gap, best->places.front()) > std::pair(best->gap, anchor.places.front());
    };
    if (better()) best = std::move(anchor);
  });
  return best;
}

}  // namespace

std::optional<Period> findPeriod(const std::vector<uint64_t>& names, const std::vector<int64_t>& gapBefore) {
  if (names.size() < kGram * kRepetitions) return std::nullopt;
  const std::vector<Gram> grams = gramsOf(names, kGram);
  const auto length = lengthOf(names, grams);
  if (!length) return std::nullopt;
  auto anchor = anchorOf(grams, gapBefore, *length);
  if (!anchor) return std::nullopt;
  Period period;
  period.length = *length;
  period.starts = std::move(anchor->places);
  const size_t end = names.size();
  if ((end - period.starts.back()) * 10 < *length * 9) period.starts.pop_back();
  if (period.starts.size() < kRepetitions) return std::nullopt;
  const size_t covered = std::min(end, period.starts.back() + *length) - period.starts.front();
  if (static_cast<double>(covered) < kLeastCover * static_cast<double>(end)) return std::nullopt;
  period.match = matchOf(names, *length, period.starts.front(), std::min(end, period.starts.back() + *length));
  if (period.match < kLeastMatch) return std::nullopt;
  return period;
}

}  // namespace plumb
