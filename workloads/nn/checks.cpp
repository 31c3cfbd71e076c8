// SPDX-License-Identifier: Apache-2.0
#include "workloads/nn/checks.h"

#include <fmt/format.h>

namespace plumb::nn {

void Checks::expect(bool passed, std::string claim, std::string measured) {
  m_checks.push_back({passed ? Verdict::kPassed : Verdict::kFailed, std::move(claim), std::move(measured)});
}

void Checks::expectTimes(std::string claim, const std::function<TimeClaim()>& evaluate,
                         const std::function<void()>& remeasure) {
  TimeClaim outcome = evaluate();
  const HostLoadMeter since;
  for (int attempt = 1; attempt < kAttempts && !outcome.holds; ++attempt) {
    remeasure();
    outcome = evaluate();
  }
  judgeTimes(std::move(claim), outcome, since);
}

void Checks::judgeTimes(std::string claim, const TimeClaim& outcome, const HostLoadMeter& since,
                        double peersCpuSeconds) {
  if (outcome.holds) return expect(true, std::move(claim), outcome.measured);
  HostLoad load = m_load(since, peersCpuSeconds);
  if (!load.busy() && peersCpuSeconds == 0.0) load = m_load(m_meter, 0.0);
  if (!load.busy()) return expect(false, std::move(claim), outcome.measured);
  m_checks.push_back({Verdict::kNotJudged, std::move(claim),
                      fmt::format("not judged, the machine is busy: {}; {}", load.describe(), outcome.measured)});
}

bool Checks::print() const {
  bool all = true;
  if (m_checks.empty()) return all;
  fmt::print("\n");
  for (const Check& check : m_checks) {
    const char* const verdict = check.verdict == Verdict::kPassed   ? "ok    "
                                : check.verdict == Verdict::kFailed ? "FAILED"
                                                                    : "busy  ";
    fmt::print("{}  {}{}\n", verdict, check.claim, check.measured.empty() ? "" : fmt::format(" ({})", check.measured));
    all &= check.verdict != Verdict::kFailed;
  }
  return all;
}

std::vector<std::string> Checks::failures() const {
  std::vector<std::string> failed;
  for (const Check& check : m_checks) {
    if (check.verdict == Verdict::kFailed)
      failed.push_back(check.measured.empty() ? check.claim : fmt::format("{} ({})", check.claim, check.measured));
  }
  return failed;
}

}  // namespace plumb::nn
