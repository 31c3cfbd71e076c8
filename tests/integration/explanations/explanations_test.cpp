// SPDX-License-Identifier: Apache-2.0
// Every experiment is recorded, and what `plumb advise` and the reports say of it is the mistake that was made on
// purpose: the rule, the rank, the cause and the range of the code. What a busy machine adds to it does not matter; how
// long things took is not asked. (How the lesson "bound" is explained by the roofline: lessons_test.)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/process.h"

namespace plumb::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const std::string kPlumb = PLUMB_BUILD_DIR "/bin/plumb";

class Explanations : public testing::Test {
 protected:
  void record(const std::string& workload, const std::vector<std::string>& arguments) {
    Command command{{kPlumb, "record", "--force", "-o", m_file, "--", PLUMB_BUILD_DIR "/bin/workloads/" + workload,
                     "--device", "software"},
                    {},
                    {}};
    command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
    const Outcome outcome = run(command);
    // A lesson ends with 1 when its own checks fail, as those of times can on a busy machine; that is lessons_test's
    // affair.
    const bool isLesson = workload.starts_with("lessons/");
    ASSERT_TRUE(outcome.exitCode == 0 || (isLesson && outcome.exitCode == 1)) << outcome.output << outcome.errors;
  }
  json printed(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), kPlumb);
    arguments.insert(arguments.end(), {m_file, "--format", "json"});
    const Outcome outcome = run({arguments, {{"PLUMB_RULES", ""}, {"XDG_CONFIG_HOME", "/does/not/exist"}}, {}});
    EXPECT_EQ(outcome.exitCode, 0) << outcome.output << outcome.errors;
    return json::parse(outcome.output, nullptr, false);
  }
  json report(const std::string& name, const std::vector<std::string>& options = {}) const {
    std::vector<std::string> arguments = {"report", name};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return printed(arguments);
  }
  // The rule's findings, the one with the largest gain first.
  std::vector<json> findings(const std::string& rule, const std::vector<std::string>& options = {}) const {
    std::vector<std::string> arguments = {"advise"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    std::vector<json> found;
    const json advice = printed(arguments);
    for (const char* list : {"findings", "small"}) {
      for (const json& finding : advice[list]) {
        if (finding["rule"] == rule) found.push_back(finding);
      }
    }
    return found;
  }
  // The rule's finding about a range; null when there is none.
  json findingIn(const std::string& rule, const std::string& range,
                 const std::vector<std::string>& options = {}) const {
    for (const json& finding : findings(rule, options)) {
      if (finding["range"] == range) return finding;
    }
    return {};
  }
  static std::string textOf(const json& finding) { return finding["finding"].get<std::string>(); }

  TemporaryFolder m_folder;
  std::string m_file = m_folder.file("run.sqlite");
};

// --- distributed faults; the last rank is the culprit

TEST_F(Explanations, ASlowRankIsNamedWithItsCompute) {
  record("lessons/faults", {"--fault", "slow-rank", "--steps", "6", "--slowdown", "40"});
  const auto found = findings("stragglers");  // the largest first; on a busy machine other ranks are late now and then
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0]["rank"], 1);
  EXPECT_THAT(textOf(found[0]), HasSubstr("late in: compute"));
  EXPECT_EQ(found[0]["range"], "compute");
  EXPECT_THAT(found[0]["evidence"].dump(), HasSubstr("collective "));
}

TEST_F(Explanations, ALateRankIsNamedWithItsDataLoader) {
  record("lessons/faults", {"--fault", "late-rank", "--steps", "6", "--delay", "80", "--ranks", "3"});
  const auto found = findings("stragglers");
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0]["rank"], 2);
  EXPECT_THAT(textOf(found[0]), HasSubstr("late in: data loading"));
  EXPECT_EQ(found[0]["range"], "dataloader");
  const auto loading = findings("data_loading");  // the largest first; on a busy machine other ranks wait now and then
  ASSERT_FALSE(loading.empty());
  EXPECT_EQ(loading[0]["rank"], 2);
}

TEST_F(Explanations, SkewedInputsAreMoreComputeOnTheLastRank) {
  record("lessons/faults", {"--fault", "skewed-inputs", "--steps", "6"});
  const auto found = findings("stragglers");  // the largest first; on a busy machine other ranks are late now and then
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0]["rank"], 1);
  EXPECT_THAT(textOf(found[0]), HasSubstr("late in: compute"));
  EXPECT_EQ(found[0]["range"], "compute");
}

