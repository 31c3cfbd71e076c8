// SPDX-License-Identifier: Apache-2.0
// Two runs side by side. Times are per steady step and rank; the interval is Welch's, 95 %, over steps; a verdict
// stands only when the interval leaves out zero.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "analyzer/compare/step_samples.h"

namespace plumb::compare {

struct Difference {
  Subject subject;
  std::string name;
  std::string status;               // "added" (only in B), "removed" (only in A), "in both"
  std::optional<double> a, b;       // ns per step and rank; bytes of memory
  std::optional<double> change;     // b - a, with the missing side as 0
  std::optional<double> changePct;  // of a; none when it is 0
  std::optional<double> low, high;  // of the change, 95 %
  double callsA = 0, callsB = 0;    // per step and rank
  // "slower", "faster", "more", "less", "more calls" or "fewer calls" (the time per call does not go that way), "no
  // difference shown", "cannot say, because …"
  std::string verdict;
};

// Of each run: how much of its kernels' time (of its operators' where that is more) the names take that both have.
// None: neither kernels nor operators in one of them.
struct SharedWork {
  double ofA = 0, ofB = 0;  // 0 to 1
};

struct Comparison {
  RunSamples a, b;
  std::vector<Difference> rows;  // step, where its GPU time went, memory, then by subject the largest change first
  std::optional<SharedWork> shared;
  std::string note;  // why the runs may not be comparable; "" for nothing
};

[[nodiscard]] Result<Comparison> compareRuns(Trace& a, Trace& b);

// The rows on the time per step; null: not known. From start to start, which is what a user waits for, comes first
// where both runs have enough of it.
struct StepTimes {
  const Difference *startToStart = nullptr, *span = nullptr;
};
[[nodiscard]] StepTimes stepTimes(const Comparison& comparison);

// What came out, in a sentence: "B is slower: +3.2 % per step from start to start (+1.20 ms, 95 % interval +0.90 ms …
// +1.50 ms); its GPU span: +0.1 % (+30.0 µs), no difference shown.", or that no
// difference is shown, or why nothing can be said.
[[nodiscard]] std::string verdictSentence(const Comparison& comparison);

}  // namespace plumb::compare
