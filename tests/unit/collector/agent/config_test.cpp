// SPDX-License-Identifier: Apache-2.0
// What the agent reads from the environment.
#include "collector/agent/config.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

namespace plumb::agent {
namespace {

using testing::Contains;
using testing::Key;
using testing::Not;

class Config : public testing::Test {
 protected:
  void set(const char* name, const char* value) {
    setenv(name, value, 1);
    m_names.emplace_back(name);
  }
  void TearDown() override {
    for (const std::string& name : m_names) {
      unsetenv(name.c_str());
    }
    loadSettings();
  }
  std::vector<std::string> m_names;
};

TEST_F(Config, SettingsAreVariablesInCapitals) {
  set("PLUMB_NCCL_KERNEL_CHANNELS", "1");
  set("PLUMB_EXIT_WAIT_MS", "30");
  loadSettings();
  EXPECT_STREQ(setting("nccl.kernel-channels"), "1");
  EXPECT_STREQ(setting("NCCL_KERNEL_CHANNELS"), "1");
  EXPECT_EQ(setting("nccl"), nullptr);
  EXPECT_EQ(integerSetting("exit_wait_ms", 2000), 30);
}

TEST_F(Config, SettingsStayAsTheyWereWhenTheAgentAttached) {
  set("PLUMB_A", "1");
  loadSettings();
  set("PLUMB_A", "2");
  EXPECT_STREQ(setting("a"), "1");
}

TEST_F(Config, NumbersThatAreNoneFallBack) {
  for (const char* value : {"", "x", "12x", "-1", "99999999999999999999"}) {
    set("PLUMB_EXIT_WAIT_MS", value);
    loadSettings();
    if (std::string(value).size() < 10) {
      EXPECT_EQ(integerSetting("exit_wait_ms", 2000), 2000) << value;
    }
  }
}

TEST_F(Config, ImpossibleRingSizesFallBack) {
  set("PLUMB_RING_BYTES", "1000");
  loadSettings();
  EXPECT_EQ(segmentLayout().ringBytes, transport::kDefaultRingBytes);
  set("PLUMB_RING_BYTES", "65536");
  set("PLUMB_RING_COUNT", "8");
  loadSettings();
  EXPECT_EQ(segmentLayout().ringBytes, 65536u);
  EXPECT_EQ(segmentLayout().ringCount, 8u);
}

TEST_F(Config, PluginsCanBeNamedOrLeftOut) {
  loadSettings();
  EXPECT_TRUE(pluginWanted("nvtx")) << "all, unless told otherwise";
  set("PLUMB_PLUGINS", "cupti,nvtx");
  loadSettings();
  EXPECT_TRUE(pluginWanted("nvtx"));
  EXPECT_FALSE(pluginWanted("memory"));
  set("PLUMB_PLUGINS", "-memory,-cublas");
  loadSettings();
  EXPECT_TRUE(pluginWanted("nvtx"));
  EXPECT_FALSE(pluginWanted("memory"));
}

TEST_F(Config, RanksComeFromTorchrunMpiOrSlurm) {
  EXPECT_EQ(rankFacts().rank, -1);
  set("SLURM_PROCID", "9");
  EXPECT_EQ(rankFacts().rank, 9);
  set("OMPI_COMM_WORLD_RANK", "5");
  EXPECT_EQ(rankFacts().rank, 5);
  set("RANK", "2");
  set("LOCAL_RANK", "");
  set("WORLD_SIZE", "four");
  EXPECT_EQ(rankFacts().rank, 2);
  EXPECT_EQ(rankFacts().localRank, -1);
  EXPECT_EQ(rankFacts().worldSize, -1);
}

TEST_F(Config, OnlyNamedVariablesAreRecorded) {
  set("NCCL_ALGO", "Ring");
  set("CUDA_VISIBLE_DEVICES", "0,1");
  set("HF_TOKEN", "secret");
  set("RANKLE", "no");
  std::map<std::string, std::string> variables;
  forEachRecordedVariable(
      [](void* context, std::string_view name, std::string_view value) {
        (*static_cast<std::map<std::string, std::string>*>(context))[std::string(name)] = value;
      },
      &variables);
  EXPECT_EQ(variables["NCCL_ALGO"], "Ring");
  EXPECT_EQ(variables["CUDA_VISIBLE_DEVICES"], "0,1");
  EXPECT_THAT(variables, Not(Contains(Key("HF_TOKEN"))));
  EXPECT_THAT(variables, Not(Contains(Key("RANKLE"))));
}

}  // namespace
}  // namespace plumb::agent
