// SPDX-License-Identifier: Apache-2.0
#include "collector/launcher/environment.h"

#include <gmock/gmock.h>

namespace plumb::launcher {
namespace {

using testing::Contains;
using testing::Not;
using testing::StartsWith;

const Installation kInstallation{.agent = "/p/lib/libplumb.so",
                                 .plugins = "/p/lib/plumb/plugins",
                                 .recorder = "/p/bin/plumb-recorder",
                                 .softwareDevice = "/p/lib/softcuda",
                                 .calibrate = ""};

std::vector<std::string> with(const std::vector<std::string>& current, EnvironmentRequest request = {}) {
  request.sessionDirectory = "/tmp/s";
  return recordingEnvironment(current, kInstallation, request);
}

TEST(RecordingEnvironment, AddsTheAgentAndTheSession) {
  EXPECT_THAT(with({"HOME=/h"}),
              testing::UnorderedElementsAre("HOME=/h", "LD_PRELOAD=/p/lib/libplumb.so", "PLUMB_SESSION_DIR=/tmp/s",
                                            "NVTX_INJECTION64_PATH=/p/lib/libplumb.so",
                                            "CUDA_INJECTION64_PATH=/p/lib/libplumb.so",
                                            "NCCL_PROFILER_PLUGIN=/p/lib/libplumb.so"));
}

TEST(RecordingEnvironment, PreloadsBeforeWhatIsPreloadedAlready) {
  EXPECT_THAT(with({"LD_PRELOAD=libjemalloc.so"}), Contains("LD_PRELOAD=/p/lib/libplumb.so:libjemalloc.so"));
  EXPECT_THAT(with({"LD_PRELOAD=a.so:/p/lib/libplumb.so"}), Contains("LD_PRELOAD=a.so:/p/lib/libplumb.so")) << "once";
}

TEST(RecordingEnvironment, PutsASanitizersRuntimeFirst) {
  EnvironmentRequest request;
  request.addressSanitizer = "libasan.so.8";
  EXPECT_THAT(with({}, request), Contains("LD_PRELOAD=libasan.so.8:/p/lib/libplumb.so"));
}

TEST(RecordingEnvironment, KeepsAnInjectionOfTheUsers) {
  EXPECT_THAT(with({"CUDA_INJECTION64_PATH=/other.so"}), Contains("CUDA_INJECTION64_PATH=/other.so"));
}

TEST(RecordingEnvironment, LeavesAnEarlierSession) {
  const auto environment = with({"PLUMB_SESSION_DIR=/old", "PLUMB_ROOT_PID=1", "PLUMB_OUTPUT=/x"});
  EXPECT_THAT(environment, Contains("PLUMB_SESSION_DIR=/tmp/s"));
  EXPECT_THAT(environment, Not(Contains(StartsWith("PLUMB_ROOT_PID="))));
  EXPECT_THAT(environment, Not(Contains(StartsWith("PLUMB_OUTPUT="))));
}

TEST(RecordingEnvironment, OffersTheSoftwareDeviceOnlyWhenAsked) {
  EXPECT_THAT(with({}), Not(Contains(StartsWith("LD_LIBRARY_PATH="))));
  EnvironmentRequest request;
  request.softwareDevice = true;
  EXPECT_THAT(with({"LD_LIBRARY_PATH=/opt"}, request), Contains("LD_LIBRARY_PATH=/p/lib/softcuda:/opt"));
}

}  // namespace
}  // namespace plumb::launcher
