// SPDX-License-Identifier: Apache-2.0
// plumb diff
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/object_rows.h"
#include "analyzer/cli/text.h"
#include "analyzer/compare/diff.h"
#include "analyzer/trace/trace.h"

namespace plumb::cli {
namespace {

using nlohmann::json;

std::string amount(compare::Subject subject, std::optional<double> value) {
  if (!value) return "-";
  return isBytes(subject) ? formatBytes(*value) : formatDuration(*value);
}

// A change, with its sign.
std::string change(compare::Subject subject, double value) {
  return fmt::format("{}{}", value < 0 ? "-" : "+", amount(subject, value < 0 ? -value : value));
}

// Rows that show nothing: they are counted, not listed.
bool showsNothing(const compare::Difference& row) {
  return row.verdict == "no difference shown" || row.verdict == "the same";
}

void printLeftOut(size_t alike, size_t more) {
  if (alike + more == 0) return;
  std::string text;
  if (alike > 0) text = fmt::format("{} row{} without a difference", alike, alike == 1 ? "" : "s");
  if (more > 0) text += fmt::format("{}{} row{} more", alike > 0 ? " and " : "", more, more == 1 ? "" : "s");
  fmt::print("\n{} left out: --all shows them\n", text);
}

// Verdicts that many rows share because something is missing: a number in the table, the reason once below it.
class Reasons {
 public:
  std::string of(const std::string& verdict) {
    constexpr std::string_view kBegin = "cannot say, ";
    if (!verdict.starts_with(kBegin)) return verdict;
    const std::string reason = verdict.substr(kBegin.size());
    auto known = std::ranges::find(m_reasons, reason);
    if (known == m_reasons.end()) known = m_reasons.insert(m_reasons.end(), reason);
    return fmt::format("cannot say ({})", known - m_reasons.begin() + 1);
  }
  void print() const {
    if (!m_reasons.empty()) fmt::print("\n");
    for (size_t i = 0; i < m_reasons.size(); ++i) fmt::print("({}) {}\n", i + 1, escaped(m_reasons[i]));
  }

