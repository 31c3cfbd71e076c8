// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/process.h"

namespace plumb::test {
namespace {

using testing::HasSubstr;

Outcome calibrate(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), PLUMB_BUILD_DIR "/bin/workloads/calibrate");
  return run({arguments, {}, {}, std::chrono::seconds(60)});
}

TEST(Calibrate, PrintsOneJsonObjectWithTheDeviceAndItsRoofs) {
  const Outcome outcome = calibrate({"--device", "software", "--seconds", "0.001"});
  ASSERT_EQ(outcome.exitCode, 0) << outcome.errors;
  const auto json = nlohmann::json::parse(outcome.output);
  EXPECT_THAT(json["device_name"].get<std::string>(), HasSubstr("software device"));
  EXPECT_EQ(json["kind"], "software");
  EXPECT_EQ(json["uuid"].get<std::string>().size(), 32u);
  EXPECT_EQ(json["uuid"].get<std::string>().find_first_not_of("0123456789abcdef"), std::string::npos);
  for (const char* roof : {"fp32", "tf32", "fp16", "bf16", "memory"}) {
    ASSERT_TRUE(json["roofs"].contains(roof)) << roof;
    EXPECT_GT(json["roofs"][roof].get<double>(), 1e7) << roof;
  }
}

TEST(Calibrate, WrongArgumentsAreOneSentenceAndExitCodeTwo) {
  const Outcome outcome = calibrate({"--device", "abacus"});
  EXPECT_EQ(outcome.exitCode, 2);
  EXPECT_EQ(outcome.output, "");
  EXPECT_THAT(outcome.errors, HasSubstr("--device"));
  for (const char* value : {"nan", "inf", "-1", "0", "1e999", "61"}) {
    const Outcome refused = calibrate({std::string("--seconds=") + value});
    EXPECT_EQ(refused.exitCode, 2) << value;
    EXPECT_EQ(refused.output, "") << value;
    EXPECT_THAT(refused.errors, HasSubstr(std::string("--seconds: ") + value + " is not a number from")) << value;
  }
}

TEST(DeviceChoice, AskingForAGpuWhereThereIsNoneIsExplained) {
  if (std::filesystem::exists("/dev/nvidiactl")) GTEST_SKIP() << "this machine has an NVIDIA driver";
  const Outcome outcome = calibrate({"--device", "gpu"});
  EXPECT_EQ(outcome.exitCode, 2);
  EXPECT_THAT(outcome.errors, HasSubstr("--device gpu is not possible: no usable NVIDIA driver"));
}

TEST(DeviceChoice, WithoutADriverTheSoftwareDeviceIsTakenAndSaysSo) {
  if (std::filesystem::exists("/dev/nvidiactl")) GTEST_SKIP() << "this machine has an NVIDIA driver";
  const Outcome outcome = calibrate({"--seconds", "0.001"});
  EXPECT_EQ(outcome.exitCode, 0);
  EXPECT_THAT(outcome.errors, HasSubstr("using the software device (CPU); times are CPU time"));
}

}  // namespace
}  // namespace plumb::test
