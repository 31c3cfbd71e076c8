// SPDX-License-Identifier: Apache-2.0
#include "analyzer/advice/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <utility>

#include "analyzer/advice/findings.h"
#include "analyzer/advice/rule_file.h"
#include "analyzer/advice/rule_trace.h"
#include "analyzer/analyses/breakdown.h"
#include "analyzer/analyses/gpu_events.h"
#include "analyzer/analyses/steps.h"
#include "analyzer/analyses/windows.h"
#include "analyzer/reports/reports.h"
#include "analyzer/trace/shared_loads.h"
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

// None for what is no length of time: a text, an infinite number.
std::optional<Duration> gainAt(const Statement& row, int column) {
  if (column < 0) return std::nullopt;
  const ValueType type = row.type(column);
  const double ns = row.real(column);
  if ((type != ValueType::Integer && type != ValueType::Real) || !(ns <= static_cast<double>(kLargestTimeNs))) {
    return std::nullopt;
  }
  return Duration(static_cast<int64_t>(std::max(ns, 0.0)));
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
        m_gainRank(columnOf(row, "gain_rank")),
        m_pid(columnOf(row, "pid")),
        m_title(columnOf(row, "title")),
        m_remedy(columnOf(row, "remedy")),
        m_start(columnOf(row, "start_ns")),
        m_end(columnOf(row, "end_ns")),
        m_span(columnOf(row, "span_ns")),
        m_evidence(columnOf(row, "evidence")),
        m_range(columnOf(row, "range")),
        m_cannotSay(columnOf(row, "cannot_say")) {}

  [[nodiscard]] bool isUsable() const { return m_finding >= 0; }
  [[nodiscard]] std::string whyNot() const { return textAt(m_row, m_cannotSay); }
  [[nodiscard]] std::optional<Finding> read() const {
    if (m_row.isNull(m_finding)) return std::nullopt;
    Finding one;
    one.rule = m_rule.name;
    one.title = textAt(m_row, m_title);
    if (one.title.empty()) one.title = m_rule.title;
    one.remedy = textAt(m_row, m_remedy);
    one.rank = integerAt(m_row, m_rank);
    one.gainRank = integerAt(m_row, m_gainRank);
    if (one.gainRank == one.rank) one.gainRank.reset();
    one.pid = integerAt(m_row, m_pid);
    one.finding = m_row.text(m_finding);
    one.gain = gainAt(m_row, m_gain);
    one.arithmetic = textAt(m_row, m_arithmetic);
    const auto from = integerAt(m_row, m_start), to = integerAt(m_row, m_end);
    if (from && to && *from <= *to) one.where = Interval{TimePoint(*from), TimePoint(*to)};
    one.span = gainAt(m_row, m_span);
    if (one.span == Duration()) one.span.reset();
    one.evidence = commaList(textAt(m_row, m_evidence));
    one.range = textAt(m_row, m_range);
    return one;
  }

 private:
  const RuleFile& m_rule;
  const Statement& m_row;
  int m_finding, m_gain, m_arithmetic, m_rank, m_gainRank, m_pid, m_title, m_remedy, m_start, m_end, m_span, m_evidence,
      m_range, m_cannotSay;
};

// What is asked of the rules, and where the run's steps are.
struct Scope {
  Filter filter;
  std::optional<Interval> steps;
  bool isOutsideSteps = false;
  bool isWithoutTorch = false;
  Contents contents;
};

// Whether it is known that what ran kernels is no Python and uses nothing of PyTorch.
Result<bool> isWithoutTorch(Trace& trace) {
  auto rows = trace.query(
      "SELECT EXISTS (SELECT 1 FROM main.kernel) AND NOT EXISTS (SELECT 1 FROM operator)"
      " AND NOT EXISTS (SELECT 1 FROM python_call)"
      " AND NOT EXISTS (SELECT 1 FROM main.process p JOIN main.string n ON n.id = p.program_id"
      "  WHERE n.text GLOB '[0-9]*' OR n.text = '' OR n.text LIKE 'process %' OR n.text LIKE '%python%' OR n.text LIKE "
      "'%torch%')"
      " AND NOT EXISTS (SELECT 1 FROM main.string WHERE text LIKE '%at::native::%' OR text LIKE 'aten::%')");
  if (!rows.ok()) return rows.error();
  const bool isWithout = rows.value().next() && rows.value().integer(0) != 0;
  if (const Status status = rows.value().status(); !status.ok()) return status.error();
  return isWithout;
}

