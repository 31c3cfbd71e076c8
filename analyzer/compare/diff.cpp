// SPDX-License-Identifier: Apache-2.0
#include "analyzer/compare/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "analyzer/compare/inference.h"
#include "analyzer/trace/device_text.h"

namespace plumb::compare {
namespace {

// What is called more or less often is not therefore slower or faster: only when each call is, too.
const char* byCalls(const Difference& row, bool isMore) {
  constexpr double kSame = 0.05, kSameCount = 0.01;
  if (row.callsA <= 0 || row.callsB <= 0 || !row.a || !row.b || *row.a <= 0) return nullptr;
  const double calls = row.callsB / row.callsA, perCall = *row.b / *row.a / calls;
  if (isMore) return calls > 1 + kSameCount && perCall <= 1 + kSame ? "more calls" : nullptr;
  return calls < 1 - kSameCount && perCall >= 1 - kSame ? "fewer calls" : nullptr;
}

std::string verdictOf(const Difference& row, const RunSamples& a, const RunSamples& b) {
  // Of where time went no more than the amount is said: more overlap is good, more idle time is not.
  const bool isTime = !isBytes(row.subject), isSpeed = isTime && row.subject != Subject::Breakdown;
  const char* up = isSpeed ? "slower" : "more";
  const char* down = isSpeed ? "faster" : "less";
  if (row.status != "in both") return row.status == "added" ? "only in B" : "only in A";
  if (!isTime) return *row.change == 0 ? "the same" : *row.change > 0 ? up : down;
  if (!row.low) {
    if (!a.hasSteps || !b.hasSteps) return "cannot say, because a run without steps is one observation";
    return fmt::format("cannot say, because {} and {} steady steps are too few (3 are needed)", a.steps, b.steps);
  }
  if (*row.low > 0 || *row.high < 0) {
    const bool isMore = *row.low > 0;
    const char* calls = isSpeed ? byCalls(row, isMore) : nullptr;
    return calls ? calls : isMore ? up : down;
  }
  return "no difference shown";
}

Difference compareSeries(Subject subject, const std::string& name, const Series* a, const Series* b,
                         const RunSamples& runA, const RunSamples& runB) {
  Difference row;
  row.subject = subject;
  row.name = name;
  row.status = a && b ? "in both" : a ? "removed" : "added";
  const SampleMoments left = a ? momentsOf(a->values) : SampleMoments{},
                      right = b ? momentsOf(b->values) : SampleMoments{};
  if (a) row.a = left.mean, row.callsA = a->calls;
  if (b) row.b = right.mean, row.callsB = b->calls;
  row.change = right.mean - left.mean;
  if (left.mean > 0) row.changePct = 100 * *row.change / left.mean;
  if (a && b && !isBytes(subject)) {
    if (const auto interval = welchInterval(left, right)) row.low = interval->low, row.high = interval->high;
  }
  row.verdict = verdictOf(row, runA, runB);
  return row;
}

int orderOf(Subject subject) {
  switch (subject) {
    case Subject::Step:
      return 0;
    case Subject::Breakdown:
      return 1;
    case Subject::MemoryPeak:
      return 2;
    case Subject::MemoryCategory:
      return 3;
    case Subject::Kernel:
      return 4;
    case Subject::Collective:
      return 5;
    case Subject::Operator:
      return 6;
    case Subject::Range:
      return 7;
  }
  return 8;
}

std::string comparability(Trace& a, Trace& b, const RunSamples& left, const RunSamples& right) {
  std::string note;
  const auto add = [&](const std::string& sentence) { note += (note.empty() ? "" : " ") + sentence; };
  const auto deviceOf = [](Trace& trace) {
    return trace.devices().empty() ? std::string("none recorded") : deviceText(trace.devices().front());
  };
  if (deviceOf(a) != deviceOf(b)) add(fmt::format("The devices differ: {} and {}.", deviceOf(a), deviceOf(b)));
  if (left.ranks != right.ranks) add(fmt::format("The numbers of ranks differ: {} and {}.", left.ranks, right.ranks));
  if (left.hasSteps != right.hasSteps) add("Only one of the runs has steps.");
  for (const auto& [letter, run] : {std::pair('A', &left), {'B', &right}}) {
    if (run->areRepetitions)
      add(fmt::format("The steps of {} are repetitions of its kernels: it marks none, and each may be a layer.",
                      letter));
  }
  return note;
}

std::string changeText(double ns) {
  return std::abs(ns) < 1e6 ? fmt::format("{:+.1f} µs", ns / 1e3) : fmt::format("{:+.2f} ms", ns / 1e6);
}

// Of kernels or operators.
std::optional<SharedWork> sharedOf(const std::vector<Difference>& rows, Subject subject) {
  double a = 0, b = 0;
  SharedWork both;
  for (const Difference& row : rows) {
    if (row.subject != subject) continue;
    a += row.a.value_or(0);
    b += row.b.value_or(0);
    if (row.status != "in both") continue;
    both.ofA += row.a.value_or(0);
    both.ofB += row.b.value_or(0);
  }
  if (a <= 0 || b <= 0) return std::nullopt;
  return SharedWork{both.ofA / a, both.ofB / b};
}

std::optional<SharedWork> sharedWork(const std::vector<Difference>& rows) {
  const auto kernels = sharedOf(rows, Subject::Kernel), operators = sharedOf(rows, Subject::Operator);
  if (!kernels || !operators) return kernels ? kernels : operators;
  // Another GPU's kernels have other names for the same operators.
  return std::min(kernels->ofA, kernels->ofB) > std::min(operators->ofA, operators->ofB) ? kernels : operators;
}

}  // namespace

Result<Comparison> compareRuns(Trace& a, Trace& b) {
  auto left = sampleRun(a), right = sampleRun(b);
  if (!left.ok()) return left.error();
  if (!right.ok()) return right.error();
  Comparison result{std::move(left).value(), std::move(right).value(), {}, {}, {}};
  std::set<std::pair<Subject, std::string>> keys;
  for (const auto* run : {&result.a, &result.b}) {
    for (const auto& [key, series] : run->series) keys.insert(key);
  }
  const auto find = [](const RunSamples& run, const std::pair<Subject, std::string>& key) -> const Series* {
    const auto found = run.series.find(key);
    return found == run.series.end() ? nullptr : &found->second;
  };
  for (const auto& key : keys) {
    result.rows.push_back(
        compareSeries(key.first, key.second, find(result.a, key), find(result.b, key), result.a, result.b));
  }
  std::ranges::stable_sort(result.rows, [](const Difference& x, const Difference& y) {
    const auto key = [](const Difference& row) {
      return std::tuple(orderOf(row.subject), row.subject == Subject::Step && row.name != kStartToStart,
                        -std::abs(row.change.value_or(0)));
    };
    return key(x) < key(y);
  });
  result.shared = sharedWork(result.rows);
  result.note = comparability(a, b, result.a, result.b);
  return result;
}

StepTimes stepTimes(const Comparison& comparison) {
  StepTimes times;
  for (const Difference& row : comparison.rows) {
    if (row.subject != Subject::Step) continue;
    if (row.name == kGpuSpan) times.span = &row;
    if (row.name == kStartToStart && row.low) times.startToStart = &row;
  }
  return times;
}

namespace {

// "" when they have enough in common.
std::string strangersText(const Comparison& comparison) {
  constexpr double kNextToNothing = 0.1;
  const auto& shared = comparison.shared;
  if (!shared || std::min(shared->ofA, shared->ofB) >= kNextToNothing) return {};
  return fmt::format(
      "The runs share next to nothing (work of the same names takes {:.1f} % of A's time and {:.1f} % of B's): they "
      "may "
      "be of different programs. ",
      100 * shared->ofA, 100 * shared->ofB);
}

std::string verdictAlone(const Comparison& comparison) {
  if (!comparison.a.hasSteps || !comparison.b.hasSteps) {
    const char* who = comparison.a.hasSteps ? "B has" : comparison.b.hasSteps ? "A has" : "the runs have";
    return fmt::format("Cannot say which is faster, because {} no steps: without them a run is one observation.", who);
  }
  const auto [between, span] = stepTimes(comparison);
  const Difference* step = between ? between : span;
  if (!step) return "Cannot say which is faster, because no time per step is known.";
  const std::string percent = step->changePct ? fmt::format("{:+.1f} %", *step->changePct) : "?";
  if (!step->low) {
    return fmt::format("Cannot say which is faster: {} ({} per step); {}.", percent, changeText(*step->change),
                       step->verdict.starts_with("cannot say, because ") ? step->verdict.substr(20) : step->verdict);
  }
  std::string numbers =
      fmt::format("{} per step{} ({}, 95 % interval {} … {})", percent, between ? " from start to start" : "",
                  changeText(*step->change), changeText(*step->low), changeText(*step->high));
  if (between && span && span->change) {
    numbers += fmt::format(
        "; its {}: {} ({}), {}", comparison.a.hasGpuSpans && comparison.b.hasGpuSpans ? "GPU span" : "own length",
        span->changePct ? fmt::format("{:+.1f} %", *span->changePct) : "?", changeText(*span->change), span->verdict);
  }
  if (step->verdict == "slower" || step->verdict == "faster") {
    return fmt::format("B is {}: {}.", step->verdict, numbers);
  }
  return fmt::format("No difference in the time per step is shown, because the interval spans zero: {}.", numbers);
}

}  // namespace

std::string verdictSentence(const Comparison& comparison) {
  return strangersText(comparison) + verdictAlone(comparison);
}

}  // namespace plumb::compare
