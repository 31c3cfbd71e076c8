// SPDX-License-Identifier: Apache-2.0
// Measured roofs are added to the roofs file, and nothing in it is lost.
#include "collector/launcher/calibrate.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace plumb::launcher {
namespace {

using testing::HasSubstr;

const std::string kUuid = "0123456789abcdef0123456789abcdef";
const std::string kMeasured = "{\"device_name\":\"software device (CPU)\",\"uuid\":\"" + kUuid +
                              "\",\"kind\":\"software\",\"roofs\":{\"fp32\":1e9,\"memory\":2e9}}";

TEST(MergeRoofs, StartsAFile) {
  const Result<std::string> merged = mergeRoofs("", kMeasured);
  ASSERT_TRUE(merged.ok());
  EXPECT_EQ(nlohmann::json::parse(merged.value())[kUuid]["roofs"]["fp32"], 1e9);
}

TEST(MergeRoofs, KeepsOtherDevicesAndReplacesThisOne) {
  const std::string before = "{\"other\":{\"roofs\":{\"fp32\":5}},\"" + kUuid + "\":{\"roofs\":{\"fp32\":7}}}";
  const Result<std::string> merged = mergeRoofs(before, kMeasured);
  ASSERT_TRUE(merged.ok());
  const auto roofs = nlohmann::json::parse(merged.value());
  EXPECT_EQ(roofs["other"]["roofs"]["fp32"], 5);
  EXPECT_EQ(roofs[kUuid]["roofs"]["fp32"], 1e9);
}

TEST(MergeRoofs, RefusesWhatItCannotRead) {
  for (const char* measured : {"", "no", "[]", "{}", R"({"uuid":"short","roofs":{}})", R"({"uuid":3,"roofs":{}})"}) {
    const Result<std::string> merged = mergeRoofs("", measured);
    ASSERT_FALSE(merged.ok()) << measured;
    EXPECT_THAT(merged.error().message, HasSubstr("nothing was stored"));
  }
  for (const char* before : {"not json", "[1]"}) {
    const Result<std::string> merged = mergeRoofs(before, kMeasured);
    ASSERT_FALSE(merged.ok()) << before;
    EXPECT_THAT(merged.error().message, HasSubstr("left alone"));
  }
}

}  // namespace
}  // namespace plumb::launcher
