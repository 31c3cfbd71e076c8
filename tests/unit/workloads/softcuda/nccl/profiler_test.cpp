// SPDX-License-Identifier: Apache-2.0
// What a profiler plugin sees, line by line, and which plugin is loaded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "plugins/nccl/nccl_profiler_abi.h"
#include "tests/unit/workloads/softcuda/nccl/ranks.h"

namespace softcuda_test {
namespace {

namespace abi = plumb::nccl_profiler;
using Lines = std::vector<std::string>;

constexpr int kUsual =
    abi::kGroupApi | abi::kCollApi | abi::kP2pApi | abi::kKernelLaunch | abi::kGroup | abi::kColl | abi::kP2p;

class Profiler : public testing::Test {
 protected:
  void SetUp() override {
    m_folder = std::filesystem::temp_directory_path() / ("softnccl-" + std::to_string(getpid()));
    std::filesystem::create_directories(m_folder);
  }
  void TearDown() override {
    std::filesystem::remove_all(m_folder);
    unsetenv("NCCL_PROFILER_PLUGIN");
    unsetenv("SOFTNCCL_TEST_FAIL");
  }
  static std::string pluginPath(int version) {
    return PLUMB_BUILD_DIR "/tests/libnccl-profiler-recording" + std::to_string(version) + ".so";
  }
  // Runs the body on two ranks with the plugin; what rank 0 was told.
  Lines record(const std::string& plugin, int mask, const Body& body, int ranks = 2) {
    setenv("NCCL_PROFILER_PLUGIN", plugin.c_str(), 1);
    setenv("SOFTNCCL_TEST_LOG", (m_folder / "log").c_str(), 1);
    setenv("SOFTNCCL_TEST_MASK", std::to_string(mask).c_str(), 1);
    const std::vector<int> children = startRanks(ranks, body);
    for (const int child : children) {
      EXPECT_EQ(awaitChild(child), 0);
    }
    Lines lines;
    std::ifstream file((m_folder / "log").string() + "-" + std::to_string(children.front()));
    for (std::string line; std::getline(file, line);) {
      lines.push_back(line);
    }
    return lines;
  }
  std::filesystem::path m_folder;
};

void allGather(Rank& r) {
  void* memory = nullptr;
  cudaMalloc(&memory, 4096);
  auto* const data = static_cast<float*>(memory);
  NCCL_OK(ncclAllGather(data, data + 16, 4, ncclFloat32, r.comm, r.stream));
  r.wait();
}

TEST_F(Profiler, ACollectiveIsToldFromCallToEnqueue) {
  EXPECT_EQ(
      record(pluginPath(5), kUsual, allGather),
      (Lines{"init - nodes 1 ranks 2 rank 0 id", "start 1 GroupApi parent 0 depth 1", "state 1 23 without arguments",
             "start 2 CollApi parent 1 AllGather count 4 ncclFloat32 root 0 stream", "stop 2",
             "state 1 24 without arguments", "start 3 KernelLaunch parent 1 stream", "stop 3", "start 4 Group parent 0",
             "start 5 Coll parent 2 AllGather seq 0 count 16 ncclInt8 root 0 RING LL group 4", "stop 5", "stop 4",
             "stop 1", "finalize", "unloaded"}));
}

TEST_F(Profiler, AGroupIsOneKernelWithOneGroupApi) {
  const Lines lines = record(pluginPath(5), kUsual, [](Rank& r) {
    void* memory = nullptr;
    cudaMalloc(&memory, 4096);
    auto* const data = static_cast<float*>(memory);
    NCCL_OK(ncclGroupStart());
    NCCL_OK(ncclReduceScatter(data, data + 64, 4, ncclFloat32, ncclSum, r.comm, r.stream));
    NCCL_OK(ncclSend(data, 8, ncclFloat16, 1 - r.rank, r.comm, r.stream));
    NCCL_OK(ncclRecv(data + 128, 8, ncclFloat16, 1 - r.rank, r.comm, r.stream));
    NCCL_OK(ncclGroupEnd());
    r.wait();
  });
  EXPECT_EQ(lines, (Lines{"init - nodes 1 ranks 2 rank 0 id",
                          "start 1 GroupApi parent 0 depth 2",
                          "state 1 23 without arguments",
                          "start 2 CollApi parent 1 ReduceScatter count 4 ncclFloat32 root 0 stream",
                          "stop 2",
                          "start 3 P2pApi parent 1 Send count 8 ncclFloat16",
                          "stop 3",
                          "start 4 P2pApi parent 1 Recv count 8 ncclFloat16",
                          "stop 4",
                          "state 1 24 without arguments",
                          "start 5 KernelLaunch parent 1 stream",
                          "stop 5",
                          "start 6 Group parent 0",
                          "start 7 Coll parent 2 ReduceScatter seq 0 count 4 ncclFloat32 root 0 RING LL group 6",
                          "start 8 P2p parent 3 Send count 8 ncclFloat16 peer 1 group 6",
                          "start 9 P2p parent 4 Recv count 8 ncclFloat16 peer 1 group 6",
                          "stop 7",
                          "stop 8",
                          "stop 9",
                          "stop 6",
                          "stop 1",
                          "finalize",
                          "unloaded"}));
}

TEST_F(Profiler, SequencesCountPerFunction) {
  const Lines lines = record(pluginPath(5), abi::kColl, [](Rank& r) {
    allGather(r);
    allGather(r);
    void* memory = nullptr;
    cudaMalloc(&memory, 4096);
    NCCL_OK(ncclAllReduce(memory, memory, 4, ncclFloat32, ncclSum, r.comm, r.stream));
    NCCL_OK(ncclBroadcast(memory, memory, 4, ncclFloat32, 1, r.comm, r.stream));
    allGather(r);
  });
  std::vector<std::string> colls;
  for (const std::string& line : lines) {
    if (const size_t at = line.find(" Coll "); at != std::string::npos) {
      const size_t name = line.find(' ', line.find("parent ") + 7) + 1;
      colls.push_back(line.substr(name, line.find(" RING") - name));
    }
  }
  EXPECT_EQ(colls, (Lines{"AllGather seq 0 count 16 ncclInt8 root 0", "AllGather seq 1 count 16 ncclInt8 root 0",
                          "AllReduce seq 0 count 4 ncclFloat32 root 0", "Broadcast seq 0 count 16 ncclInt8 root 1",
                          "AllGather seq 2 count 16 ncclInt8 root 0"}));
}

TEST_F(Profiler, KernelChannelsComeFromAThreadOfTheirOwn) {
  const Lines lines = record(pluginPath(5), abi::kColl | abi::kKernelCh, allGather);
  const auto find = [&](const std::string& text) {
    return std::find_if(lines.begin(), lines.end(),
                        [&](const std::string& line) { return line.find(text) != std::string::npos; });
  };
  const auto coll = find(" Coll ");
  const auto channel = find(" KernelCh ");
  ASSERT_NE(coll, lines.end());
  ASSERT_NE(channel, lines.end());
  const std::string coll_handle = coll->substr(6, coll->find(' ', 6) - 6);
  const std::string channel_handle = channel->substr(6, channel->find(' ', 6) - 6);
  EXPECT_EQ(*channel, "start " + channel_handle + " KernelCh parent " + coll_handle + " channel 0 (other thread)");
  EXPECT_NE(find("state " + channel_handle + " 22 (other thread)"), lines.end());
  EXPECT_NE(find("stop " + channel_handle + " (other thread)"), lines.end());
  EXPECT_LT(find("stop " + channel_handle), find("finalize"));
}

TEST_F(Profiler, AnEmptyMaskMeansSilence) {
  EXPECT_EQ(record(pluginPath(5), 0, allGather), (Lines{"init - nodes 1 ranks 2 rank 0 id", "finalize", "unloaded"}));
}

TEST_F(Profiler, OlderPluginsGetTheirOwnLayout) {
  EXPECT_EQ(record(pluginPath(4), kUsual, allGather),
            (Lines{"init - nodes 1 ranks 2 rank 0 id", "start 1 Group parent 0",
                   "start 2 Coll parent 1 AllGather seq 0 count 16 ncclInt8 root 0 RING LL", "stop 2", "stop 1",
                   "finalize", "unloaded"}));
  EXPECT_EQ(record(pluginPath(3), kUsual, allGather),
            (Lines{"init -", "start 1 Group parent 0",
                   "start 2 Coll parent 1 AllGather seq 0 count 16 ncclInt8 root 0 RING LL", "stop 2", "stop 1",
                   "finalize", "unloaded"}));
  EXPECT_EQ(record(pluginPath(1), kUsual, allGather),
            (Lines{"init -", "start 1 Group parent 0", "start 2 Coll parent 1 func 2 seq 0 count 16 type 0 algo 1",
                   "stop 2", "stop 1", "finalize", "unloaded"}));
}

TEST_F(Profiler, ThePluginIsClosedWithTheLastCommunicator) {
  const Lines lines = record(pluginPath(5), 0, [](Rank& r) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.commName = "second";
    ncclComm_t second = nullptr;
    NCCL_OK(ncclCommSplit(r.comm, 0, r.rank, &second, &config));
    NCCL_OK(ncclCommDestroy(second));
  });
  EXPECT_EQ(lines, (Lines{"init - nodes 1 ranks 2 rank 0 id", "init second nodes 1 ranks 2 rank 0 id", "finalize",
                          "finalize", "unloaded"}));
}

TEST_F(Profiler, ACommunicatorOfOneRankMakesNoEvents) {
  EXPECT_EQ(record(pluginPath(5), kUsual, allGather, 1),
            (Lines{"init - nodes 1 ranks 1 rank 0 id", "finalize", "unloaded"}));
}

TEST_F(Profiler, AFailedInitLeavesNcclWorking) {
  setenv("SOFTNCCL_TEST_FAIL", "1", 1);
  EXPECT_EQ(record(pluginPath(4), kUsual, allGather), (Lines{"init - nodes 1 ranks 2 rank 0 id", "unloaded"}));
}

// The search path and preloaded libraries are settled when a program starts: a small program of its own is started.
class ProfilerLoading : public Profiler {
 protected:
  Lines recordAnew(const std::string& plugin, const std::string& environment) {
    const std::string command = "env NCCL_PROFILER_PLUGIN=" + plugin +
                                " SOFTNCCL_TEST_LOG=" + (m_folder / "log").string() + " SOFTNCCL_TEST_MASK=2 " +
                                environment + " " PLUMB_BUILD_DIR "/tests/softcuda_one_communicator";
    EXPECT_EQ(std::system(command.c_str()), 0);
    Lines lines;
    for (const auto& entry : std::filesystem::directory_iterator(m_folder)) {
      std::ifstream file(entry.path());
      for (std::string line; std::getline(file, line);) {
        lines.push_back(line);
      }
    }
    return lines;
  }
};

TEST_F(ProfilerLoading, ASuffixNamesALibraryOnTheSearchPath) {
  EXPECT_EQ(recordAnew("recording5", "LD_LIBRARY_PATH=" PLUMB_BUILD_DIR "/tests"),
            (Lines{"init - nodes 1 ranks 1 rank 0 id", "finalize", "unloaded"}));
}

TEST_F(ProfilerLoading, StaticPluginIsWhateverTheProgramHas) {
  EXPECT_THAT(recordAnew("STATIC_PLUGIN", "LD_PRELOAD=" + pluginPath(5)),
              testing::Contains("init - nodes 1 ranks 1 rank 0 id"));
}

TEST_F(ProfilerLoading, NoPluginIsNoProblem) {
  for (const char* const plugin :
       {"none", "NONE", "no-such-suffix", "/no/such/plugin.so", "libnothing.so", "STATIC_PLUGIN"}) {
    EXPECT_EQ(record(plugin, kUsual, allGather), Lines{}) << plugin;
  }
}

}  // namespace
}  // namespace softcuda_test
