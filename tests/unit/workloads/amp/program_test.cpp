// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/process.h"

namespace plumb::test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

const std::string kAmp = PLUMB_BUILD_DIR "/bin/workloads/amp";

Outcome amp(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), kAmp);
  return run({arguments, {}, {}, std::chrono::seconds(60)});
}

TEST(AmpProgram, PrintsWhatAComparisonOfPrecisionsNeeds) {
  const Outcome outcome = amp({"--device", "software", "--precision", "fp16", "--hidden", "64", "--batch", "64",
                               "--steps", "12", "--initial-scale", "1048576"});
  EXPECT_EQ(outcome.exitCode, 0) << outcome.errors;
  EXPECT_THAT(outcome.output, ContainsRegex("ms/step +[0-9.]+ \\(median after 5 steps of warm-up\\)"));
  EXPECT_THAT(outcome.output, ContainsRegex("last loss +[0-9.]+"));
  EXPECT_THAT(outcome.output, ContainsRegex("evaluation loss \\(fp32\\) +[0-9.]+"));
  EXPECT_THAT(outcome.output, ContainsRegex("peak memory +[0-9]+ bytes"));
  EXPECT_THAT(outcome.output, ContainsRegex("final scale +[0-9]+"));
  EXPECT_THAT(outcome.output, ContainsRegex("skipped steps +[1-9]"));
  EXPECT_THAT(outcome.output, HasSubstr("skipped: a gradient is inf or nan"));
}

TEST(AmpProgram, PrintsTheShareOfZeroGradientsWithAndWithoutScaling) {
  const Outcome outcome = amp({"--device", "software", "--precision", "fp16", "--hidden", "64", "--steps", "3"});
  EXPECT_EQ(outcome.exitCode, 0) << outcome.errors;
  EXPECT_THAT(outcome.output, ContainsRegex("gradients that are 0 +[0-9.]+ % unscaled, [0-9.]+ % at scale [0-9]+, "
                                            "[0-9.]+ % in fp32"));
}

TEST(AmpProgram, MistakesOnPurposeAreExplained) {
  for (const char* mistake : {"half-model", "bf16-scaler", "fp16-no-scaler"}) {
    const Outcome outcome = amp({"--device", "software", "--wrong", mistake, "--hidden", "64", "--steps", "5"});
    EXPECT_EQ(outcome.exitCode, 0) << outcome.errors;
    EXPECT_THAT(outcome.output, HasSubstr(std::string("Wrong on purpose: ") + mistake));
  }
  EXPECT_EQ(amp({"--wrong", "half-model", "--precision", "bf16"}).exitCode, 2);
}

TEST(AmpProgram, WrongArgumentsAreOneSentenceAndExitCodeTwo) {
  const std::vector<std::vector<std::string>> calls = {
      {"--precision", "fp8"}, {"--steps", "0"}, {"--steps", "many"}, {"--no-such-option"}, {"--initial-scale", "-1"}};
  for (const auto& call : calls) {
    const Outcome outcome = amp(call);
    EXPECT_EQ(outcome.exitCode, 2) << call[0];
    EXPECT_EQ(outcome.output, "") << call[0];
    EXPECT_THAT(outcome.errors, HasSubstr(call[0]));
    EXPECT_EQ(std::count(outcome.errors.begin(), outcome.errors.end(), '\n'), 1) << outcome.errors;
  }
}

TEST(AmpProgram, HelpExplainsAndSucceeds) {
  const Outcome outcome = amp({"--help"});
  EXPECT_EQ(outcome.exitCode, 0);
  for (const char* option : {"--precision", "--hidden", "--batch", "--steps", "--initial-scale", "--device"})
    EXPECT_THAT(outcome.output, HasSubstr(option));
}

}  // namespace
}  // namespace plumb::test
