// SPDX-License-Identifier: Apache-2.0
// plumb advise, plumb check
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "analyzer/advice/advice.h"
#include "analyzer/analyses/windows.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/empty_reason.h"
#include "analyzer/cli/object_rows.h"
#include "analyzer/cli/text.h"
#include "analyzer/compare/gate.h"
#include "analyzer/reports/reports.h"
#include "analyzer/sqlext/sql_surface.h"
#include "analyzer/trace/trace.h"

namespace plumb::cli {
namespace {

using nlohmann::json;

json textOf(const std::string& text) { return repaired(text); }

json objectOf(const Finding& finding) {
  json entry = {{"rule", textOf(finding.rule)},
                {"title", textOf(finding.title)},
                {"whom", textOf(finding.whom)},
                {"outside_steps", finding.isOutsideSteps},
                {"finding", textOf(finding.finding)},
                {"arithmetic", textOf(finding.arithmetic)},
                {"remedy", textOf(finding.remedy)},
                {"rank", nullptr},
                {"pid", nullptr},
                {"ranks", finding.ranks},
                {"gain_ns", nullptr},
                {"least_gain_ns", nullptr},
                {"span_ns", nullptr},
                {"start_ns", nullptr},
                {"end_ns", nullptr},
                {"evidence", json::array()},
                {"range", nullptr}};
  if (finding.rank) entry["rank"] = *finding.rank;
  if (finding.pid) entry["pid"] = *finding.pid;
  if (finding.gain) entry["gain_ns"] = finding.gain->ns();
  if (finding.leastGain) entry["least_gain_ns"] = finding.leastGain->ns();
  if (finding.span) entry["span_ns"] = finding.span->ns();
  if (finding.where) {
    entry["start_ns"] = finding.where->start.ns();
    entry["end_ns"] = finding.where->end.ns();
  }
  if (!finding.range.empty()) entry["range"] = textOf(finding.range);
  for (const std::string& evidence : finding.evidence) entry["evidence"].push_back(textOf(evidence));
  return entry;
}

json objectsOf(const std::vector<Finding>& findings) {
  json entries = json::array();
  for (const Finding& finding : findings) entries.push_back(objectOf(finding));
  return entries;
}

void printAdviceAsJson(const Advice& advice) {
  json abstentions = json::array(), quiet = json::array();
  for (const Abstention& abstention : advice.abstentions) {
    abstentions.push_back({{"rule", textOf(abstention.rule)},
                           {"title", textOf(abstention.title)},
                           {"reason", textOf(abstention.reason)}});
  }
  for (const std::string& title : advice.quiet) quiet.push_back(textOf(title));
  // What findings that are not outside_steps were limited to; null: not at all.
  json from = nullptr, to = nullptr;
  if (advice.steps && advice.steps->start > kAllTime.start) from = (advice.steps->start - TimePoint()).ns();
  if (advice.steps && advice.steps->end < kAllTime.end) to = (advice.steps->end - TimePoint()).ns();
  fmt::print("{}\n", json{{"steps_from_ns", from},
                          {"steps_to_ns", to},
                          {"findings", objectsOf(advice.findings)},
                          {"small", objectsOf(advice.small)},
                          {"small_below_ns", advice.smallBelow.ns()},
                          {"cannot_say", abstentions},
                          {"nothing_found", quiet}}
                         .dump(2));
}

// One row for each finding, small ones after the others, then one for each rule that cannot say.
Status printAdviceAsRows(Database& database, const Advice& advice, Format format) {
  static const std::vector<ReportColumn> kColumns = {
      {"kind", "", ""},       {"title", "", ""},           {"whom", "", ""},
      {"gain_ns", "ns", ""},  {"least_gain_ns", "ns", ""}, {"finding", "", ""},
      {"arithmetic", "", ""}, {"start_ns", "ns", ""},      {"end_ns", "ns", ""},
      {"evidence", "", ""},   {"range", "", ""},           {"remedy", "", ""},
      {"rule", "", ""}};
  json rows = json::array();
  const auto add = [&](const std::vector<Finding>& findings, const char* kind) {
    for (const Finding& finding : findings) {
      json row = objectOf(finding);
      row["kind"] = finding.isOutsideSteps ? fmt::format("{} outside the steps", kind) : kind;
      row["evidence"] = textOf(fmt::format("{}", fmt::join(finding.evidence, ", ")));
      for (const char* name : {"whom", "evidence"}) {
        if (row[name] == "") row[name] = nullptr;
      }
      rows.push_back(std::move(row));
    }
  };
  add(advice.findings, "finding");
  add(advice.small, "small finding");
  for (const Abstention& abstention : advice.abstentions) {
    rows.push_back({{"kind", "cannot say"},
                    {"title", textOf(abstention.title)},
                    {"finding", textOf(abstention.reason)},
                    {"rule", textOf(abstention.rule)}});
  }
  return writeObjects(database, rows, kColumns, format, stdout);
}

std::string gainText(const Finding& finding) {
  if (!finding.gain) return finding.arithmetic.empty() ? "not estimated" : finding.arithmetic;
  const auto share = finding.share();
  const std::string whole =
      fmt::format("{} span{}", finding.gainRank ? fmt::format("rank {}'s", *finding.gainRank) : "the device's",
                  finding.isOutsideSteps ? " in the whole run" : "");
  std::string text = fmt::format("up to {}{}", formatDuration(*finding.gain),
                                 share ? fmt::format(", {} of {}", formatPercent(*share * 100), whole) : std::string());
  if (!finding.arithmetic.empty()) text += fmt::format(" ({})", finding.arithmetic);
  if (finding.leastGain && finding.rank) {
    text += fmt::format("; of the other ranks {} or more; numbers are of rank {}", formatDuration(*finding.leastGain),
                        *finding.rank);
  } else if (finding.leastGain && finding.pid) {
    text += fmt::format("; of the other processes {} or more; numbers are of process {}",
                        formatDuration(*finding.leastGain), *finding.pid);
  }
  return text;
}

void printFinding(const Finding& finding, int number) {
  fmt::print("{}. {}{}\n", number, escaped(finding.title),
             finding.whom.empty() ? std::string() : fmt::format(" ({})", finding.whom));
  fmt::print("   {}\n", escaped(finding.finding));
  fmt::print("   gain: {}\n", escaped(gainText(finding)));
  std::string where;
  if (finding.where) {
    where = fmt::format("{} … {} after the start of the recording", formatDuration(finding.where->start - TimePoint()),
                        formatDuration(finding.where->end - TimePoint()));
  }
  if (!finding.evidence.empty()) {
    where += fmt::format("{}{}", where.empty() ? "" : "; ", fmt::join(finding.evidence, ", "));
  }
  if (!where.empty()) fmt::print("   where: {}\n", escaped(where));
  fmt::print("   do: {}\n   rule: {}\n\n", escaped(finding.remedy), escaped(finding.rule));
}

std::string stepsText(const Interval& steps) {
  const bool begins = steps.start > kAllTime.start, ends = steps.end < kAllTime.end;
  const std::string from = begins ? "from " + formatDuration(steps.start - TimePoint()) : std::string(),
                    to = ends ? "to " + formatDuration(steps.end - TimePoint()) : std::string();
  return fmt::format("{}{}{}", from, begins && ends ? " " : "", to);
}

// " --from 12 --to 34"
std::string limitsText(const Interval& steps) {
  std::string text;
  if (steps.start > kAllTime.start) text += fmt::format(" --from {}", (steps.start - TimePoint()).ns());
  if (steps.end < kAllTime.end) text += fmt::format(" --to {}", (steps.end - TimePoint()).ns());
  return text;
}

void printSmall(const Advice& advice) {
  if (advice.small.empty()) return;
  std::vector<std::string> titles;
  for (const Finding& finding : advice.small) {
    std::string title = finding.title;
    if (!finding.range.empty()) title += fmt::format(" in '{}'", finding.range);
    if (!finding.whom.empty()) title += fmt::format(" ({})", finding.whom);
    titles.push_back(fmt::format("{}, {}", title, formatDuration(*finding.gain)));
  }
  fmt::print("{} finding{} of less than {} (0.5 % of the run) left out (--format table lists them): {}\n",
             titles.size(), titles.size() == 1 ? "" : "s", formatDuration(advice.smallBelow),
             escaped(fmt::format("{}", fmt::join(titles, "; "))));
}

// Rules that lack the same are told together, in the order of the first.
std::vector<std::pair<std::string, std::vector<std::string>>> byReason(const std::vector<Abstention>& abstentions) {
  std::vector<std::pair<std::string, std::vector<std::string>>> result;
  for (const Abstention& one : abstentions) {
    const auto known = std::ranges::find(result, one.reason, [](const auto& entry) { return entry.first; });
    if (known != result.end()) {
      known->second.push_back(one.title);
    } else {
      result.push_back({one.reason, {one.title}});
    }
  }
  return result;
}

void printAdvice(const Advice& advice) {
  if (advice.findings.empty()) {
    fmt::print("No rule found anything{}{}.\n", advice.small.empty() ? "" : " large",
               advice.steps ? fmt::format(", neither in the {}s ({} of the recording) nor outside them",
                                          advice.areRepetitions ? "repetition" : "step", stepsText(*advice.steps))
                            : std::string());
  } else if (advice.steps) {
    fmt::print(
        "Findings of the steady {0}s ({1} of the recording); those outside them come last. Reports have the numbers of "
        "the {0}s with{2}.{3}\n\n",
        advice.areRepetitions ? "repetition" : "step", stepsText(*advice.steps), limitsText(*advice.steps),
        advice.areRepetitions
            ? " Repetitions: no steps are marked; they are those of the kernels on the busiest stream, "
              "each of which may be a layer and not a step."
            : "");
  }
  int number = 0;
  bool isOutside = false;
  for (const Finding& finding : advice.findings) {
    if (finding.isOutsideSteps && !isOutside) {
      isOutside = true;
      fmt::print("Outside the {}s, once per run (setting up, warm-up, winding down):\n\n",
                 advice.areRepetitions ? "repetition" : "step");
    }
    printFinding(finding, ++number);
  }
  if (advice.findings.size() > 1) {
    fmt::print(
        "Each gain is for the part of the run that was asked for. Rules may count the same time, so gains do not add "
        "up.\n");
  }
  const auto hasEvidence = [](const Finding& one) { return !one.evidence.empty(); };
  if (std::ranges::any_of(advice.findings, hasEvidence)) {
    fmt::print("`kernel 17` is the row of that id: plumb query FILE \"SELECT * FROM kernels WHERE id = 17\"\n");
  }
  printSmall(advice);
  if (!advice.abstentions.empty()) {
    fmt::print("These rules cannot say:\n");
    for (const auto& [reason, titles] : byReason(advice.abstentions)) {
      const std::string_view clause = std::string_view(reason).substr(0, reason.size() - reason.ends_with('.'));
      fmt::print("  because {}: {}\n", escaped(clause), escaped(fmt::format("{}", fmt::join(titles, "; "))));
    }
  }
  if (!advice.quiet.empty()) {
    std::string plain, own;
    for (const std::string& title : advice.quiet) {
      const auto threshold = advice.thresholds.find(title);
      std::string& list = threshold == advice.thresholds.end() ? plain : own;
      list += (list.empty() ? "" : "; ") + title;
      if (threshold != advice.thresholds.end()) list += fmt::format(" ({})", threshold->second);
    }
    if (!plain.empty()) fmt::print("Looked for and not found, or less than 0.5 % of the run: {}\n", escaped(plain));
    if (!own.empty()) fmt::print("Looked for and not found, or less than the rule's own threshold: {}\n", escaped(own));
  }
}

// Adds to a value that is NULL why the first report or analysis in its SQL that says so has no rows.
void explainNull(Trace& trace, compare::GateResult& result) {
  if (result.nullValue.empty()) return;
  Report asked;
  asked.sql = result.nullValue;
  std::string why = whyEmpty(trace, asked, {});
  while (why.ends_with('.')) why.pop_back();
  result.detail += why.empty() ? fmt::format(": {}", result.nullValue) : fmt::format(" ({})", why);
}

// Prints what came out and returns the exit code.
int printGate(const std::vector<compare::GateResult>& results) {
  size_t failed = 0, broken = 0, skipped = 0;
  for (const compare::GateResult& result : results) {
    if (!result.error.empty()) {
      ++broken;
      fmt::print("ERROR {}\n", escaped(result.name));
      complain(result.error, kBadInput);
      continue;
    }
    failed += result.passed ? 0 : 1;
    skipped += result.isSkipped ? 1 : 0;
    fmt::print("{}  {}{}\n",
               result.isSkipped ? "skip"
               : result.passed  ? "pass"
                                : "FAIL",
               escaped(result.name),
               result.detail.empty() ? std::string() : fmt::format(": {}", escaped(result.detail)));
  }
  fmt::print("{} of {} checks passed{}{}\n", results.size() - failed - broken - skipped, results.size(),
             skipped == 0 ? std::string() : fmt::format(", {} {} not apply", skipped, skipped == 1 ? "does" : "do"),
             broken == 0 ? std::string() : fmt::format(", {} could not be run", broken));
  return broken > 0 ? kBadInput : failed > 0 ? kFailed : kDone;
}

}  // namespace

int runAdvise(const AdviseArguments& arguments) {
  if (arguments.filter.from && arguments.filter.to && *arguments.filter.to < *arguments.filter.from) {
    return complain("--from is after --to.", kBadInput);
  }
  auto reports = findReports(arguments.reportFolders);
  if (!reports.ok()) return complain(reports.error().message, kBadInput);
  auto opened = Trace::open(arguments.file);
  if (!opened.ok()) return complain(opened.error().message, kBadInput);
  Trace& trace = opened.value();
  if (const Status added = registerSqlSurface(trace, reports.value()); !added.ok())
    return complain(added.error().message, kFailed);
  const Snapshot snapshot(trace);
  if (!snapshot.status().ok()) return complain(snapshot.status().error().message, kBadInput);
  RuleLimits limits;
  if (arguments.timeout) limits.time = std::chrono::milliseconds(static_cast<int64_t>(*arguments.timeout * 1000));
  auto advice = advise(trace, arguments.filter, arguments.ruleFolders, limits);
  if (!advice.ok()) return complain(advice.error().message, kBadInput);
  if (!arguments.format) {
    printAdvice(advice.value());
  } else if (arguments.format == Format::Json) {
    printAdviceAsJson(advice.value());
  } else if (const Status printed = printAdviceAsRows(trace.database(), advice.value(), *arguments.format);
             !printed.ok()) {
    return complain(printed.error().message, kFailed);
  }
  return finishOutput(kDone);
}

int runCheck(const CheckArguments& arguments) {
  auto reports = findReports(arguments.reportFolders);
  if (!reports.ok()) return complain(reports.error().message, kBadInput);
  auto opened = Trace::open(arguments.file);
  if (!opened.ok()) return complain(opened.error().message, kBadInput);
  std::optional<Trace> baseline;
  if (!arguments.baseline.empty()) {
    auto other = Trace::open(arguments.baseline);
    if (!other.ok()) return complain(other.error().message, kBadInput);
    baseline.emplace(std::move(other).value());
  }
  for (Trace* trace : {&opened.value(), baseline ? &*baseline : nullptr}) {
    if (!trace) continue;
    if (const Status added = registerSqlSurface(*trace, reports.value()); !added.ok())
      return complain(added.error().message, kFailed);
  }
  const bool isYaml = arguments.rules.ends_with(".yaml") || arguments.rules.ends_with(".yml");
  const auto limit = arguments.timeout ? std::chrono::milliseconds(static_cast<int64_t>(*arguments.timeout * 1000))
                                       : compare::kRuleTime;
  auto results = isYaml
                     ? compare::checkYamlRules(opened.value(), baseline ? &*baseline : nullptr, arguments.rules, limit)
                     : compare::checkSqlRules(opened.value(), arguments.rules, limit);
  if (!results.ok()) return complain(results.error().message, kBadInput);
  for (compare::GateResult& result : results.value()) explainNull(opened.value(), result);
  const int code = printGate(results.value());
  if (baseline && std::ranges::none_of(results.value(), &compare::GateResult::comparesRuns)) {
    complain(fmt::format("Nothing was compared with {}: no rule of {} has max_slowdown_pct{}.", arguments.baseline,
                         arguments.rules, isYaml ? "" : ", which only .yaml rules can have"),
             kDone);
  }
  return finishOutput(code);
}

}  // namespace plumb::cli
