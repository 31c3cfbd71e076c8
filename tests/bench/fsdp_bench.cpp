// SPDX-License-Identifier: Apache-2.0
// The default sharded training on the software device: its time against the ten seconds that it may take on two cores,
// and what recording it adds, run by run in turn.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "tests/support/process.h"

namespace plumb::test {
namespace {

constexpr int kRuns = 5;
constexpr double kAllowedSeconds = 10.0;

// Wall seconds of the whole command; negative when it failed.
double secondsOf(const std::vector<std::string>& arguments) {
  Command command;
  command.arguments = arguments;
  const auto start = std::chrono::steady_clock::now();
  const bool ok = run(command).exitCode == 0;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  return ok ? took.count() : -1.0;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int bench() {
  const TemporaryFolder folder;
  const std::vector<std::string> plain = {PLUMB_BUILD_DIR "/bin/workloads/fsdp", "--device", "software", "--ranks",
                                          "2"};
  std::vector<std::string> recorded = {PLUMB_BUILD_DIR "/bin/plumb", "record", "--force", "-o",
                                       folder.file("run.sqlite"),    "--"};
  recorded.insert(recorded.end(), plain.begin(), plain.end());
  std::vector<double> alone, ratios;
  for (int i = 0; i < kRuns; ++i) {
    const double without = secondsOf(plain), with = secondsOf(recorded);
    if (without < 0 || with < 0) {
      std::fprintf(stderr, "fsdp_bench: a run failed; run %s by itself to see why\n", plain.front().c_str());
      return 1;
    }
    alone.push_back(without);
    ratios.push_back(with / without);
  }
  std::printf("default fsdp, 2 ranks, whole command, median of %d: %.2f s, %.2f x the %.0f s it may take\n", kRuns,
              median(alone), median(alone) / kAllowedSeconds, kAllowedSeconds);
  std::printf("the same under plumb record, file completed: %.2f x (%.2f .. %.2f)\n", median(ratios),
              *std::min_element(ratios.begin(), ratios.end()), *std::max_element(ratios.begin(), ratios.end()));
  return 0;
}

}  // namespace
}  // namespace plumb::test

int main() { return plumb::test::bench(); }