// Times that every trace lies within are no limit.
Filter within(Filter filter, TimePoint from, TimePoint to) {
  if (from > kAllTime.start) filter.from = from;
  if (to < kAllTime.end) filter.to = to;
  return filter;
}

// `own`: that of the rule's row.
std::string remedyOf(const RuleFile& rule, const Scope& scope, std::string own) {
  if (scope.isOutsideSteps && !rule.remedyOutside.empty()) return rule.remedyOutside;
  if (!own.empty()) return own;
  return scope.isWithoutTorch && !rule.remedyWithoutTorch.empty() ? rule.remedyWithoutTorch : rule.remedy;
}

// Why a rule cannot look at what the filter asks for, to stand after "because". `sentence`: checkRequest's.
std::string refusal(const Report& report, std::string_view sentence) {
  const std::string subject = fmt::format("The {} {} ", report.noun, report.name);
  if (sentence.starts_with(subject)) sentence.remove_prefix(subject.size());
  if (sentence.ends_with('.')) sentence.remove_suffix(1);
  return fmt::format("it cannot look at a part of the run alone (it {})", sentence);
}

// Outside the steps a rule's shares are of the part that it looked at, and the gain's is of the whole run.
void sayWhichSpan(std::string& finding, const Scope& scope, bool areRepetitions) {
  constexpr std::string_view kSpan = "% of its span";
  const bool isBefore = scope.filter.to && scope.steps && *scope.filter.to <= scope.steps->start;
  const std::string part =
      fmt::format(" {} the {}", isBefore ? "before" : "after", areRepetitions ? "repetitions" : "steps");
  for (size_t at = finding.find(kSpan); at != std::string::npos; at = finding.find(kSpan, at + kSpan.size())) {
    finding.insert(at + kSpan.size(), part);
  }
}

void apply(Trace& trace, const RuleFile& rule, const Scope& scope, const RuleLimits& limits, Advice& advice) {
  const auto abstain = [&](std::string reason, bool isBroken) {
    if (scope.isOutsideSteps) return;
    advice.abstentions.push_back({rule.name, rule.title, std::move(reason), isBroken});
  };
  if (!rule.problem.empty()) return abstain(rule.problem, true);
  for (const RuleNeed* need : rule.needs) {
    if (!(scope.contents.*need->has)) return abstain(std::string(need->lack), false);
  }
  auto report = parseReport(rule.name, rule.sql, rule.origin, "rule");
  if (!report.ok()) return abstain(report.error().message, true);
  Filter filter = scope.filter;
  if (scope.steps) {
    const Filter inSteps = within(filter, scope.steps->start, scope.steps->end);
    const bool isLimited = checkRequest(report.value(), {inSteps, {}}).ok();
    if (!isLimited && scope.isOutsideSteps) return;
    if (isLimited && !scope.isOutsideSteps) filter = inSteps;
  }
  std::optional<TimeLimit> time;
  constexpr std::chrono::hours kAnyTime{24};
  if (!rule.isBuiltIn() || limits.goOn)
    time.emplace(trace.database(), rule.isBuiltIn() ? kAnyTime : limits.time, limits.goOn);
  if (const Status fits = checkRequest(report.value(), {filter, {}}); !fits.ok()) {
    return abstain(refusal(report.value(), fits.error().message), false);
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
    if (!rule.isBuiltIn() && found.size() > limits.findings) {
      return abstain(fmt::format("it ({}) gives more than {} findings", rule.origin, limits.findings), true);
    }
  }
  if (time && time->isOver()) return abstain(fmt::format("{} ({})", time->sentence(), rule.origin), true);
  if (const Status status = row.status(); !status.ok()) return abstain(status.error().message, !rule.isBuiltIn());
  if (found.empty() && !reason.empty()) return abstain(reason, false);
  if (found.empty() && !scope.isOutsideSteps) advice.quiet.push_back(rule.title);
  const bool isKnown =
      scope.isOutsideSteps && std::ranges::find(advice.findings, rule.name, &Finding::rule) != advice.findings.end();
  for (Finding& one : found) {
    if (isKnown && !one.gain) continue;  // without a gain it says nothing more than that of the steps
    one.isOutsideSteps = scope.isOutsideSteps;
    if (scope.isOutsideSteps) sayWhichSpan(one.finding, scope, advice.areRepetitions);
    one.remedy = remedyOf(rule, scope, std::move(one.remedy));
    // A place that stands for many ranges is no range to ask for.
    const auto known = trace.findText(one.range);
    if (!one.range.empty() && (!known.ok() || !known.value())) one.range.clear();
    advice.findings.push_back(std::move(one));
  }
}