 private:
  std::vector<std::string> m_reasons;
};

void printComparison(const compare::Comparison& comparison, bool all) {
  constexpr size_t kMostRows = 15;  // of each kind
  fmt::print("{}\n\n", escaped(compare::verdictSentence(comparison)));
  constexpr size_t kCommandWidth = 150;
  const bool areOfOneCommand = comparison.a.command == comparison.b.command;
  for (const auto& [letter, run] : {std::pair('A', &comparison.a), {'B', &comparison.b}}) {
    const std::string steps = run->hasSteps
                                  ? fmt::format("{} steady {}{}", run->steps,
                                                run->areRepetitions ? "repetition" : "step", run->steps == 1 ? "" : "s")
                                  : "no steps";
    fmt::print("{}: {}, {} of {} rank{}\n", letter, escaped(run->path), steps, run->ranks, run->ranks == 1 ? "" : "s");
    if (!areOfOneCommand && !run->command.empty())
      fmt::print("   {}\n", shortened(escaped(run->command), kCommandWidth));
  }
  if (!comparison.note.empty()) fmt::print("{}\n", escaped(comparison.note));
  fmt::print(
      "Times are means over the steady steps and ranks (summary and report steps have medians); the interval is\n"
      "Welch's for the change, 95 %, over steps. Steady: not warm-up, by the rule that summary prints.\n"
      "From start to start: to the next step's first GPU work, so with what lies between, as loading data; step: its "
      "GPU span,\nor without GPU work its range.\n"
      "It covers how steps differ within a run, not how one run differs from the next: for that record each "
      "several times.\n\n");
  using Align = TextTable::Align;
  TextTable table({"what", "name", "A", "B", "change", "change %", "95 % interval", "calls A", "calls B", "verdict"},
                  {Align::Left, Align::Left, Align::Right, Align::Right, Align::Right, Align::Right, Align::Right,
                   Align::Right, Align::Right, Align::Left});
  std::optional<compare::Subject> current;
  size_t shown = 0, alike = 0, more = 0;
  Reasons reasons;
  for (const compare::Difference& row : comparison.rows) {
    if (current != row.subject) current = row.subject, shown = 0;
    if (!all && showsNothing(row) && row.subject != compare::Subject::Step) {
      ++alike;
      continue;
    }
    if (!all && ++shown > kMostRows) {
      ++more;
      continue;
    }
    table.add({nameOf(row.subject), shortened(escaped(row.name), 60), amount(row.subject, row.a),
               amount(row.subject, row.b), row.change ? change(row.subject, *row.change) : "-",
               row.changePct ? fmt::format("{:+.1f} %", *row.changePct) : "-",
               row.low ? fmt::format("{} … {}", change(row.subject, *row.low), change(row.subject, *row.high)) : "-",
               fmt::format("{:.4g}", row.callsA), fmt::format("{:.4g}", row.callsB), reasons.of(row.verdict)});
  }
  if (!table.empty()) fmt::print("{}", table.text());
  reasons.print();
  printLeftOut(alike, more);
}

json objectsOf(const compare::Comparison& comparison) {
  json rows = json::array();
  const auto number = [](std::optional<double> value) { return value ? json(*value) : json(nullptr); };
  for (const compare::Difference& row : comparison.rows) {
    rows.push_back({{"what", nameOf(row.subject)},
                    {"name", repaired(row.name)},
                    {"unit", isBytes(row.subject) ? "bytes" : "ns"},
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
  return rows;
}

json runObject(const compare::RunSamples& run) {
  return {{"file", repaired(run.path)},
          {"command", repaired(run.command)},
          {"steps", run.hasSteps ? run.steps : 0},
          {"ranks", run.ranks}};
}

void printComparisonAsJson(const compare::Comparison& comparison) {
  fmt::print("{}\n", json{{"verdict", repaired(compare::verdictSentence(comparison))},
                          {"a", runObject(comparison.a)},
                          {"b", runObject(comparison.b)},
                          {"note", comparison.note},
                          {"rows", objectsOf(comparison)}}
                         .dump(2));
}

// Amounts are in the row's own unit; Markdown shows them with it, CSV and a script get plain numbers.
Status printComparisonAsRows(Database& database, const compare::Comparison& comparison, Format format) {
  static const std::vector<ReportColumn> kColumns = {
      {"what", "", ""},    {"name", "", ""},        {"unit", "", ""},   {"a", "", ""},    {"b", "", ""},
      {"change", "", ""},  {"change_pct", "%", ""}, {"low", "", ""},    {"high", "", ""}, {"calls_a", "", ""},
      {"calls_b", "", ""}, {"status", "", ""},      {"verdict", "", ""}};
  json rows = objectsOf(comparison);
  if (format == Format::Markdown) {
    for (size_t i = 0; i < comparison.rows.size(); ++i) {
      const compare::Difference& from = comparison.rows[i];
      rows[i].erase("unit");
      rows[i]["a"] = amount(from.subject, from.a);
      rows[i]["b"] = amount(from.subject, from.b);
      for (const auto& [name, value] : {std::pair("change", from.change), {"low", from.low}, {"high", from.high}}) {
        if (value) rows[i][name] = change(from.subject, *value);
      }
    }
    fmt::print("{}\n\n", escaped(compare::verdictSentence(comparison)));
  }
  return writeObjects(database, rows, kColumns, format, stdout);
}

}  // namespace

int runDiff(const DiffArguments& arguments) {
  auto a = Trace::open(arguments.a), b = Trace::open(arguments.b);
  if (!a.ok()) return complain(a.error().message, kBadInput);
  if (!b.ok()) return complain(b.error().message, kBadInput);
  auto comparison = compare::compareRuns(a.value(), b.value());
  if (!comparison.ok()) return complain(comparison.error().message, kFailed);
  if (arguments.format == Format::Table) {
    printComparison(comparison.value(), arguments.all);
  } else if (arguments.format == Format::Json) {
    printComparisonAsJson(comparison.value());
  } else if (const Status printed = printComparisonAsRows(a.value().database(), comparison.value(), arguments.format);
             !printed.ok()) {
    return complain(printed.error().message, kFailed);
  }
  return finishOutput(kDone);
}

}  // namespace plumb::cli