TEST_F(Explanations, AMissingRankIsNamedWithTheCollectiveAndWhatItDid) {
  record("lessons/faults", {"--fault", "missing-rank", "--ranks", "3", "--timeout", "1500"});
  const auto found = findings("missing_rank");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0]["rank"], 2);
  EXPECT_THAT(textOf(found[0]), HasSubstr("rank 2 never came to AllReduce 4"));
  EXPECT_THAT(textOf(found[0]), HasSubstr("ranks 0 1 waited for it"));
  EXPECT_THAT(textOf(found[0]), HasSubstr("range 'stuck'"));
  for (const json& other : findings("stragglers")) EXPECT_LT(other["gain_ns"], found[0]["gain_ns"]);
  for (const json& other : findings("exposed_communication")) EXPECT_LT(other["gain_ns"], found[0]["gain_ns"]);

  const json stuck = report("stuck");
  ASSERT_EQ(stuck.size(), 1u);
  EXPECT_EQ(stuck[0]["state"], "never called");
  EXPECT_EQ(stuck[0]["operation"], "AllReduce");
  EXPECT_EQ(stuck[0]["sequence"], 4);
  EXPECT_EQ(stuck[0]["missing_ranks"], "2");
  EXPECT_EQ(stuck[0]["waiting_ranks"], "0 1");
  EXPECT_GE(stuck[0]["waited_ns"], 1'000'000'000);
  const Outcome table = run({{kPlumb, "report", "stuck", m_file}, {{"COLUMNS", "100"}}, {}});
  EXPECT_THAT(table.output, testing::StartsWith("The run hangs in AllReduce 4 of ")) << "the answer first";
  EXPECT_THAT(table.output, testing::ContainsRegex("Look at rank[ \n]2\\."));
}

// Where other programs take the cores, the few buckets can be as slow as the tiny collectives, and advice is silent: a
// moment in which they do not is waited for.
TEST_F(Explanations, TinyCollectivesAreComparedWithTheBucket) {
  std::vector<json> found;
  for (int attempt = 0; attempt < 8 && found.empty(); ++attempt) {
    record("lessons/faults", {"--fault", "tiny-collectives", "--steps", "10", "--tiny", "64"});
    found = findings("small_collectives");
  }
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(textOf(found[0]), HasSubstr("AllReduce of 4.0 KiB"));
  EXPECT_THAT(found[0]["arithmetic"].get<std::string>(), HasSubstr("AllReduce of 256.0 KiB"));
  EXPECT_GT(found[0]["gain_ns"], 0);
}

// --- host and device

TEST_F(Explanations, ReadingTheLossInEveryStepIsAHiddenSynchronization) {
  record("lessons/synchronization", {"--steps", "30"});
  const json found = findingIn("hidden_synchronization", "loss read every step");
  ASSERT_FALSE(found.is_null());
  EXPECT_THAT(textOf(found), HasSubstr("in 'loss read every step' held the host"));
  EXPECT_TRUE(findingIn("hidden_synchronization", "loss read at the end").is_null());
}

TEST_F(Explanations, DataMadeOnTheHostKeepsTheDeviceIdle) {
  record("lessons/synchronization", {"--steps", "4"});
  int64_t most = 0;
  std::string range;
  for (const json& row : report("idle", {"--by", "range"})) {
    if (row["idle_ns"] <= most) continue;
    most = row["idle_ns"];
    range = row["host_range"].is_null() ? "" : row["host_range"].get<std::string>();
  }
  EXPECT_EQ(range, "made on the host");
}

TEST_F(Explanations, SmallKernelsAreFoundInTheEagerLoopOfTheSmallBatch) {
  record("lessons/small_kernels", {"--steps", "10"});
  const json eager = findingIn("small_kernels", "eager, batch 64");
  ASSERT_FALSE(eager.is_null());
  EXPECT_THAT(textOf(eager), HasSubstr("though their launch was made or being made"));
  EXPECT_GT(eager["gain_ns"], 0);
  EXPECT_TRUE(findingIn("small_kernels", "eager, batch 8192").is_null());
  // Gaps between queued kernels have their cause.
  for (const json& row : report("idle", {"--range", "eager, batch 64"})) {
    if (row["evidence"] == "queued behind work of its own stream") {
      EXPECT_EQ(row["cause"], "device_scheduling");
    }
  }
}

TEST_F(Explanations, PageableCopiesAreNamedWithTheirLoop) {
  record("lessons/copies", {});
  const json found = findingIn("memcpy_async_pageable", "pageable");
  ASSERT_FALSE(found.is_null());
  EXPECT_THAT(found["evidence"].dump(), HasSubstr("memory_copy "));
  // The same loop with pinned memory does not wait in its copies.
  for (const json& row : report("synchronizations", {"--range", "pinned"})) EXPECT_NE(row["waits_for"], "copy");
}

