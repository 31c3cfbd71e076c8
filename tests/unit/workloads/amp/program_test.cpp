// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "tests/support/process.h"

namespace plumb::test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

const std::string kAmp = PLUMB_BUILD_DIR "/bin/workloads/amp";

Outcome amp(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), kAmp);
  return run({arguments, {}, {}, std::chrono::seconds(60)});
}

TEST(AmpProgram, PrintsWhatAComparisonOfPrecisionsNeeds) {
  const Outcome outcome = amp({"--device", "software", "--precision", "fp16", "--hidden", "64", "--batch", "64",
                               "--steps", "12", "--initial-scale", "1099511627776"});
  EXPECT_EQ(outcome.exitCode, 0) << outcome.errors;
  EXPECT_THAT(outcome.output, ContainsRegex("ms/step +[0-9.]+ \\(median after 5 steps of warm-up\\)"));
  EXPECT_THAT(outcome.output, ContainsRegex("last loss +[0-9.]+"));
  EXPECT_THAT(outcome.output, ContainsRegex("evaluation loss \\(fp32\\) +[0-9.]+"));
  EXPECT_THAT(outcome.output, ContainsRegex("peak memory +[0-9]+ bytes \\(up to the end of training\\)"));
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

// The default size, where the lesson is to be seen.
TEST(AmpProgram, WithoutAScalerMostGradientsAreLostAndWithOneAlmostNone) {
  const Outcome wrong = amp({"--device", "software", "--wrong", "fp16-no-scaler"});
  EXPECT_EQ(wrong.exitCode, 0) << wrong.output;
  std::smatch found;
  ASSERT_TRUE(std::regex_search(wrong.output, found,
                                std::regex("gradients that are 0 +([0-9.]+) % unscaled, ([0-9.]+) % at scale 65536")));
  EXPECT_GT(std::stod(found[1]), 50.0);
  EXPECT_LT(std::stod(found[2]), 10.0);
  EXPECT_THAT(wrong.output, HasSubstr("ok      without scaling a large share of the gradients is lost"));
}

TEST(AmpProgram, ChecksItsNumbers) {
  const std::pair<const char*, std::vector<const char*>> runs[] = {
      {"fp32", {"matrix products and activations are fp32", "the loss falls"}},
      {"tf32", {"the loss falls"}},
      {"fp16",
       {"matrix products and activations are fp16", "weights, gradients and moments are fp32", "the loss is fp32",
        "the loss falls", "the scale is halved by skipped steps", "at scale ",
        "at scale 1099511627776 gradients overflow"}},
      {"bf16", {"matrix products and activations are bf16", "bf16 has fp32's range"}}};
  for (const auto& [precision, claims] : runs) {
    const Outcome outcome = amp({"--device", "software", "--precision", precision, "--hidden", "64", "--steps", "20"});
    EXPECT_EQ(outcome.exitCode, 0) << outcome.output << outcome.errors;
    for (const char* claim : claims) EXPECT_THAT(outcome.output, HasSubstr(std::string("ok      ") + claim));
    EXPECT_THAT(outcome.output, Not(HasSubstr("FAILED")));
  }
}

TEST(AmpProgram, MistakesOnPurposeShowTheirSymptomAndAreExplained) {
  const std::pair<const char*, const char*> mistakes[] = {
      {"half-model", "a model that is half as a whole breaks, or loses updates"},
      {"bf16-scaler", "the scaler gains nothing"},
      {"fp16-no-scaler", "a scaler would have saved gradients"}};
  for (const auto& [mistake, symptom] : mistakes) {
    const Outcome outcome = amp({"--device", "software", "--wrong", mistake, "--hidden", "64", "--steps", "5"});
    EXPECT_EQ(outcome.exitCode, 0) << outcome.output << outcome.errors;
    EXPECT_THAT(outcome.output, HasSubstr(std::string("Wrong on purpose: ") + mistake));
    EXPECT_THAT(outcome.output, HasSubstr(std::string("ok      ") + symptom));
  }
  EXPECT_EQ(amp({"--wrong", "half-model", "--precision", "bf16"}).exitCode, 2);
}

TEST(AmpProgram, TheFirstScaleOverflowsIsHalvedAndKeepsTheGradients) {
  const Outcome outcome = amp({"--device", "software"});
  EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
  EXPECT_THAT(outcome.output, ContainsRegex("step 0 .* scale 65536  skipped: a gradient is inf or nan"));
  EXPECT_THAT(outcome.output, ContainsRegex("skipped steps +[1-4]\n"));
  EXPECT_THAT(outcome.output, ContainsRegex("ok      at scale [0-9]+ almost none is"));
}

// A learning rate that breaks the training is no success.
TEST(AmpProgram, AFailedCheckIsExitCodeOne) {
  const Outcome outcome =
      amp({"--device", "software", "--precision", "fp32", "--hidden", "64", "--steps", "20", "--lr", "100"});
  EXPECT_EQ(outcome.exitCode, 1) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("\nFAILED  the loss falls"));
}

TEST(AmpProgram, WrongArgumentsAreOneSentenceAndExitCodeTwo) {
  std::vector<std::vector<std::string>> calls = {
      {"--precision", "fp8"}, {"--steps", "0"}, {"--steps", "many"}, {"--no-such-option"}, {"--initial-scale", "-1"}};
  // What is no number above 0 for a float.
  for (const char* option : {"--lr", "--epsilon", "--loss-weight", "--initial-scale"})
    for (const char* value : {"nan", "-nan", "inf", "-inf", "-1", "0", "1e999", "1e-60", "1e39", "", "1x"})
      calls.push_back({std::string(option) + "=" + value});
  for (const auto& call : calls) {
    const Outcome outcome = amp(call);
    EXPECT_EQ(outcome.exitCode, 2) << call[0];
    EXPECT_EQ(outcome.output, "") << call[0];
    EXPECT_THAT(outcome.errors, HasSubstr(call[0].substr(0, call[0].find('='))));
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