// While it lives, what the rules read of the trace's events they read once.
class SharedReading {
 public:
  explicit SharedReading(Trace& trace) : m_trace(trace), m_isMine(!trace.sharedLoads()) {
    if (m_isMine) m_trace.shareLoads(std::make_shared<SharedLoads>());
  }
  ~SharedReading() {
    if (m_isMine) m_trace.shareLoads(nullptr);
  }
  SharedReading(const SharedReading&) = delete;
  SharedReading& operator=(const SharedReading&) = delete;

 private:
  Trace& m_trace;
  bool m_isMine;
};

// All of the steps of all ranks, and the GPU work that they launched.
Interval hullOf(const std::vector<RankSteps>& ranks) {
  Interval hull{kAllTime.end, kAllTime.start};
  for (const RankSteps& rank : ranks) {
    for (const Step& step : rank.steps) {
      hull.start = std::min(hull.start, step.host.start);
      hull.end = std::max(hull.end, step.host.end);
      if (step.gpu) hull.end = std::max(hull.end, step.gpu->window.end);
    }
  }
  return hull;
}

// Where the first steady step of a rank begins. A host that is ahead begins it while the device is still warming up.
TimePoint steadyStart(const std::vector<RankSteps>& ranks, TimePoint otherwise) {
  TimePoint earliest = kAllTime.end;
  for (const RankSteps& rank : ranks) {
    TimePoint warm = kAllTime.start;
    for (const Step& step : rank.steps) {
      if (step.isWarmup) {
        if (step.gpu) warm = std::max(warm, step.gpu->window.end);
        continue;
      }
      const TimePoint latest = step.gpu ? std::max(step.host.start, step.gpu->window.start) : step.host.start;
      earliest = std::min(earliest, std::clamp(warm, step.host.start, latest));
      break;
    }
  }
  return earliest == kAllTime.end ? otherwise : earliest;
}

// Where the steady steps are, when much of the run lies outside them and nearly all of the computing in steps; else
// nothing: the repetitions of one loop of several are not the run's steps. Where hardly anything lies before or after
// them they have no end there.
Result<std::optional<Interval>> findStepsApart(Trace& trace, bool& areRepetitions) {
  constexpr int64_t kLeastOutside = 100;  // a hundredth of the run
  constexpr double kDeclaredShare = 0.8, kPeriodShare = 0.95;
  const std::optional<Interval> none;
  auto steps = findSteps(trace);
  if (!steps.ok()) return steps.error();
  if (steps.value().empty()) return none;
  auto activities = loadGpuActivity(trace);
  if (!activities.ok()) return activities.error();
  const Interval hull = hullOf(steps.value());
  const Interval steady{steadyStart(steps.value(), hull.start), hull.end};
  Interval run = hull;
  Duration inside, all;
  for (const GpuActivity& activity : activities.value()) {
    run = {std::min(run.start, activity.hull.start), std::max(run.end, activity.hull.end)};
    inside += activity.compute.lengthWithin(hull);
    all += activity.compute.length();
  }
  const auto isMuch = [&](Duration time) { return time.ns() > run.length().ns() / kLeastOutside; };
  const bool before = isMuch(steady.start - run.start), after = isMuch(run.end - steady.end);
  const auto isDeclaredOn = [](const RankSteps& rank) { return rank.source == StepSource::Declared; };
  const bool isDeclared = std::ranges::all_of(steps.value(), isDeclaredOn);
  areRepetitions = std::ranges::none_of(steps.value(), isDeclaredOn);
  const double least = (isDeclared ? kDeclaredShare : kPeriodShare) * static_cast<double>(all.ns());
  if ((!before && !after) || static_cast<double>(inside.ns()) < least) return none;
  return std::optional(Interval{before ? steady.start : kAllTime.start, after ? steady.end : kAllTime.end});
}

// Half a percent of the longest span of a device.
Duration smallGain(const std::vector<DeviceBreakdown>& devices) {
  Duration span;
  for (const DeviceBreakdown& device : devices) span = std::max(span, device.whole.span);
  return Duration(span.ns() / 200);
}

// Of those with GPU work.
size_t countProcesses(const std::vector<DeviceBreakdown>& devices) {
  std::set<ProcessId> processes;
  for (const DeviceBreakdown& device : devices) processes.insert(device.process);
  return processes.size();
}

