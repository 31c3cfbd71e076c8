// SPDX-License-Identifier: Apache-2.0
#include "analyzer/advice/findings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <tuple>
#include <utility>

#include "analyzer/analyses/stuck_collectives.h"

namespace plumb {
namespace {

bool isDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// Begins or ends a quotation: no apostrophe.
bool isQuote(std::string_view sentence, size_t i) {
  const auto isInWord = [&](size_t at) { return std::isalnum(static_cast<unsigned char>(sentence[at])) != 0; };
  return sentence[i] == '\'' && !(i > 0 && isInWord(i - 1) && i + 1 < sentence.size() && isInWord(i + 1));
}

// What follows a semicolon explains what one says of one rank.
std::string_view firstClause(std::string_view sentence) { return sentence.substr(0, sentence.find(';')); }

// Puts another rank's or process's finding into the group of `first`.
void join(Finding& first, const Finding& other) {
  if (other.rank) {
    first.ranks.push_back(*other.rank);
  } else if (other.pid) {
    first.pids.push_back(*other.pid);
  }
  if (other.gain) first.leastGain = std::min(first.leastGain.value_or(*other.gain), *other.gain);
}

bool concerns(const Finding& group, const Finding& finding) {
  if (finding.rank) return std::ranges::find(group.ranks, *finding.rank) != group.ranks.end();
  if (finding.pid) return std::ranges::find(group.pids, *finding.pid) != group.pids.end();
  return true;  // it is about all of them already
}

bool areSame(const Finding& one, const Finding& other) {
  constexpr double kLeastShare = 0.98;
  if (one.rule == other.rule || !one.gain || !other.gain || one.evidence.empty()) return false;
  const int64_t less = std::min(one.gain->ns(), other.gain->ns()), more = std::max(one.gain->ns(), other.gain->ns());
  const auto about = [](const Finding& f) { return std::tie(f.ranks, f.pids, f.isOutsideSteps, f.evidence); };
  return about(one) == about(other) && static_cast<double>(less) >= kLeastShare * static_cast<double>(more);
}

std::string whomOf(const Finding& finding, size_t processCount) {
  if (!finding.ranks.empty()) {
    return fmt::format("rank{} {}", finding.ranks.size() > 1 ? "s" : "", rankList(finding.ranks));
  }
  if (finding.pids.empty() || processCount < 2) return "";
  return fmt::format("process{} {}", finding.pids.size() > 1 ? "es" : "", fmt::join(finding.pids, ", "));
}

// `digits`: the number as it was written. What is exact in it stays.
std::string timeText(double ms, std::string_view digits) {
  constexpr double kMsPerS = 1000, kUsPerMs = 1000, kNsPerMs = 1e6;
  constexpr size_t kMostDecimals = 2;
  const size_t point = digits.find('.');
  const size_t decimals = point == std::string_view::npos ? 0 : digits.size() - point - 1;
  if (ms >= kMsPerS) return fmt::format("{:.3f} s", ms / kMsPerS);
  if (ms >= 1) return decimals > kMostDecimals ? fmt::format("{:.2f} ms", ms) : fmt::format("{} ms", digits);
  if (ms <= 0) return decimals > kMostDecimals ? "0 ms" : fmt::format("{} ms", digits);
  if (ms * kUsPerMs < 1) return fmt::format("{:.0f} ns", ms * kNsPerMs);
  std::string us = fmt::format("{:.1f}", ms * kUsPerMs);
  if (us.ends_with(".0")) us.resize(us.size() - 2);
  return us + " µs";
}

}  // namespace

std::vector<Finding> foldSame(std::vector<Finding> findings) {
  std::vector<Finding> kept;
  for (Finding& finding : findings) {
    const auto same = std::ranges::find_if(kept, [&](const Finding& one) { return areSame(one, finding); });
    if (same == kept.end()) {
      kept.push_back(std::move(finding));
      continue;
    }
    if (finding.gain < same->gain) std::swap(finding, *same);
    same->finding += fmt::format("; also \"{}\": {}", finding.title, finding.finding);
    same->remedy += fmt::format(" Or: {}", finding.remedy);
  }
  sortFindings(kept);
  return kept;
}

std::string withSeconds(std::string_view sentence) {
  constexpr std::string_view kUnit = " ms";
  std::string result;
  bool inQuotes = false;
  for (size_t i = 0; i < sentence.size();) {
    if (isQuote(sentence, i)) inQuotes = !inQuotes;
    size_t end = i;
    while (end < sentence.size() && (isDigit(sentence[end]) || (end > i && sentence[end] == '.'))) ++end;
    double ms = 0;
    const bool isTime = !inQuotes && end > i && sentence.substr(end).starts_with(kUnit) &&
                        std::from_chars(sentence.data() + i, sentence.data() + end, ms).ptr == sentence.data() + end;
    if (isTime) {
      result += timeText(ms, sentence.substr(i, end - i));
      i = end + kUnit.size();
    } else {
      end = std::max(end, i + 1);
      result += sentence.substr(i, end - i);
      i = end;
    }
  }
  return result;
}

std::string wordsOf(std::string_view sentence) {
  std::string words;
  bool inQuotes = false, inNumber = false;
  for (size_t i = 0; i < sentence.size(); ++i) {
    const char c = sentence[i];
    if (isQuote(sentence, i)) inQuotes = !inQuotes;
    const bool isNumber =
        !inQuotes && (isDigit(c) || (inNumber && c == '.' && i + 1 < sentence.size() && isDigit(sentence[i + 1])));
    if (isNumber && !inNumber) words += '#';
    if (!isNumber) words += c;
    inNumber = isNumber;
  }
  return words;
}

void sortFindings(std::vector<Finding>& findings) {
  std::ranges::stable_sort(findings, {}, [](const Finding& one) {
    return std::tuple(one.isOutsideSteps, !one.gain, -one.gain.value_or(Duration()).ns());
  });
}

std::vector<Finding> groupFindings(std::vector<Finding> findings, size_t processCount) {
  sortFindings(findings);
  std::vector<Finding> groups;
  std::map<std::tuple<std::string, std::string, bool>, std::vector<size_t>> known;
  for (Finding& finding : findings) {
    auto& alike = known[{finding.rule, wordsOf(firstClause(finding.finding)), finding.isOutsideSteps}];
    const auto group = std::ranges::find_if(alike, [&](size_t i) { return !concerns(groups[i], finding); });
    if (group != alike.end()) {
      join(groups[*group], finding);
      continue;
    }
    alike.push_back(groups.size());
    if (finding.rank) finding.ranks = {*finding.rank};
    if (!finding.rank && finding.pid) finding.pids = {*finding.pid};
    groups.push_back(std::move(finding));
  }
  for (Finding& group : groups) {
    std::ranges::sort(group.ranks);
    std::ranges::sort(group.pids);
    group.whom = whomOf(group, processCount);
  }
  return groups;
}

}  // namespace plumb
