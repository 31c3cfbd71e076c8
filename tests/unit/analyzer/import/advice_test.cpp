// SPDX-License-Identifier: Apache-2.0
// What advice says about real recordings of other people, which are not part of the project: PLUMB_TEST_TRACES names
// the folder that holds them.
#include <gmock/gmock.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/advice/advice.h"
#include "analyzer/analyses/host_waits.h"
#include "analyzer/analyses/idle.h"
#include "analyzer/reports/reports.h"
#include "analyzer/sqlext/sql_surface.h"
#include "analyzer/trace/trace.h"
#include "tests/unit/analyzer/import/support.h"

namespace plumb::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class AdviceOnRecordings : public ImportTest {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("PLUMB_TEST_TRACES");
    if (folder == nullptr || *folder == 0) GTEST_SKIP() << "PLUMB_TEST_TRACES names no folder of recordings";
    m_recordings = folder;
  }

  Trace opened(std::vector<std::string> files) {
    for (std::string& file : files) file = m_recordings + "/" + file;
    const auto result = import(files);
    if (!result.ok()) throw std::runtime_error(result.error().message);
    auto trace = Trace::open(output());
    if (!trace.ok()) throw std::runtime_error(trace.error().message);
    return std::move(trace).value();
  }
  static Advice adviceOn(Trace& trace) {
    const auto reports = findReports({});
    if (!reports.ok()) throw std::runtime_error(reports.error().message);
    if (const Status added = registerSqlSurface(trace, reports.value()); !added.ok()) {
      throw std::runtime_error(added.error().message);
    }
    auto advice = advise(trace, {}, {});
    if (!advice.ok()) throw std::runtime_error(advice.error().message);
    return std::move(advice).value();
  }
  static std::vector<Finding> findingsOf(const Advice& advice, const std::string& rule) {
    std::vector<Finding> found;
    for (const Finding& finding : advice.findings) {
      if (finding.rule == rule) found.push_back(finding);
    }
    return found;
  }

 private:
  std::string m_recordings;
};

TEST_F(AdviceOnRecordings, WaitingForALateRankIsNoExposedCommunication) {
  std::vector<std::string> files;
  for (int rank = 0; rank < 4; ++rank)
    files.push_back("kineto/dlrm_8ranks_v100_rank" + std::to_string(rank) + ".json.gz");
  Trace trace = opened(files);
  const Advice advice = adviceOn(trace);

  const auto waiting = findingsOf(advice, "waiting_for_ranks");
  ASSERT_EQ(waiting.size(), 1u) << "all ranks that wait are one finding";
  EXPECT_THAT(waiting[0].ranks, ElementsAre(0, 1, 3));
  EXPECT_THAT(waiting[0].finding, HasSubstr("mostly that of rank 2"));
  EXPECT_THAT(waiting[0].finding, HasSubstr("6.85 ms they waited in the first collective for rank 2, whose recording"));
  EXPECT_NEAR(static_cast<double>(waiting[0].gain->ns()), 1.0e6, 0.1e6) << "that is no gain";

  const auto exposed = findingsOf(advice, "exposed_communication");
  ASSERT_EQ(exposed.size(), 2u);
  EXPECT_THAT(exposed[0].finding, HasSubstr("of SendRecv"));
  EXPECT_THAT(exposed[0].remedy, HasSubstr("async_op=True"));
  EXPECT_THAT(exposed[1].finding, HasSubstr("of AllReduce"));
  EXPECT_THAT(exposed[1].remedy, HasSubstr("Let the host launch further ahead first"))
      << "little queued work waits for it";
  for (const Finding& one : exposed) EXPECT_LT(*one.gain, Duration(2'000'000)) << one.finding;
  for (const Finding& one : exposed)
    EXPECT_THAT(one.finding, HasSubstr("cannot be told without the kernels of all ranks"));
}

TEST_F(AdviceOnRecordings, WaitsCostWhatTheIdleReportSaysAndTheSetUpComesLast) {
  Trace trace = opened({"nsys/a100_llm_2_7b.sqlite"});
  Duration caused, idle;
  const auto waits = findHostWaits(trace, {});
  const auto devices = findIdle(trace);
  ASSERT_TRUE(waits.ok() && devices.ok());
  for (const HostWait& wait : waits.value()) {
    if (wait.cost) caused += wait.cost->causedIdle;
  }
  for (const DeviceIdle& device : devices.value()) {
    for (const auto& [key, total] : device.byEvidence) {
      if (key.first == IdleCause::HostSynchronization) idle += total.time;
    }
  }
  EXPECT_GT(caused, Duration());
  EXPECT_EQ(caused, idle);

  const Advice advice = adviceOn(trace);
  ASSERT_TRUE(advice.steps);
  EXPECT_TRUE(findingsOf(advice, "hidden_synchronization").empty());
  const auto copies = findingsOf(advice, "memcpy_async_pageable");
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_TRUE(copies[0].isOutsideSteps);
  EXPECT_FALSE(advice.findings.front().isOutsideSteps);
  EXPECT_TRUE(advice.findings.back().isOutsideSteps);
}

}  // namespace
}  // namespace plumb::test