// The longest span of a device of those whose time the finding's gain is.
std::optional<Duration> spanOf(const RuleTrace& trace, const Finding& finding,
                               const std::vector<DeviceBreakdown>& devices) {
  const bool isOfOneProcess = finding.pid && !finding.gainRank && (trace.hasTwins() || !finding.rank);
  const std::optional<int64_t>& rank = finding.gainRank ? finding.gainRank : finding.rank;
  std::optional<Duration> longest;
  for (const DeviceBreakdown& device : devices) {
    if (rank && device.rank != rank) continue;
    const Process* process = trace.trace().process(device.process);
    if (isOfOneProcess && process && trace.pidInRules(*process) != *finding.pid) continue;
    if (device.whole.span > longest.value_or(Duration())) longest = device.whole.span;
  }
  return longest;
}

}  // namespace

std::optional<double> Finding::share() const {
  if (!gain || !span) return std::nullopt;
  return std::min(1.0, static_cast<double>(gain->ns()) / static_cast<double>(span->ns()));
}

Result<Advice> advise(Trace& given, const Filter& filter, const std::vector<std::string>& userFolders,
                      const RuleLimits& limits) {
  if (const Status known = checkFilter(given, filter); !known.ok()) return known.error();
  auto rules = findRules(userFolders);
  if (!rules.ok()) return rules.error();
  auto opened = RuleTrace::open(given);
  if (!opened.ok()) return opened.error();
  const RuleTrace& ruleTrace = opened.value();
  Trace& trace = ruleTrace.trace();
  const SharedReading sharing(trace);
  Advice advice;
  if (filter.isWholeTime()) {
    auto steps = findStepsApart(trace, advice.areRepetitions);
    if (!steps.ok()) return steps.error();
    advice.steps = steps.value();
  }
  const auto withoutTorch = isWithoutTorch(trace);
  if (!withoutTorch.ok()) return withoutTorch.error();
  const auto contents = findContents(trace);
  if (!contents.ok()) return contents.error();
  std::vector<Scope> scopes{{filter, advice.steps, false, withoutTorch.value(), contents.value()}};
  if (advice.steps && advice.steps->start > kAllTime.start) {
    scopes.push_back({within(filter, kAllTime.start, advice.steps->start), advice.steps, true, withoutTorch.value(),
                      contents.value()});
  }
  if (advice.steps && advice.steps->end < kAllTime.end) {
    scopes.push_back(
        {within(filter, advice.steps->end, kAllTime.end), advice.steps, true, withoutTorch.value(), contents.value()});
  }
  for (const RuleFile& rule : rules.value()) {
    if (!rule.threshold.empty()) advice.thresholds.emplace(rule.title, rule.threshold);
  }
  for (const Scope& scope : scopes) {
    for (const RuleFile& rule : rules.value()) {
      apply(trace, rule, scope, limits, advice);
      if (limits.goOn && !limits.goOn()) return Error{"Looking for advice was stopped."};
    }
  }
  auto devices = breakDown(trace, filter);
  if (!devices.ok()) return devices.error();
  auto inSteps = advice.steps ? breakDown(trace, within(filter, advice.steps->start, advice.steps->end)) : devices;
  if (!inSteps.ok()) return inSteps.error();
  for (Finding& one : advice.findings) {
    if (!one.span) one.span = spanOf(ruleTrace, one, one.isOutsideSteps ? devices.value() : inSteps.value());
    if (!one.pid) continue;
    if (const auto twin = ruleTrace.twin(one.rank, *one.pid)) {
      one.finding += fmt::format("; id {} of the view processes", twin->value());
    }
    one.pid = ruleTrace.pidInFile(*one.pid);
  }
  advice.smallBelow = smallGain(devices.value());
  advice.findings = foldSame(groupFindings(std::move(advice.findings), countProcesses(devices.value())));
  std::erase_if(advice.quiet, [&](const std::string& title) {
    return std::ranges::find(advice.findings, title, &Finding::title) != advice.findings.end();
  });
  for (Finding& one : advice.findings) {
    one.finding = withSeconds(one.finding);
    one.arithmetic = withSeconds(one.arithmetic);
  }
  const auto isSmall = [&](const Finding& one) { return one.gain && *one.gain < advice.smallBelow; };
  std::ranges::copy_if(advice.findings, std::back_inserter(advice.small), isSmall);
  std::erase_if(advice.findings, isSmall);
  return advice;
}

}  // namespace plumb
