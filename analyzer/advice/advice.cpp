// SPDX-License-Identifier: Apache-2.0
#include "analyzer/advice/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "analyzer/advice/rule_file.h"
#include "analyzer/analyses/windows.h"
#include "analyzer/reports/reports.h"
#include "analyzer/trace/text_parts.h"
#include "analyzer/trace/time_limit.h"

namespace plumb {
namespace {

// A column by its name; -1: the rule does not give it.
int columnOf(const Statement& row, std::string_view name) {
  for (int i = 0; i < row.columnCount(); ++i) {
    if (row.columnName(i) == name) return i;
  }
  return -1;
}

std::string textAt(const Statement& row, int column) {
  return column < 0 || row.isNull(column) ? std::string() : std::string(row.text(column));
}
std::optional<int64_t> integerAt(const Statement& row, int column) {
  return column < 0 ? std::nullopt : row.optionalInteger(column);
}

// The rule's columns, read by name.
class FindingReader {
 public:
  FindingReader(const RuleFile& rule, const Statement& row)
      : m_rule(rule),
        m_row(row),
        m_finding(columnOf(row, "finding")),
        m_gain(columnOf(row, "gain_ns")),
        m_arithmetic(columnOf(row, "arithmetic")),
        m_rank(columnOf(row, "rank")),
        m_start(columnOf(row, "start_ns")),
        m_end(columnOf(row, "end_ns")),
        m_evidence(columnOf(row, "evidence")),
        m_range(columnOf(row, "range")),
        m_cannotSay(columnOf(row, "cannot_say")) {}

  [[nodiscard]] bool isUsable() const { return m_finding >= 0; }
  [[nodiscard]] std::string whyNot() const { return textAt(m_row, m_cannotSay); }
  [[nodiscard]] std::optional<Finding> read() const {
    if (m_row.isNull(m_finding)) return std::nullopt;
    Finding one;
    one.rule = m_rule.name;
    one.title = m_rule.title;
    one.remedy = m_rule.remedy;
    one.rank = integerAt(m_row, m_rank);
    one.finding = m_row.text(m_finding);
    if (const auto ns = integerAt(m_row, m_gain)) one.gain = Duration(std::max<int64_t>(*ns, 0));
    one.arithmetic = textAt(m_row, m_arithmetic);
    const auto from = integerAt(m_row, m_start), to = integerAt(m_row, m_end);
    if (from && to && *from <= *to) one.where = Interval{TimePoint(*from), TimePoint(*to)};
    one.evidence = commaList(textAt(m_row, m_evidence));
    one.range = textAt(m_row, m_range);
    return one;
  }

 private:
  const RuleFile& m_rule;
  const Statement& m_row;
  int m_finding, m_gain, m_arithmetic, m_rank, m_start, m_end, m_evidence, m_range, m_cannotSay;
};

void apply(Trace& trace, const RuleFile& rule, const Filter& filter, const RuleLimits& limits, Advice& advice) {
  const auto abstain = [&](std::string reason, bool isBroken) {
    advice.abstentions.push_back({rule.name, rule.title, std::move(reason), isBroken});
  };
  if (!rule.problem.empty()) return abstain(rule.problem, true);
  auto report = parseReport(rule.name, rule.sql, rule.origin, "rule");
  if (!report.ok()) return abstain(report.error().message, true);
  std::optional<TimeLimit> time;
  if (!rule.isBuiltIn()) time.emplace(trace.database(), limits.time);
  if (const Status fits = checkRequest(report.value(), {filter, {}}); !fits.ok()) {
    return abstain(fits.error().message, false);
  }
  auto prepared = prepareReport(trace.database(), report.value(), {filter, {}});
  if (!prepared.ok()) return abstain(prepared.error().message, true);
  Statement& row = prepared.value();
  const FindingReader reader(rule, row);
  if (!reader.isUsable()) return abstain(fmt::format("its SQL ({}) gives no column finding", rule.origin), true);
  std::vector<Finding> found;
  std::string reason;
  while (row.next()) {
    if (const std::string why = reader.whyNot(); !why.empty()) reason = why;
    if (auto one = reader.read()) found.push_back(std::move(*one));
    if (time && found.size() > limits.findings) {
      return abstain(fmt::format("it ({}) gives more than {} findings", rule.origin, limits.findings), true);
    }
  }
  if (time && time->isOver()) return abstain(fmt::format("{} ({})", time->sentence(), rule.origin), true);
  if (const Status status = row.status(); !status.ok()) return abstain(status.error().message, !rule.isBuiltIn());
  if (found.empty() && !reason.empty()) return abstain(reason, false);
  if (found.empty()) advice.quiet.push_back(rule.title);
  for (Finding& one : found) advice.findings.push_back(std::move(one));
}

}  // namespace

Result<Advice> advise(Trace& trace, const Filter& filter, const std::vector<std::string>& userFolders,
                      const RuleLimits& limits) {
  if (const Status known = checkFilter(trace, filter); !known.ok()) return known.error();
  auto rules = findRules(userFolders);
  if (!rules.ok()) return rules.error();
  Advice advice;
  for (const RuleFile& rule : rules.value()) apply(trace, rule, filter, limits, advice);
  std::ranges::stable_sort(advice.findings, [](const Finding& a, const Finding& b) {
    return std::tuple(!a.gain, -a.gain.value_or(Duration()).ns()) <
           std::tuple(!b.gain, -b.gain.value_or(Duration()).ns());
  });
  return advice;
}

}  // namespace plumb
