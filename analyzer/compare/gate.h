// SPDX-License-Identifier: Apache-2.0
// Rules that a run must pass, for CI. Two forms:
//   .sql   statements. One whose result has a column `passed` passes when that is true in every row (as in the bundled
//          workloads' truth.sql); any other passes when it has no rows: it selects what is wrong. A comment line before
//          a statement, `-- check: NAME`, names it.
//   .yaml  rules:
//            - name: step time
//              value: SELECT median(start_to_start_ns) FROM analysis_steps WHERE warmup = 0
//              max: 120ms            # min, max, equals; numbers, durations (ns us ms s) or sizes (KiB MiB GiB)
//            - name: not slower than the baseline
//              max_slowdown_pct: 3   # step time against --baseline; fails only when the whole 95 % interval lies
//              above.
//                                    # From start to start; where that leaves it open, or is not known, the GPU span
//            - name: memory
//              when: SELECT count(*) FROM allocations   # 0 or NULL: the rule does not apply to this run
//              value: …
// A value is the first column, of each row when there are several; the other columns tell the rows apart. One that is
// NULL, or no number, fails: it cannot be said that the rule holds. A rule that cannot be run (its SQL, its time) says
// so and the others are checked all the same.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/trace/trace.h"

namespace plumb::compare {

struct GateResult {
  std::string name;
  bool passed = false;
  std::string detail;         // the row that failed, or the value and its limit
  std::string error;          // a sentence with the place: why the rule could not be run; else empty
  bool isSkipped = false;     // its `when` says that it does not apply; detail says so
  std::string nullValue;      // the SQL whose value is NULL, when that is why it failed
  bool comparesRuns = false;  // it asked for the baseline
};

inline constexpr std::chrono::milliseconds kRuleTime{300'000};  // of one rule

// The tables of the analyses and reports must be registered in both. An error: there are no rules to run, since the
// file cannot be read, is no text or no YAML, or holds none.
[[nodiscard]] Result<std::vector<GateResult>> checkSqlRules(Trace& trace, const std::string& path,
                                                            std::chrono::milliseconds limit = kRuleTime);
[[nodiscard]] Result<std::vector<GateResult>> checkYamlRules(Trace& trace, Trace* baseline, const std::string& path,
                                                             std::chrono::milliseconds limit = kRuleTime);

// "120ms", "1.5 GiB", "3": in ns, bytes, or as it stands.
[[nodiscard]] std::optional<double> parseQuantity(std::string_view text);

}  // namespace plumb::compare
