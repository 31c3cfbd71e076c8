// SPDX-License-Identifier: Apache-2.0
// Two processes of one rank and one pid in a file, as when traces of one program at two times are imported together:
// every rule tells them apart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/unit/analyzer/advice/rules.h"

namespace plumb::test {
namespace {

// A step of 4 ms: data loading, late launches, waits, copies and sets that block, products in fp32, chains of kernels.
void addStep(const Host& host, int64_t begin, int64_t loading) {
  const auto& [trace, rank] = host;
  trace.addRange(rank.process, rank.thread, begin, 3900 * kUs, "step");
  trace.addRange(rank.process, rank.thread, begin, loading, "enumerate(DataLoader)#__next__", 1);
  int64_t now = begin + loading;
  for (int64_t i = 0; i < 5; ++i, now += 100 * kUs) {
    host.launch(now, now + 3 * kUs, 60 * kUs);
    host.call(now + 5 * kUs, 70 * kUs, i < 3 ? "cudaStreamSynchronize" : "cudaEventQuery");
  }
  trace.addCopy(rank.otherWork(now, 100 * kUs, host.call(now, 140 * kUs, "cudaMemcpyAsync")), 1 << 20, 1, 1, 3);
  trace.addCopy(rank.otherWork(now += 200 * kUs, 40 * kUs, host.call(now, kUs, "cudaMemcpyAsync")), 1 << 20);
  trace.addCopy(rank.otherWork(now += 100 * kUs, 50 * kUs, host.call(now, 90 * kUs, "cudaMemcpy")), 1 << 20, 2, 3, 2);
  trace.addSet(rank.otherWork(now += 200 * kUs, 50 * kUs, host.call(now, 90 * kUs, "cudaMemset")), 1 << 20);
  now += 200 * kUs;
  for (int64_t i = 0; i < 25; ++i) host.launch(now + i * 100, now + 200 * kUs + i * 5 * kUs, 3 * kUs, "pointwise");
  now += 500 * kUs;
  const int64_t external = now, correlation = host.call(now, 2 * kUs, "cudaLaunchKernel");
  trace.addLibraryCall({.process = rank.process,
                        .thread = rank.thread,
                        .startNs = now,
                        .m = 1001,
                        .n = 512,
                        .k = 512,
                        .computeType = "fp32",
                        .externalId = external});
  trace.addLink(rank.process, external, correlation);
  trace.addKernel(rank.work(now + 5 * kUs, 100 * kUs, correlation), "gemm");
  now += 200 * kUs;
  for (int64_t i = 0; i < 3; ++i, now += 110 * kUs) {
    const int64_t range = trace.addRange(rank.process, rank.thread, now, 10 * kUs, "gelu", 1);
    trace.addPayload(range, "flops", int64_t{1000});
    trace.addPayload(range, "bytes", int64_t{90'000});
    host.launch(now + kUs, now + 20 * kUs, 90 * kUs, "gelu");
  }
  host.launch(now, now + 5 * kUs, 20 * kUs, "adamwInHalf(__half*, __half const*)");
}

void addRun(TraceBuilder& trace, int64_t begin, int64_t loading) {
  const Host host{trace, OneRank(trace)};
  const int64_t process = host.rank.process;
  trace.addRoof(process, 0, "memory", 1e9);
  trace.addRoof(process, 0, "fp32", 1e12);
  trace.addRoof(process, 0, "bf16", 4e12);
  for (int64_t step = 0; step < 6; ++step) addStep(host, begin + (step + (step > 0 ? 4 : 0)) * 4 * kMs, loading);
  trace.addRange(process, host.rank.thread, begin + 3800 * kUs, kUs, "skipped step", 1);
  for (const auto& [start, address, bytes, space] :
       {std::tuple(5, 1 << 20, 900'000'000, "reserved"), std::tuple(6, 1 << 20, 400'000'000, "device"),
        std::tuple(7, 1'900'000'000, 1000, "reserved")}) {
    trace.addAllocation({.process = process,
                         .device = host.rank.device,
                         .startNs = begin + start,
                         .address = address,
                         .bytes = bytes,
                         .space = space,
                         .fromPool = std::string(space) == "device"});
  }
}

// Of each rule the findings, small ones too, as gain and sentence.
std::multiset<std::string> saidOf(const Advice& advice) {
  std::multiset<std::string> said;
  for (const auto* findings : {&advice.findings, &advice.small}) {
    for (const Finding& one : *findings) {
      said.insert(one.rule + " " + std::to_string(one.gain ? one.gain->ns() : -1) + " " +
                  std::to_string(one.span.value_or(Duration()).ns()) + ": " +
                  std::regex_replace(one.finding, std::regex("; id [12] of the view processes"), ""));
    }
  }
  return said;
}

Advice adviceOnRuns(const std::string& path, const std::vector<int64_t>& loadings, const char* rank) {
  {
    TraceBuilder trace(path);
    int64_t begin = 0;
    for (const int64_t loading : loadings) addRun(trace, std::exchange(begin, begin + 300 * kMs), loading);
    trace.execute("UPDATE memory_copy SET is_async = 0 WHERE target_kind = 2");
    trace.execute("UPDATE memory_set SET is_async = 0");
    trace.execute("UPDATE device SET kind = 'gpu', compute_major = 8, memory_bytes = 420000000");
    trace.execute((std::string("UPDATE process SET pid = 4711, rank = ") + rank).c_str());
  }
  Trace trace = valueOf(Trace::open(path));
  valueOf(registerSqlSurface(trace, valueOf(findReports({}))));
  const Advice advice = valueOf(advise(trace, {}, {}));
  for (const Abstention& one : advice.abstentions) EXPECT_FALSE(one.isBroken) << one.rule << ": " << one.reason;
  for (const Finding& one : advice.findings) EXPECT_EQ(one.pid.value_or(4711), 4711) << one.rule;
  return advice;
}

class Twins : public testing::TestWithParam<const char*> {};

TEST_P(Twins, EachHasTheAdviceThatItWouldHaveAlone) {
  const TraceFile file;
  const auto first = saidOf(adviceOnRuns(file.path(), {500 * kUs}, GetParam()));
  const auto second = saidOf(adviceOnRuns(file.path(), {700 * kUs}, GetParam()));
  auto expected = first;
  expected.insert(second.begin(), second.end());
  const Advice both = adviceOnRuns(file.path(), {500 * kUs, 700 * kUs}, GetParam());
  EXPECT_EQ(saidOf(both), expected);
  const auto ofSecond = testing::EndsWith("; id 2 of the view processes");
  EXPECT_THAT(both.findings, testing::Contains(testing::Field(&Finding::finding, ofSecond)));
  std::set<std::string> rules;
  for (const std::string& one : first) rules.insert(one.substr(0, one.find(' ')));
  EXPECT_THAT(rules, testing::IsSupersetOf({"data_loading", "fp32_gemms", "fragmentation", "fusion", "half_model",
                                            "hidden_synchronization", "launch_bound", "loss_scale_skips",
                                            "memcpy_async_pageable", "memcpy_sync", "memory_near_limit", "memset_sync",
                                            "small_kernels", "unoverlapped_copies"}));
}

INSTANTIATE_TEST_SUITE_P(Rules, Twins, testing::Values("0", "NULL"),
                         [](const auto& info) { return info.index == 0 ? "OfOneRank" : "WithoutARank"; });

}  // namespace
}  // namespace plumb::test
