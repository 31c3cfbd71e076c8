// SPDX-License-Identifier: Apache-2.0
// The critical path of real recordings (PLUMB_TEST_TRACES, as in recordings_test.cpp): what is known of them from their
// events.
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "analyzer/analyses/critical_path.h"
#include "tests/unit/analyzer/import/support.h"

namespace plumb::test {
namespace {

class CriticalPathOfRecordings : public ImportTest {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("PLUMB_TEST_TRACES");
    if (folder == nullptr || *folder == 0) GTEST_SKIP() << "PLUMB_TEST_TRACES names no folder of recordings";
    m_recordings = std::string(folder) + "/kineto/";
  }
  std::optional<CriticalPath> pathOf(std::vector<std::string> names, PathDetail detail = PathDetail::Shares) {
    for (std::string& name : names) name = m_recordings + name + ".json.gz";
    std::filesystem::remove(output());
    const auto result = import(names);
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
    auto trace = Trace::open(output());
    EXPECT_TRUE(trace.ok());
    auto path = findCriticalPath(trace.value(), {}, detail);
    EXPECT_TRUE(path.ok()) << (path.ok() ? "" : path.error().message);
    return std::move(path).value();
  }
  static double shareOf(const CriticalPath& path, PathCategory category) {
    return path.byCategory[static_cast<size_t>(category)].seconds() / path.whole.seconds();
  }
  std::string m_recordings;
};

TEST_F(CriticalPathOfRecordings, PartsAddUpInEveryOne) {
  for (const auto& file : std::filesystem::directory_iterator(m_recordings)) {
    const std::string name = file.path().filename().string(), ending = ".json.gz";
    if (!name.ends_with(ending)) continue;
    const auto path = pathOf({name.substr(0, name.size() - ending.size())});
    if (!path) continue;  // no CUDA
    EXPECT_EQ(std::accumulate(path->byCategory.begin(), path->byCategory.end(), Duration()), path->whole) << name;
  }
}

// The device works for 158 of 661 ms, a kernel begins 12 us after its launch, and no call waits for it but the last.
TEST_F(CriticalPathOfRecordings, ARunThatItsHostHoldsUpIsTheHosts) {
  const auto path = pathOf({"nccl_metadata_a100"});
  EXPECT_GT(shareOf(*path, PathCategory::Host), 0.999);
}

// Rank 2's recording begins 6.9 ms after the others', which wait for it in the first collective.
TEST_F(CriticalPathOfRecordings, LeadsThroughTheRankThatIsLateInCollectivesWithoutRecords) {
  std::vector<std::string> names;
  for (int rank = 0; rank < 4; ++rank) names.push_back("dlrm_8ranks_v100_rank" + std::to_string(rank));
  const auto path = pathOf(names);
  EXPECT_GT(path->kernelsByName, 0);
  EXPECT_LT(shareOf(*path, PathCategory::Communication), 0.05) << "waiting is no communication";
  EXPECT_NEAR(path->byCategory[static_cast<size_t>(PathCategory::Unknown)].seconds(), 6.9e-3, 0.1e-3);
  EXPECT_GT(path->withoutPeers, Duration()) << "four of the eight ranks are not in the files";
  EXPECT_EQ(path->clocks.size(), 1u) << "nothing says that their clocks agree";
}

// A kernel begins 463 ms after its launch, while nothing else runs: what it waited for is not recorded.
TEST_F(CriticalPathOfRecordings, WhatHeldADeviceUpBeforeTheRecordingIsUnknown) {
  const auto path = pathOf({"sglang_decode_graphs"});
  EXPECT_GT(shareOf(*path, PathCategory::Unknown), 0.97);
  EXPECT_LT(shareOf(*path, PathCategory::Launch), 0.01);
}

}  // namespace
}  // namespace plumb::test
