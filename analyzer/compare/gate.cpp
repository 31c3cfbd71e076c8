// SPDX-License-Identifier: Apache-2.0
#include "analyzer/compare/gate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <compare>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string_view>
#include <utility>

#include "analyzer/cli/text.h"
#include "analyzer/compare/diff.h"
#include "analyzer/trace/sql_text.h"
#include "analyzer/trace/text_file.h"
#include "analyzer/trace/time_limit.h"

namespace plumb::compare {
namespace {

constexpr uintmax_t kMostBytes = 16 << 20;

GateResult outcomeOf(const std::string& name, bool passed, std::string detail) {
  GateResult result;
  result.name = name;
  result.passed = passed;
  result.detail = std::move(detail);
  return result;
}
GateResult brokenRule(const std::string& name, const Error& error) {
  GateResult result = outcomeOf(name, false, {});
  result.error = error.message;
  return result;
}

// With six digits, as tables have them, and all before the point.
std::string shortNumber(double value) {
  constexpr double kSixDigits = 1e6;
  std::string text = std::abs(value) < kSixDigits ? fmt::format("{:.6g}", value) : fmt::format("{:.1f}", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

std::string valueAt(const Statement& row, int column) {
  if (row.isNull(column)) return "NULL";
  return row.type(column) == ValueType::Real ? shortNumber(row.real(column)) : std::string(row.text(column));
}

bool isNumber(const Statement& row, int column) {
  return row.type(column) == ValueType::Integer || row.type(column) == ValueType::Real;
}

// "1.20 ms (1200000 ns)": in the unit that the column's name ends in, or that a rule's limit has.
std::string measureAt(const Statement& row, int column, std::string_view unit) {
  const std::string text = valueAt(row, column);
  if (!isNumber(row, column)) return text;
  const double value = row.real(column);
  if (unit == "ns" && std::abs(value) >= 1000) return fmt::format("{} ({} ns)", cli::formatDuration(value), text);
  if (unit == "bytes" && std::abs(value) >= 1024) return fmt::format("{} ({} bytes)", cli::formatBytes(value), text);
  return unit.empty() ? text : fmt::format("{} {}", text, unit);
}
// Of "span_ns", and of functions that keep the unit: "median(span_ns)".
std::string_view unitOf(std::string_view column) {
  for (const std::string_view function : {"min(", "max(", "sum(", "total(", "avg(", "median("}) {
    if (!column.starts_with(function) || !column.ends_with(')')) continue;
    column = column.substr(function.size(), column.size() - function.size() - 1);
    break;
  }
  if (column.ends_with("_ns")) return "ns";
  return column == "bytes" || column.ends_with("_bytes") ? "bytes" : "";
}
bool isName(std::string_view column) {
  const auto isWord = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return !column.empty() && std::isdigit(static_cast<unsigned char>(column.front())) == 0 &&
         std::ranges::all_of(column, isWord);
}

// Names of SQL have no case.
std::string lowered(std::string_view name) {
  std::string text(name);
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// "a = 1, b = x"
std::string rowText(const Statement& row) {
  std::string text;
  for (int i = 0; i < row.columnCount(); ++i) {
    text +=
        fmt::format("{}{} = {}", i == 0 ? "" : ", ", row.columnName(i), measureAt(row, i, unitOf(row.columnName(i))));
  }
  return text;
}

// The name in the last "-- check: NAME" line of the comments before a statement.
std::string nameBefore(std::string_view text) {
  std::string name;
  constexpr std::string_view kMark = "check:";
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
    if (line.empty()) continue;
    if (!line.starts_with("--")) break;
    line.remove_prefix(2);
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (!line.starts_with(kMark)) continue;
    line.remove_prefix(kMark.size());
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    name = line.substr(0, line.find_last_not_of(" \r") + 1);
  }
  return name;
}

// The line, counted from 1, on which the statement at or behind `at` begins: blanks and whole-line comments go before.
int64_t lineOfStatement(std::string_view script, size_t at) {
  for (;;) {
    at = std::min(script.find_first_not_of(" \t\r\n;", at), script.size());
    if (!script.substr(at).starts_with("--")) break;
    at = std::min(script.find('\n', at), script.size());
  }
  return 1 + std::count(script.begin(), script.begin() + static_cast<std::ptrdiff_t>(at), '\n');
}

constexpr size_t kMostResults = 10'000;  // of one statement

Result<std::vector<GateResult>> runStatement(Statement& row, const std::string& name) {
  int passed = -1, check = -1;
  for (int i = 0; i < row.columnCount(); ++i) {
    const std::string column = lowered(row.columnName(i));
    if (column == "passed") passed = i;
    if (column == "check" || column == "check_name") check = i;
  }
  std::vector<GateResult> results;
  if (passed < 0) {
    GateResult result = outcomeOf(name, true, {});
    int64_t wrong = 0;
    while (row.next()) {
      if (wrong++ == 0) result.detail = rowText(row);
    }
    result.passed = wrong == 0;
    if (wrong > 1) result.detail += fmt::format(" (and {} more rows)", wrong - 1);
    results.push_back(std::move(result));
  } else {
    while (row.next()) {
      const bool good = !row.isNull(passed) && row.integer(passed) != 0;
      results.push_back(outcomeOf(check >= 0 ? valueAt(row, check) : name, good, good ? std::string() : rowText(row)));
      if (results.size() > kMostResults) {
        return Error{fmt::format("it gives more than {} rows with a column 'passed'", kMostResults)};
      }
    }
    if (results.empty()) results.push_back(outcomeOf(name, false, "cannot say, because the statement gave no rows"));
  }
  if (const Status status = row.status(); !status.ok()) return status.error();
  return results;
}

// "ns" of "120ms", "bytes" of "3 GiB", "" of a plain number.
std::string_view unitOfQuantity(std::string_view text) {
  if (text.ends_with('B')) return "bytes";
  return text.ends_with('s') ? "ns" : "";
}

// Two whole numbers are compared as such: from 2^53 on not each is a double.
struct Number {
  double real = 0;
  std::optional<int64_t> whole;

  friend std::partial_ordering operator<=>(const Number& a, const Number& b) {
    return a.whole && b.whole ? std::partial_ordering(*a.whole <=> *b.whole) : a.real <=> b.real;
  }
};
Number numberAt(const Statement& row, int column) {
  const bool isWhole = row.type(column) == ValueType::Integer;
  return {row.real(column), isWhole ? std::optional(row.integer(column)) : std::nullopt};
}

struct Limit {
  const char* key;
  const char* words;
  bool (*holds)(std::partial_ordering valueToLimit);
};
constexpr std::array<Limit, 3> kLimits = {
    {{"min", "at least", [](std::partial_ordering order) { return order >= 0; }},
     {"max", "at most", [](std::partial_ordering order) { return order <= 0; }},
     {"equals", "exactly", [](std::partial_ordering order) { return order == 0; }}}};

Error atNode(const std::string& path, const YAML::Node& node, const std::string& what) {
  return Error{fmt::format("{}, line {}: {}", path, node.Mark().line + 1, what)};
}

// Where the number has no fraction, and it fits.
std::optional<int64_t> wholeQuantity(std::string_view text) {
  int64_t value = 0, whole = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  const auto factor = error == std::errc() ? parseQuantity(fmt::format("1{}", unit)) : std::nullopt;
  const bool isWhole = factor && !unit.starts_with('.') && !unit.starts_with('e') && !unit.starts_with('E');
  if (!isWhole || __builtin_mul_overflow(value, static_cast<int64_t>(*factor), &whole)) return std::nullopt;
  return whole;
}

// Of two equal keys one would silently not count.
Status checkKeys(const YAML::Node& map, const std::string& path) {
  std::set<std::string> seen;
  for (const auto& entry : map) {
    const auto key = entry.first.as<std::string>();
    if (!seen.insert(key).second) return atNode(path, entry.first, fmt::format("'{}' stands there twice", key));
  }
  return Unit{};
}

// What keeps the rule from being about this run; "" when it is.
Result<std::string> whyNotApplied(Trace& trace, const YAML::Node& rule, const std::string& path) {
  const YAML::Node when = rule["when"];
  if (!when) return std::string();
  auto prepared = trace.database().prepare(when.as<std::string>());
  if (!prepared.ok()) return atNode(path, when, prepared.error().message);
  Statement& row = prepared.value();
  const bool any = row.next();
  if (const Status status = row.status(); !status.ok()) return atNode(path, when, status.error().message);
  const bool isNull = !any || row.isNull(0);
  if (!isNull && !isNumber(row, 0)) return atNode(path, when, fmt::format("'{}' is no number", row.text(0)));
  if (!isNull && row.real(0) != 0) return std::string();
  return fmt::format("does not apply, because this gives {}: {}", isNull ? "NULL" : "0", when.as<std::string>());
}

// The limits of a rule, and what they say of one value.
struct Bounds {
  struct Bound {
    const Limit* limit;
    Number value;
    std::string text;
  };
  std::vector<Bound> all;
  std::string words;      // "at least 2 and at most 3"
  std::string_view unit;  // "" when their texts have none

  [[nodiscard]] bool hold(const Number& value) const {
    return std::ranges::all_of(all, [&](const Bound& bound) { return bound.limit->holds(value <=> bound.value); });
  }
};

Result<Bounds> boundsOf(const YAML::Node& rule, const std::string& path) {
  Bounds bounds;
  for (const Limit& limit : kLimits) {
    if (!rule[limit.key]) continue;
    const auto text = rule[limit.key].as<std::string>();
    const auto bound = parseQuantity(text);
    if (!bound) return atNode(path, rule[limit.key], fmt::format("'{}' is no number, duration or size", text));
    bounds.all.push_back({&limit, {*bound, wholeQuantity(text)}, text});
    bounds.words += fmt::format("{}{} {}", bounds.words.empty() ? "" : " and ", limit.words, text);
    if (bounds.unit.empty()) bounds.unit = unitOfQuantity(text);
  }
  if (bounds.all.empty()) return atNode(path, rule, "the rule has a value but neither min, max nor equals");
  return bounds;
}

// "peak_bytes = 3 GiB, rank = 2, wanted at most 2 GiB"
std::string measured(const Statement& row, const Bounds& bounds) {
  const std::string_view name = row.columnName(0);
  std::string text = isName(name) ? fmt::format("{} = ", name) : "";
  const double value = row.real(0);
  const bool isBetweenDigits =
      row.type(0) == ValueType::Real &&
      bounds.hold({value, {}}) != bounds.hold({std::strtod(shortNumber(value).c_str(), nullptr), {}});
  text +=
      isBetweenDigits ? fmt::format("{}", value) : measureAt(row, 0, bounds.unit.empty() ? unitOf(name) : bounds.unit);
  for (int i = 1; i < row.columnCount(); ++i) {
    text += fmt::format(", {} = {}", row.columnName(i), measureAt(row, i, unitOf(row.columnName(i))));
  }
  return text + ", wanted " + bounds.words;
}

Result<GateResult> checkValue(Trace& trace, const YAML::Node& rule, const std::string& name, const std::string& path) {
  auto bounds = boundsOf(rule, path);
  if (!bounds.ok()) return bounds.error();
  const auto sql = rule["value"].as<std::string>();
  auto prepared = trace.database().prepare(sql);
  if (!prepared.ok()) return atNode(path, rule["value"], prepared.error().message);
  Statement& row = prepared.value();
  GateResult result = outcomeOf(name, true, {});
  int64_t rows = 0, wrong = 0;
  while (row.next()) {
    if (row.isNull(0)) {
      rows = 0;
      break;
    }
    if (!isNumber(row, 0)) {
      return outcomeOf(name, false, fmt::format("cannot say, because the value '{}' is no number", row.text(0)));
    }
    const bool isGood = bounds.value().hold(numberAt(row, 0));
    if (rows++ == 0 || (!isGood && wrong == 0)) result.detail = measured(row, bounds.value());
    wrong += !isGood;
  }
  if (const Status status = row.status(); !status.ok()) return atNode(path, rule["value"], status.error().message);
  if (rows == 0) {
    GateResult unknown = outcomeOf(name, false, "cannot say, because the value is NULL");
    unknown.nullValue = sql;
    return unknown;
  }
  result.passed = wrong == 0;
  if (wrong > 1) result.detail += fmt::format(" (and {} more rows)", wrong - 1);
  if (wrong == 0 && rows > 1) result.detail += fmt::format(" (and {} more rows)", rows - 1);
  return result;
}

Result<GateResult> checkSlowdown(Trace& trace, Trace* baseline, const YAML::Node& rule, const std::string& name,
                                 const std::string& path) {
  const auto limit = parseQuantity(rule["max_slowdown_pct"].as<std::string>());
  if (!limit) return atNode(path, rule["max_slowdown_pct"], "max_slowdown_pct is no number");
  if (!baseline) return atNode(path, rule, "max_slowdown_pct needs --baseline FILE");
  auto compared = compareRuns(*baseline, trace);
  if (!compared.ok()) return compared.error();
  const auto [between, span] = stepTimes(compared.value());
  if (!between && !span) return outcomeOf(name, false, "cannot say, because one of the runs has no steps");
  if (!between && (!span->low || !span->a || *span->a <= 0)) return outcomeOf(name, false, span->verdict);
  const auto textOf = [](const char* what, const Difference& row) {
    return fmt::format("{} {:+.2f} % (95 %: {:+.2f} … {:+.2f} %)", what, row.changePct.value_or(0),
                       100 * *row.low / *row.a, 100 * *row.high / *row.a);
  };
  const bool hasSpan = span && span->low && span->a && *span->a > 0;
  const auto isSlower = [&](const Difference& row) { return 100 * *row.low / *row.a > *limit; };
  // Where the time from start to start leaves it open, that of the span may tell.
  const bool isOpen = !between || (!isSlower(*between) && 100 * *between->high / *between->a > *limit);
  const bool isWrong = (between && isSlower(*between)) || (isOpen && hasSpan && isSlower(*span));
  std::string detail = between ? textOf("step time from start to start", *between) : textOf("step time", *span);
  if (between && hasSpan) detail += textOf(", its span", *span);
  return outcomeOf(name, !isWrong, fmt::format("{}, allowed {:+.2f} %", detail, *limit));
}

Result<GateResult> checkRule(Trace& trace, Trace* baseline, const YAML::Node& rule, const std::string& name,
                             const std::string& path) {
  if (!rule.IsMap()) return atNode(path, rule, "a rule is a map with a name and a value");
  try {
    if (const Status unique = checkKeys(rule, path); !unique.ok()) return unique.error();
    for (const auto& entry : rule) {
      static constexpr std::array<std::string_view, 7> kKeys = {"name", "when",   "value",           "min",
                                                                "max",  "equals", "max_slowdown_pct"};
      const auto key = entry.first.as<std::string>();
      if (std::ranges::find(kKeys, key) == kKeys.end())
        return atNode(path, entry.first, fmt::format("'{}' is none of {}", key, fmt::join(kKeys, ", ")));
    }
    auto reason = whyNotApplied(trace, rule, path);
    if (!reason.ok()) return reason.error();
    if (!reason.value().empty()) {
      GateResult skipped = outcomeOf(name, true, std::move(reason).value());
      skipped.isSkipped = true;
      return skipped;
    }
    if (rule["value"]) return checkValue(trace, rule, name, path);
    if (rule["max_slowdown_pct"]) {
      auto compared = checkSlowdown(trace, baseline, rule, name, path);
      if (compared.ok()) compared.value().comparesRuns = true;
      return compared;
    }
    return atNode(path, rule, "the rule has neither a value nor max_slowdown_pct");
  } catch (const YAML::Exception& failure) {  // a list where a text is expected
    return Error{fmt::format("{}, line {}: {}", path, failure.mark.line + 1, failure.msg)};
  }
}

}  // namespace

std::optional<double> parseQuantity(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
  std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  static constexpr std::array<std::pair<std::string_view, double>, 10> kUnits = {{{"", 1},
                                                                                  {"ns", 1},
                                                                                  {"us", 1e3},
                                                                                  {"µs", 1e3},
                                                                                  {"ms", 1e6},
                                                                                  {"s", 1e9},
                                                                                  {"B", 1},
                                                                                  {"KiB", 1024},
                                                                                  {"MiB", 1048576},
                                                                                  {"GiB", 1073741824}}};
  const auto known = std::ranges::find(kUnits, unit, &std::pair<std::string_view, double>::first);
  if (known == kUnits.end()) return std::nullopt;
  return value * known->second;
}

Result<std::vector<GateResult>> checkSqlRules(Trace& trace, const std::string& path, std::chrono::milliseconds limit) {
  auto text = readTextFile("The rules file", path, kMostBytes);
  if (!text.ok()) return text.error();
  const std::string_view script = text.value();
  std::vector<GateResult> results;
  size_t at = 0;
  for (int number = 1;; ++number) {
    const std::string given = nameBefore(script.substr(at));
    const std::string name = given.empty() ? fmt::format("statement {}", number) : given;
    const std::string place = fmt::format("{}, line {}, {}", path, lineOfStatement(script, at), name);
    const size_t end = endOfStatement(script, at);
    TimeLimit time(trace.database(), limit);
    auto prepared = trace.database().prepareNext(script, at);
    if (!prepared.ok()) {
      results.push_back(brokenRule(name, Error{fmt::format("{}: {}", place, prepared.error().message)}));
      at = end;
      continue;
    }
    if (!prepared.value()) break;
    auto checked = runStatement(*prepared.value(), name);
    if (!checked.ok()) {
      const std::string why = time.isOver() ? time.sentence() + "." : checked.error().message;
      results.push_back(brokenRule(name, Error{fmt::format("{}: {}", place, why)}));
      continue;
    }
    for (GateResult& result : checked.value()) results.push_back(std::move(result));
  }
  if (results.empty()) return Error{fmt::format("The rules {} hold no statement.", path)};
  return results;
}

Result<std::vector<GateResult>> checkYamlRules(Trace& trace, Trace* baseline, const std::string& path,
                                               std::chrono::milliseconds limit) {
  auto text = readTextFile("The rules file", path, kMostBytes);
  if (!text.ok()) return text.error();
  try {
    const YAML::Node document = YAML::Load(text.value());
    if (document.IsMap()) {
      if (const Status unique = checkKeys(document, path); !unique.ok()) return unique.error();
    }
    const YAML::Node rules = document.IsMap() ? document["rules"] : document;
    if (!rules || !rules.IsSequence() || rules.size() == 0) {
      return Error{fmt::format("{}: there is no list 'rules' in it.", path)};
    }
    std::vector<GateResult> results;
    for (const YAML::Node& rule : rules) {
      const std::string name = rule.IsMap() && rule["name"] && rule["name"].IsScalar()
                                   ? rule["name"].as<std::string>()
                                   : fmt::format("rule {}", results.size() + 1);
      TimeLimit time(trace.database(), limit);
      auto result = checkRule(trace, baseline, rule, name, path);
      if (result.ok()) {
        results.push_back(std::move(result).value());
      } else {
        results.push_back(brokenRule(name, time.isOver() ? atNode(path, rule, time.sentence()) : result.error()));
      }
    }
    return results;
  } catch (const YAML::Exception& failure) {
    return Error{fmt::format("{}, line {}: {}", path, failure.mark.line + 1, failure.msg)};
  }
}

}  // namespace plumb::compare
