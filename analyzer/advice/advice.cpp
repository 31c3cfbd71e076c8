// SPDX-License-Identifier: Apache-2.0
#include "analyzer/advice/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "analyzer/advice/rule_file.h"
#include "analyzer/analyses/windows.h"

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

std::vector<std::string> splitEvidence(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(", "), text.size());
    if (comma > 0) parts.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 2, text.size()));
  }
  return parts;
}

void bindFilter(Statement& statement, const Filter& filter) {
  const auto bind = [&](const char* name, std::optional<int64_t> value) {
    const int parameter = statement.parameterIndex(name);
    if (parameter > 0 && value) statement.bind(parameter, *value);
  };
  bind(":rank", filter.rank);
  bind(":step", filter.step);
  if (filter.from) bind(":from_ns", filter.from->ns());
  if (filter.to) bind(":to_ns", filter.to->ns());
  const int range = statement.parameterIndex(":range");
  if (range > 0 && filter.range) statement.bind(range, std::string_view(*filter.range));
}

void apply(Trace& trace, const RuleFile& rule, const Filter& filter, Advice& advice) {
  const auto abstain = [&](std::string reason) {
    advice.abstentions.push_back({rule.name, rule.title, std::move(reason)});
  };
  auto prepared = trace.query(rule.sql);
  if (!prepared.ok()) {
    return abstain(fmt::format("its SQL ({}) does not work: {}", rule.origin, prepared.error().message));
  }
  Statement& row = prepared.value();
  bindFilter(row, filter);
  const int finding = columnOf(row, "finding"), gain = columnOf(row, "gain_ns"),
            arithmetic = columnOf(row, "arithmetic");
  const int rank = columnOf(row, "rank"), start = columnOf(row, "start_ns"), end = columnOf(row, "end_ns");
  const int evidence = columnOf(row, "evidence"), cannotSay = columnOf(row, "cannot_say");
  if (finding < 0) return abstain(fmt::format("its SQL ({}) gives no column finding", rule.origin));
  std::vector<Finding> found;
  std::string reason;
  while (row.next()) {
    if (const std::string why = textAt(row, cannotSay); !why.empty()) reason = why;
    if (row.isNull(finding)) continue;
    Finding one;
    one.rule = rule.name;
    one.title = rule.title;
    one.remedy = rule.remedy;
    one.rank = integerAt(row, rank);
    one.finding = row.text(finding);
    if (const auto ns = integerAt(row, gain)) one.gain = Duration(std::max<int64_t>(*ns, 0));
    one.arithmetic = textAt(row, arithmetic);
    const auto from = integerAt(row, start), to = integerAt(row, end);
    if (from && to && *from <= *to) one.where = Interval{TimePoint(*from), TimePoint(*to)};
    one.evidence = splitEvidence(textAt(row, evidence));
    found.push_back(std::move(one));
  }
  if (const Status status = row.status(); !status.ok()) return abstain(status.error().message);
  if (found.empty() && !reason.empty()) return abstain(reason);
  if (found.empty()) advice.quiet.push_back(rule.title);
  for (Finding& one : found) advice.findings.push_back(std::move(one));
}

}  // namespace

Result<Advice> advise(Trace& trace, const Filter& filter, const std::vector<std::string>& userFolders) {
  if (const Status known = checkFilter(trace, filter); !known.ok()) return known.error();
  auto rules = findRules(userFolders);
  if (!rules.ok()) return rules.error();
  Advice advice;
  for (const RuleFile& rule : rules.value()) apply(trace, rule, filter, advice);
  std::ranges::stable_sort(advice.findings, [](const Finding& a, const Finding& b) {
    return std::tuple(!a.gain, -a.gain.value_or(Duration()).ns()) <
           std::tuple(!b.gain, -b.gain.value_or(Duration()).ns());
  });
  return advice;
}

}  // namespace plumb
