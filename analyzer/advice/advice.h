// SPDX-License-Identifier: Apache-2.0
// Advice: what to change in a run, by rules. A rule is an .sql file (advice/rules/*.sql; a user's own in a folder)
// whose comment lines say its title, what it looks for and the remedy; its rows are findings with their evidence and
// the gain that a remedy could bring, or one row that says why it cannot tell. Estimates carry their arithmetic.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/trace/filter.h"
#include "analyzer/trace/trace.h"

namespace plumb {

struct Finding {
  std::string rule;   // the file's name: "launch_bound"
  std::string title;  // "The GPU waits for launches"
  std::optional<int64_t> rank, pid;
  std::vector<int64_t> ranks;  // of which the same was found, in order; the numbers are those of `rank`
  std::vector<int64_t> pids;   // likewise of processes without a rank
  std::string whom;            // "rank 3", "ranks 0-3", "process 4711"; "" when it is about the only process, or all
  std::string finding;         // a sentence with the numbers
  std::optional<Duration>
      gain;  // an upper bound of what the remedy saves, over the part of the trace that was asked for; none: not known
  std::optional<Duration> leastGain;  // of the other ranks, where there are several
  std::string arithmetic;             // how the gain was computed
  std::string remedy;                 // what to do
  std::optional<Interval> where;      // a time range that shows it
  std::vector<std::string> evidence;  // "kernel 17", "api_call 4": rows of the trace's tables
  std::string range;                  // the range of the code that it is about, for --range; "": none
  bool isOutsideSteps = false;        // set-up or wind-down: once per run, not in every step
  std::optional<int64_t> gainRank;    // whose time the gain is, where that is not `rank`: who waited for it
  // What the gain is a part of: the span of that rank's device (the longest, of all without a rank) in the steps where
  // they are looked at apart, else in the part that was asked for, and outside the steps in the whole run. None: the
  // rank's devices did nothing.
  std::optional<Duration> span;
  [[nodiscard]] std::optional<double> share() const;  // gain / span; at most 1
};

struct Abstention {
  std::string rule, title;
  std::string reason;     // "cannot say, because no NVTX step ranges were recorded"
  bool isBroken = false;  // the rule itself cannot be used: its file, its SQL, its time
};

struct Advice {
  std::vector<Finding> findings;        // in the steps first, then the largest gain; those without an estimate last
  std::vector<Finding> small;           // whose gain is below smallBelow, in the same order
  Duration smallBelow;                  // 0.5 % of the longest span of a device
  std::optional<Interval> steps;        // where the run's steady steps are looked at apart from what lies outside
  bool areRepetitions = false;          // `steps`: no process declares any, they are the repetitions of the kernels
  std::vector<Abstention> abstentions;  // rules whose data is missing
  std::vector<std::string> quiet;       // titles of the rules that looked and found nothing, outside the steps either
  std::map<std::string, std::string> thresholds;  // by title: from what on the rule finds something, where it says so
};

// What a user's rule may take; one that takes more is stopped and abstains. Ours are not limited.
struct RuleLimits {
  std::chrono::milliseconds time{60'000};
  size_t findings = 1000;
  std::function<bool()> goOn = {};  // asked now and then, also of our rules; false ends advise() with an error
};

// The tables of the analyses and reports must be registered. A rule that cannot be used (rule_file.h), or that takes no
// parameter for a filter that is set, is an abstention that says so; the others are applied all the same. Without a
// filter of time, and when more than 1 % of the run lies outside its steady steps, the rules are applied to those and,
// for findings outside them, to what comes before (warm-up, too) and after. What a rule says of several ranks in the
// same words is one finding.
[[nodiscard]] Result<Advice> advise(Trace& trace, const Filter& filter, const std::vector<std::string>& userFolders,
                                    const RuleLimits& limits = {});

}  // namespace plumb
