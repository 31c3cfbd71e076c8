// SPDX-License-Identifier: Apache-2.0
// A rule as a file. Head, after an SPDX line: title; what it looks for; `-- remedy: …` (may go on in following lines
// that begin with `--   `), and where it differs `-- remedy outside the steps: …`,
// `-- remedy without torch: …`, and before the remedy
// `-- threshold: …`, from what on the rule finds something, where that is not a share of the span, and
// `-- needs: device work`, kinds of records (kRuleNeeds, separated by ", ") without which its SQL is not asked; then
// one SQL statement that may use :rank, :step, :range, :from_ns, :to_ns, the views, the analyses and the reports
// (report_NAME). Its columns, by name, in any order, all but finding optional:
//   finding     a sentence with the numbers; a row without it is ignored
//   gain_ns     an upper bound of what it saves    arithmetic  how that was computed
//   rank, pid   whom it concerns                   start_ns, end_ns  where it can be seen
//   gain_rank   whose time the gain is, where that is not the rank that it concerns: the one that waited
//   span_ns     what the gain is a part of, where that is not the device's span (Finding::span)
//   title, remedy  in place of the head's
//   evidence    rows of the trace, "kernel 17, api_call 4"
//   range       the range (NVTX, operator) of the code it is about
//   cannot_say  why the rule cannot tell; such a row makes it abstain
// A rank and a pid are one process in the analyses and reports: two of the same file with both the same have different
// pids there. The ids of the trace's tables are joined to them by analysis_processes (id, rank, pid).
// A rule is about the filters whose parameters it uses; where the user sets another one, it cannot tell.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/analyses/contents.h"
#include "collector/schema/result.h"

namespace plumb {

struct RuleNeed {
  std::string_view name;
  bool Contents::*has;
  std::string_view lack;  // after "because"
};
inline constexpr RuleNeed kRuleNeeds[] = {
    {"device work", &Contents::deviceWork, "no work of a device was recorded"},
    {"API calls", &Contents::apiCalls, "no API calls were recorded"},
    {"collectives", &Contents::collectives, "no collectives were recorded"},
    {"allocations", &Contents::allocations, "no allocations were recorded"},
};

struct RuleFile {
  std::string name, title, question, remedy, sql;
  std::string remedyOutside;       // of what lies outside the steps; "": the same
  std::string threshold;           // from what on it finds something, in words; "": not said
  std::string remedyWithoutTorch;  // of programs that are no Python; "": the same
  std::vector<const RuleNeed*> needs;
  std::string origin;   // path, or "built in"
  std::string problem;  // why it cannot be used, a sentence for the user; else empty. Then the title is the name
  [[nodiscard]] bool isBuiltIn() const { return origin == "built in"; }
};

[[nodiscard]] Result<RuleFile> parseRule(std::string_view name, std::string_view text, std::string_view origin);
// By name: the program's own, and those of the folders, a later file taking the place of an earlier one of its name. A
// file that is no rule has a `problem`. A folder that does not exist holds no rules.
[[nodiscard]] Result<std::vector<RuleFile>> findRules(const std::vector<std::string>& folders);

[[nodiscard]] std::vector<std::string> userRuleFolders();  // userFolders() "rules", PLUMB_RULES

// The program's own, built in by CMake.
struct BuiltinRule {
  const char* name;
  const char* text;
};
[[nodiscard]] std::vector<BuiltinRule> builtinRules();

}  // namespace plumb
