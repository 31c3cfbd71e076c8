// SPDX-License-Identifier: Apache-2.0
// NVIDIA's own libcupti, which needs no driver to tell its record lengths and to say that there is no driver.
#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugins/cupti/cupti_abi.h"
#include "plugins/cupti/lane.h"
#include "plugins/cupti/record_layout.h"
#include "tests/fakes/fake_host.h"

namespace plumb::cupti {
namespace {

void* openReal() { return dlopen(PLUMB_CUDA_LIB "/libcupti.so.13", RTLD_NOW | RTLD_LOCAL); }
bool hasDriver() { return dlopen("libcuda.so.1", RTLD_LAZY) != nullptr; }

TEST(RealCupti, RecordLengthsCoverOurPrefixes) {
  void* library = openReal();
  if (!library) {
    GTEST_SKIP() << "no libcupti.so.13 in " PLUMB_CUDA_LIB;
  }
  CuptiTable table;
  ASSERT_EQ(bindTable(library, table), nullptr);
  EXPECT_EQ(probeRecordBytes(table, abi::kRuntime), 40u);
  for (const uint32_t kind :
       {abi::kConcurrentKernel, abi::kMemcpy, abi::kMemset, abi::kMemcpyPeer, abi::kDevice, abi::kContext, abi::kStream,
        abi::kSynchronization, abi::kMemory, abi::kExternalCorrelation}) {
    EXPECT_GE(probeRecordBytes(table, kind), prefixBytes(kind)) << "kind " << kind;
  }
  EXPECT_EQ(probeRecordBytes(table, 6), 0u) << "a kind that CUDA 13 dropped";
}

TEST(RealCupti, WithoutADriverTheLaneIsOffAndSaysWhy) {
  void* library = openReal();
  if (!library || hasDriver()) {
    GTEST_SKIP() << "needs libcupti.so.13 and no driver";
  }
  test::FakeHost host;
  static Lane lane;
  useLaneInTests(&lane);
  lane.start(host.raw());
  CuptiTable table;
  ASSERT_EQ(bindTable(library, table), nullptr);
  EXPECT_FALSE(lane.attach(table, "libcupti.so.13"));
  EXPECT_THAT(host.diagnostic("lane_off").message, testing::HasSubstr("no NVIDIA driver"));
  useLaneInTests(nullptr);
}

std::string run(const std::string& command) {
  std::string output;
  std::array<char, 256> part;
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  while (fgets(part.data(), part.size(), pipe.get())) {
    output += part.data();
  }
  return output;
}

class BuiltPlugin : public testing::TestWithParam<const char*> {};

TEST_P(BuiltPlugin, ImportsNothingOfCudaAndExportsOneSymbol) {
  const std::string plugin = std::string(PLUMB_BUILD_DIR "/lib/plumb/plugins/") + GetParam() + ".so";
  EXPECT_EQ(run("nm -D --undefined-only --format=just-symbols " + plugin +
                " | grep -E '^(cu[A-Z]|cuda|cupti|cublas|nccl|nvtx)'"),
            "");
  EXPECT_EQ(run("nm -D --defined-only --format=just-symbols " + plugin), "plumbPlugin\n");
}
INSTANTIATE_TEST_SUITE_P(Plugins, BuiltPlugin, testing::Values("cupti", "nvtx", "nccl", "memory", "cublas"));

}  // namespace
}  // namespace plumb::cupti
