// SPDX-License-Identifier: Apache-2.0
// Recordings of a small program while CUPTI misbehaves (SOFTCUDA_FAULTS): whatever it does, the program is unharmed,
// the file is complete, and says what is wrong with it.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/support/database.h"
#include "tests/support/process.h"

namespace plumb::test {
namespace {

constexpr int kKernels = 200;

class CuptiFaults : public testing::Test {
 protected:
  void record(const std::string& faults, bool byGraphs = false) {
    std::filesystem::remove(file);
    Command command;
    command.arguments = {PLUMB_BUILD_DIR "/bin/plumb-launch",
                         "record",
                         "-o",
                         file,
                         "--",
                         PLUMB_BUILD_DIR "/tests/faults_kernels_program"};
    if (byGraphs) command.arguments.push_back("graph");
    command.environment = {{"SOFTCUDA_FAULTS", faults}};
    const Outcome outcome = run(command);
    EXPECT_EQ(outcome.output, "result 200\n") << outcome.errors;
    EXPECT_EQ(outcome.exitCode, 3) << outcome.errors;
    EXPECT_EQ(number("SELECT count(*) FROM meta WHERE key = 'complete' AND value = '1'"), 1) << outcome.errors;
    EXPECT_EQ(Database(file).text("PRAGMA integrity_check"), "ok");
  }
  int64_t number(const std::string& sql) { return Database(file).number(sql); }
  int64_t kernels(const std::string& where = "1") { return number("SELECT count(*) FROM kernel WHERE " + where); }
  // The rows of a problem; its count where only one is expected.
  int64_t said(const std::string& code) {
    return number("SELECT count(*) FROM diagnostic WHERE code = '" + code + "'");
  }

  TemporaryFolder folder;
  const std::string file = folder.file("recording.sqlite");
};

TEST_F(CuptiFaults, NoneIsNothingToSay) {
  record("");
  EXPECT_EQ(kernels(), kKernels);
  EXPECT_EQ(kernels("flags & 1"), 0);
  EXPECT_EQ(number("SELECT count(*) FROM diagnostic WHERE lane = 'cupti' AND severity != 'info'"), 0);
}

// No fault, but where collectors lost kernels: all of a launch have its correlation id.
TEST_F(CuptiFaults, KernelsOfAGraphAreAllThereAndLinkedToTheLaunch) {
  record("", true);
  EXPECT_EQ(kernels(), kKernels);
  EXPECT_EQ(kernels("graph_node_id IS NOT NULL AND flags & 2"), kKernels);
  EXPECT_EQ(number("SELECT count(DISTINCT graph_node_id) FROM kernel"), 10);
  EXPECT_EQ(number("SELECT count(DISTINCT correlation) FROM kernel JOIN api_call USING (process_id, correlation)"), 20);
}

TEST_F(CuptiFaults, KernelsThatLoseTheirTimesAreKeptFlaggedAndCounted) {
  record("bad_times:after=50");
  EXPECT_EQ(kernels(), kKernels);
  EXPECT_GE(kernels("flags & 1"), kKernels - 50);
  EXPECT_LT(kernels("flags & 1"), kKernels);
  EXPECT_GE(said("bad_time"), 1);
}

TEST_F(CuptiFaults, KernelsThatEndBeforeTheyStartAreKeptFlaggedAndCounted) {
  record("impossible_times");
  EXPECT_EQ(kernels(), kKernels);
  EXPECT_EQ(kernels("flags & 1"), kKernels);
  EXPECT_EQ(kernels("duration_ns < 0"), 0);
  EXPECT_GE(said("bad_time"), 1);
}

TEST_F(CuptiFaults, AShiftedEpochIsADiagnosisAndNoEmptyLane) {
  for (const char* shift : {"shifted_epoch", "shifted_epoch:by=60", "shifted_epoch:by=86400"}) {
    record(shift);
    EXPECT_EQ(kernels(), kKernels) << shift;
    EXPECT_EQ(kernels("flags & 1"), kKernels) << shift;
    EXPECT_GE(said("bad_time"), 1) << shift;
  }
}

TEST_F(CuptiFaults, AKernelThatStartsBeforeItsLaunchKeepsItsLaunch) {
  record("early_kernels");
  EXPECT_EQ(kernels("correlation IN (SELECT correlation FROM api_call)"), kKernels);
}

TEST_F(CuptiFaults, KernelsWithoutANameHaveAPlaceholder) {
  record("no_names");
  EXPECT_EQ(kernels(), kKernels);
  EXPECT_EQ(number("SELECT count(*) FROM kernels WHERE name LIKE '%kernel%'"), kKernels);
  EXPECT_EQ(number("SELECT count FROM diagnostic WHERE code = 'unnamed_kernel' AND severity = 'warning'"), kKernels);
}

TEST_F(CuptiFaults, CallsOfUnknownThreadsAreKept) {
  record("strange_threads");
  EXPECT_EQ(kernels("correlation IN (SELECT correlation FROM api_call)"), kKernels);
}

TEST_F(CuptiFaults, DroppedRecordsAreCounted) {
  record("drop:every=10");
  EXPECT_LT(kernels(), kKernels);
  EXPECT_GT(kernels(), kKernels / 2);
  EXPECT_EQ(said("records_dropped"), 1);
  EXPECT_GE(number("SELECT max(count) FROM diagnostic WHERE code = 'records_dropped_total'"), kKernels / 10);
}

TEST_F(CuptiFaults, AnUnknownRecordCostsNoMoreThanItsBuffer) {
  record("unknown_records:after=100");
  EXPECT_EQ(said("bad_record"), 1);
}

TEST_F(CuptiFaults, ABufferThatComesTwiceIsReadOnce) {
  record("twice");
  EXPECT_EQ(kernels(), kKernels);
  EXPECT_EQ(said("buffer_twice"), 1);
}

TEST_F(CuptiFaults, ALateFlushLosesNothing) {
  record("late_flush");
  EXPECT_EQ(kernels(), kKernels);
}

TEST_F(CuptiFaults, ASecondSubscriberCostsTheGpuLaneAlone) {
  record("second_subscriber");
  EXPECT_EQ(kernels(), 0);
  EXPECT_EQ(number("SELECT count(*) FROM diagnostic WHERE code = 'lane_off' AND message LIKE '%Another tool%'"), 1);
}

TEST_F(CuptiFaults, ARefusalIsSaidWithItsCode) {
  record("refuse:code=35");
  EXPECT_EQ(kernels(), 0);
  EXPECT_EQ(number("SELECT count(*) FROM diagnostic WHERE code = 'lane_off' AND message LIKE '%error 35%'"), 1);
}

TEST_F(CuptiFaults, ARefusedKindIsNamedAndTheOthersAreRecorded) {
  record("refuse_kind:kind=49");  // MEMORY2
  EXPECT_EQ(kernels(), kKernels);
  EXPECT_EQ(number("SELECT count(*) FROM diagnostic WHERE code = 'kind_off' AND message LIKE '%allocations%'"), 1);
}

}  // namespace
}  // namespace plumb::test
