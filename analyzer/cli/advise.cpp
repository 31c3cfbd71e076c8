// SPDX-License-Identifier: Apache-2.0
// plumb advise, plumb diff, plumb check
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "analyzer/advice/advice.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/empty_reason.h"
#include "analyzer/cli/text.h"
#include "analyzer/compare/diff.h"
#include "analyzer/compare/gate.h"
#include "analyzer/reports/reports.h"
#include "analyzer/sqlext/sql_surface.h"
#include "analyzer/trace/trace.h"

namespace plumb::cli {
namespace {

using nlohmann::json;

json textOf(const std::string& text) { return repaired(text); }

void printAdviceAsJson(const Advice& advice) {
  json findings = json::array(), abstentions = json::array();
  for (const Finding& finding : advice.findings) {
    json entry = {{"rule", textOf(finding.rule)},
                  {"title", textOf(finding.title)},
                  {"finding", textOf(finding.finding)},
                  {"arithmetic", textOf(finding.arithmetic)},
                  {"remedy", textOf(finding.remedy)},
                  {"rank", nullptr},
                  {"gain_ns", nullptr},
                  {"start_ns", nullptr},
                  {"end_ns", nullptr},
                  {"evidence", json::array()},
                  {"range", nullptr}};
    if (finding.rank) entry["rank"] = *finding.rank;
    if (finding.gain) entry["gain_ns"] = finding.gain->ns();
    if (finding.where) {
      entry["start_ns"] = finding.where->start.ns();
      entry["end_ns"] = finding.where->end.ns();
    }
    if (!finding.range.empty()) entry["range"] = textOf(finding.range);
    for (const std::string& evidence : finding.evidence) entry["evidence"].push_back(textOf(evidence));
    findings.push_back(std::move(entry));
  }
  for (const Abstention& abstention : advice.abstentions) {
    abstentions.push_back({{"rule", textOf(abstention.rule)},
                           {"title", textOf(abstention.title)},
                           {"reason", textOf(abstention.reason)}});
  }
  json quiet = json::array();
  for (const std::string& title : advice.quiet) quiet.push_back(textOf(title));
  fmt::print("{}\n", json{{"findings", findings}, {"cannot_say", abstentions}, {"nothing_found", quiet}}.dump(2));
}

void printAdvice(const Advice& advice) {
  if (advice.findings.empty()) fmt::print("No rule found anything.\n");
  int number = 0;
  for (const Finding& finding : advice.findings) {
    fmt::print("{}. {}{}\n", ++number, escaped(finding.title),
               finding.rank ? fmt::format(" (rank {})", *finding.rank) : std::string());
    fmt::print("   {}\n", escaped(finding.finding));
    fmt::print("   gain: {}\n",
               finding.gain ? fmt::format("up to {} ({})", formatDuration(*finding.gain), escaped(finding.arithmetic))
                            : escaped(finding.arithmetic.empty() ? "not estimated" : finding.arithmetic));
    if (finding.where) {
      fmt::print("   where: {} … {} after the start of the recording{}\n",
                 formatDuration(finding.where->start - TimePoint()), formatDuration(finding.where->end - TimePoint()),
                 finding.evidence.empty()
                     ? std::string()
                     : fmt::format("; {}", escaped(fmt::format("{}", fmt::join(finding.evidence, ", ")))));
    }
    fmt::print("   do: {}\n   rule: {}\n\n", escaped(finding.remedy), escaped(finding.rule));
  }
  if (advice.findings.size() > 1) {
    fmt::print(
        "Each gain is for the part of the run that was asked for. Rules may count the same time, so gains do not add "
        "up.\n");
  }
  if (!advice.abstentions.empty()) {
    fmt::print("These rules cannot say, because\n");
    for (const Abstention& abstention : advice.abstentions) {
      fmt::print("  {}: {}\n", escaped(abstention.title), escaped(abstention.reason));
    }
  }
  if (!advice.quiet.empty())
    fmt::print("Looked for and not found: {}\n", escaped(fmt::format("{}", fmt::join(advice.quiet, "; "))));
}

std::string amount(compare::Subject subject, std::optional<double> value) {
  if (!value) return "-";
  return isBytes(subject) ? formatBytes(*value) : formatDuration(*value);
}

// A change, with its sign.
std::string change(compare::Subject subject, double value) {
  return fmt::format("{}{}", value < 0 ? "-" : "+", amount(subject, value < 0 ? -value : value));
}

void printComparison(const compare::Comparison& comparison, size_t most) {
  fmt::print("A: {}, {} steady steps of {} ranks\nB: {}, {} steady steps of {} ranks\n", escaped(comparison.a.path),
             comparison.a.steps, comparison.a.ranks, escaped(comparison.b.path), comparison.b.steps,
             comparison.b.ranks);
  if (!comparison.note.empty()) fmt::print("{}\n", escaped(comparison.note));
  fmt::print("Times are means per step and rank; the interval is Welch's for the change, 95 %, over steps.\n\n");
  using Align = TextTable::Align;
  TextTable table({"what", "name", "A", "B", "change", "change %", "95 % interval", "calls A", "calls B", "verdict"},
                  {Align::Left, Align::Left, Align::Right, Align::Right, Align::Right, Align::Right, Align::Right,
                   Align::Right, Align::Right, Align::Left});
  std::optional<compare::Subject> current;
  size_t shown = 0, left = 0;
  for (const compare::Difference& row : comparison.rows) {
    if (current != row.subject) current = row.subject, shown = 0;
    if (++shown > most) {
      ++left;
      continue;
    }
    table.add({nameOf(row.subject), shortened(escaped(row.name), 60), amount(row.subject, row.a),
               amount(row.subject, row.b), row.change ? change(row.subject, *row.change) : "-",
               row.changePct ? fmt::format("{:+.1f} %", *row.changePct) : "-",
               row.low ? fmt::format("{} … {}", change(row.subject, *row.low), change(row.subject, *row.high)) : "-",
               fmt::format("{:.4g}", row.callsA), fmt::format("{:.4g}", row.callsB), row.verdict});
  }
  fmt::print("{}", table.text());
  if (left > 0) fmt::print("\n{} rows more: --all shows them\n", left);
}

void printComparisonAsJson(const compare::Comparison& comparison) {
  json rows = json::array();
  const auto number = [](std::optional<double> value) { return value ? json(*value) : json(nullptr); };
  for (const compare::Difference& row : comparison.rows) {
    rows.push_back({{"what", nameOf(row.subject)},
                    {"name", textOf(row.name)},
                    {"status", row.status},
                    {"a", number(row.a)},
                    {"b", number(row.b)},
                    {"change", number(row.change)},
                    {"change_pct", number(row.changePct)},
                    {"low", number(row.low)},
                    {"high", number(row.high)},
                    {"calls_a", row.callsA},
                    {"calls_b", row.callsB},
                    {"verdict", row.verdict}});
  }
  fmt::print(
      "{}\n",
      json{{"a", {{"file", textOf(comparison.a.path)}, {"steps", comparison.a.steps}, {"ranks", comparison.a.ranks}}},
           {"b", {{"file", textOf(comparison.b.path)}, {"steps", comparison.b.steps}, {"ranks", comparison.b.ranks}}},
           {"note", comparison.note},
           {"rows", rows}}
          .dump(2));
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

// The exit code, or that of a disk that is full.
int finish(int code) {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return code;
  return complain("The output could not be written: is the disk full?", kFailed);
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
  if (arguments.format == Format::Json) {
    printAdviceAsJson(advice.value());
  } else {
    printAdvice(advice.value());
  }
  return finish(kDone);
}

int runDiff(const DiffArguments& arguments) {
  auto a = Trace::open(arguments.a), b = Trace::open(arguments.b);
  if (!a.ok()) return complain(a.error().message, kBadInput);
  if (!b.ok()) return complain(b.error().message, kBadInput);
  auto comparison = compare::compareRuns(a.value(), b.value());
  if (!comparison.ok()) return complain(comparison.error().message, kFailed);
  constexpr size_t kMostRows = 15;  // of each kind
  if (arguments.format == Format::Json) {
    printComparisonAsJson(comparison.value());
  } else {
    printComparison(comparison.value(), arguments.all ? SIZE_MAX : kMostRows);
  }
  return finish(kDone);
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
  return finish(code);
}

}  // namespace plumb::cli