TEST_F(Explanations, CopiesThatNothingCoversAreThoseOfTheLoopWithoutOverlap) {
  record("lessons/copies", {});
  EXPECT_FALSE(findings("unoverlapped_copies", {"--range", "pinned"}).empty());
}

TEST_F(Explanations, ATimerWithoutSynchronizationMeasuresTheLaunch) {
  record("lessons/timing", {"--largest", "512", "--repeats", "5"});
  std::map<std::string, json> ranges;
  for (const json& row : report("ranges")) ranges[row["name"]] = row;
  const json &without = ranges["without synchronize"], &with = ranges["with synchronize"];
  ASSERT_FALSE(without.is_null() || with.is_null());
  EXPECT_LT(without["total_ns"], without["gpu_span_ns"]) << "the range ends before its work does";
  EXPECT_GE(with["total_ns"], with["gpu_span_ns"]);
}

TEST_F(Explanations, MemoryIsShownBesideTheHandCalculation) {
  record("lessons/memory", {"--batch", "32"});
  const json rows = report("hand_calculation");
  ASSERT_FALSE(rows.empty());
  bool hasParameters = false;
  for (const json& row : report("memory")) hasParameters |= row.dump().find("parameter") != std::string::npos;
  EXPECT_TRUE(hasParameters);
}

// --- precision

TEST_F(Explanations, TheWholeModelInHalf) {
  record("amp", {"--wrong", "half-model", "--hidden", "64", "--batch", "64", "--steps", "8"});
  const auto found = findings("half_model");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(textOf(found[0]), HasSubstr("adamwInHalf"));
  EXPECT_THAT(textOf(found[0]), HasSubstr("inf or nan"));
}

TEST_F(Explanations, Fp16WithoutALossScaler) {
  record("amp", {"--wrong", "fp16-no-scaler", "--hidden", "64", "--batch", "64", "--steps", "8"});
  EXPECT_EQ(findings("fp16_without_scaler").size(), 1u);
  EXPECT_TRUE(findings("half_model").empty());
}

TEST_F(Explanations, Bf16WithANeedlessScaler) {
  record("amp", {"--wrong", "bf16-scaler", "--hidden", "64", "--batch", "64", "--steps", "8"});
  const auto found = findings("needless_scaler");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(textOf(found[0]), HasSubstr("scaled in 8 steps"));
  EXPECT_GT(found[0]["gain_ns"], 0);
}

TEST_F(Explanations, AScaleThatIsTooLargeCostsSteps) {
  record("amp", {"--initial-scale", "1099511627776", "--hidden", "64", "--batch", "64", "--steps", "10"});
  const auto found = findings("loss_scale_skips");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(textOf(found[0]), HasSubstr("of 10 steps were skipped"));
}

TEST_F(Explanations, PrecisionWithoutAMistakeHasNone) {
  for (const char* precision : {"fp16", "bf16"}) {
    record("amp",
           {"--precision", precision, "--hidden", "64", "--batch", "64", "--steps", "8", "--initial-scale", "1024"});
    for (const char* rule : {"half_model", "fp16_without_scaler", "needless_scaler"}) {
      EXPECT_TRUE(findings(rule).empty()) << precision << ": " << rule;
    }
  }
}

// --- sharded training

const std::vector<std::string> kSmallModel = {"--ranks", "2",   "--layers", "2",  "--dim",   "64",
                                              "--vocab", "256", "--seq",    "32", "--steps", "4"};

std::vector<std::string> smallModelWith(std::vector<std::string> options) {
  options.insert(options.begin(), kSmallModel.begin(), kSmallModel.end());
  return options;
}

TEST_F(Explanations, HalfPrecisionShardsHaveTheirLossScale) {
  record("fsdp", smallModelWith({"--parameter-dtype", "fp16"}));
  EXPECT_TRUE(findings("fp16_without_scaler").empty());
  EXPECT_TRUE(findings("needless_scaler").empty());
}

TEST_F(Explanations, WithoutPrefetchCommunicationIsExposed) {
  record("fsdp", smallModelWith({"--prefetch", "0"}));
  // Nothing is gathered ahead: the gathers of the forward pass wait for the compute of the block before.
  int64_t gathers = 0;
  for (const json& row : report("collectives")) {
    if (row["operation"] == "AllGather") gathers += row["calls"].get<int64_t>();
  }
  EXPECT_EQ(gathers, 2 * 4 * (3 + 2));
  for (const json& row : report("overlap")) EXPECT_GT(row["exposed_ns"], 0) << row.dump();
}

}  // namespace
}  // namespace plumb::test
