// SPDX-License-Identifier: Apache-2.0
// A workload's checks of its own numbers, which decide its exit code.
#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "workloads/nn/host_load.h"

namespace plumb::nn {

// Whether a claim about times holds for what was measured so far, and the numbers.
struct TimeClaim {
  bool holds;
  std::string measured;
};

// What the numbers of a workload must satisfy. Each is printed with its verdict at the end.
class Checks {
 public:
  // The load since a moment, when other processes of the same run have used that many CPU seconds.
  using LoadSince = std::function<HostLoad(const HostLoadMeter&, double peersCpuSeconds)>;
  explicit Checks(LoadSince load = &HostLoadMeter::load) : m_load(std::move(load)) {}

  void expect(bool passed, std::string claim, std::string measured = "");
  // A claim about times, which other programs can break. While it does not hold it is measured again (remeasure, which
  // adds to what evaluate looks at) kAttempts times in all. If it never holds it has failed, unless other programs took
  // the cores meanwhile: then it is not judged, and says so with the numbers.
  void expectTimes(std::string claim, const std::function<TimeClaim()>& evaluate,
                   const std::function<void()>& remeasure);
  static constexpr int kAttempts = 4;

  // The verdict alone, of what this process and its peers, which used that many CPU seconds, have measured since then.
  void judgeTimes(std::string claim, const TimeClaim& outcome, const HostLoadMeter& since,
                  double peersCpuSeconds = 0.0);

  // True when none failed.
  bool print() const;
  // The claims that failed, with their numbers.
  [[nodiscard]] std::vector<std::string> failures() const;

 private:
  enum class Verdict { kPassed, kFailed, kNotJudged };
  struct Check {
    Verdict verdict;
    std::string claim;
    std::string measured;
  };
  LoadSince m_load;
  HostLoadMeter m_meter;  // of the whole run
  std::vector<Check> m_checks;
};

}  // namespace plumb::nn
