// SPDX-License-Identifier: Apache-2.0
// Advice: what to change in a run, by rules. A rule is an .sql file (advice/rules/*.sql; a user's own in a folder)
// whose comment lines say its title, what it looks for and the remedy; its rows are findings with their evidence and
// the gain that a remedy could bring, or one row that says why it cannot tell. Estimates carry their arithmetic.
#pragma once
#include <chrono>
#include <cstdint>
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
  std::optional<int64_t> rank;
  std::string finding;  // a sentence with the numbers
  std::optional<Duration>
      gain;  // at most what a remedy saves, over the part of the trace that was asked for; none: not estimated
  std::string arithmetic;             // how the gain was computed
  std::string remedy;                 // what to do
  std::optional<Interval> where;      // a time range that shows it
  std::vector<std::string> evidence;  // "kernel 17", "api_call 4": rows of the trace's tables
  std::string range;                  // the range of the code that it is about, for --range; "": none
};

struct Abstention {
  std::string rule, title;
  std::string reason;     // "cannot say, because no NVTX step ranges were recorded"
  bool isBroken = false;  // the rule itself cannot be used: its file, its SQL, its time
};

struct Advice {
  std::vector<Finding> findings;        // largest gain first; those without an estimate last
  std::vector<Abstention> abstentions;  // rules whose data is missing
  std::vector<std::string> quiet;       // titles of the rules that looked and found nothing
};

// What a user's rule may take; one that takes more is stopped and abstains. Ours are not limited.
struct RuleLimits {
  std::chrono::milliseconds time{60'000};
  size_t findings = 1000;
};

// The tables of the analyses and reports must be registered. A rule that cannot be used (rule_file.h), or that takes no
// parameter for a filter that is set, is an abstention that says so; the others are applied all the same.
[[nodiscard]] Result<Advice> advise(Trace& trace, const Filter& filter, const std::vector<std::string>& userFolders,
                                    const RuleLimits& limits = {});

}  // namespace plumb
