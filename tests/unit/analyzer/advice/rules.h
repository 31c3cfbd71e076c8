// SPDX-License-Identifier: Apache-2.0
// What the tests of the bundled rules share: advice on a trace made by hand, and a rank that launches work.
#pragma once
#include <algorithm>
#include <optional>
#include <string>

#include "analyzer/advice/advice.h"
#include "analyzer/reports/reports.h"
#include "analyzer/sqlext/sql_surface.h"
#include "tests/unit/analyzer/testing.h"

namespace plumb::test {

inline constexpr int64_t kUs = 1'000, kMs = 1'000'000;

inline Advice adviceOn(const TraceFile& file, const Filter& filter = {}) {
  Trace trace = valueOf(Trace::open(file.path()));
  valueOf(registerSqlSurface(trace, valueOf(findReports({}))));
  return valueOf(advise(trace, filter, {}));
}

// Small ones, too.
inline std::optional<Finding> findingOf(const Advice& advice, const std::string& rule) {
  for (const auto* findings : {&advice.findings, &advice.small}) {
    const auto found = std::ranges::find(*findings, rule, &Finding::rule);
    if (found != findings->end()) return *found;
  }
  return std::nullopt;
}

inline std::string reasonOf(const Advice& advice, const std::string& rule) {
  const auto found = std::ranges::find(advice.abstentions, rule, &Abstention::rule);
  return found == advice.abstentions.end() ? std::string() : found->reason;
}

inline int64_t gainOf(const Advice& advice, const std::string& rule) {
  const auto finding = findingOf(advice, rule);
  if (!finding) return -1;
  return finding->gain ? finding->gain->ns() : -2;
}

// A rank whose one thread launches work on its streams.
struct Host {
  TraceBuilder& trace;
  OneRank rank;

  int64_t call(int64_t startNs, int64_t durationNs, const char* name) const {
    const int64_t correlation = trace.newCorrelation();
    trace.addApiCall(rank.process, rank.thread, startNs, durationNs, name, correlation);
    return correlation;
  }
  // A kernel and the call of 2 µs that launched it.
  int64_t launch(int64_t hostNs, int64_t gpuNs, int64_t durationNs, const char* name = "gemm") const {
    return trace.addKernel(rank.work(gpuNs, durationNs, call(hostNs, 2 * kUs, "cudaLaunchKernel")), name);
  }
};

}  // namespace plumb::test
