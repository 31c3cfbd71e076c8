// SPDX-License-Identifier: Apache-2.0
// The direction of dependencies: schema <- api <- plugins; api, transport <- agent; schema, transport <- recorder;
// schema <- analyzer <- gui. Plugins never include the agent or each other, workloads nothing of ours, nobody the
// tests.
#include <gtest/gtest.h>

#include <regex>

#include "tests/architecture/source_tree.h"

namespace plumb::test {
namespace {

struct Rule {
  std::string folder;                // files below it …
  std::vector<std::string> allowed;  // … include, of our own folders, only these and itself
};

const std::vector<Rule> kRules = {
    {"collector/schema", {}},
    {"collector/api", {"collector/schema"}},
    {"collector/transport", {"collector/schema", "collector/api"}},
    {"collector/agent", {"collector/api", "collector/transport"}},
    {"collector/recorder", {"collector/schema", "collector/api", "collector/transport"}},
    {"collector/launcher", {"collector/schema", "collector/api", "collector/transport"}},
    {"plugins/cupti", {"collector/api"}},
    {"plugins/nvtx", {"collector/api"}},
    {"plugins/nccl", {"collector/api"}},
    {"plugins/memory", {"collector/api"}},
    {"plugins/cublas", {"collector/api"}},
    {"analyzer", {"collector/schema"}},
    {"gui", {"analyzer", "collector/schema/result.h"}},
    // The software device drives NCCL's profiler interface, whose layout the nccl plugin describes.
    {"workloads/softcuda", {"plugins/nccl/nccl_profiler_abi.h"}},
    {"workloads/nn", {"workloads/softcuda/kernels"}},
    {"workloads/fsdp", {"workloads/nn", "workloads/softcuda/kernels"}},
    {"workloads/amp", {"workloads/nn", "workloads/softcuda/kernels"}},
    {"workloads/calibrate", {"workloads/nn", "workloads/softcuda/kernels"}},
    // Of fsdp only how ranks start and meet.
    {"workloads/lessons",
     {"workloads/nn", "workloads/softcuda/kernels", "workloads/fsdp/launcher.h", "workloads/fsdp/communicator.h"}},
};

bool startsWith(const std::string& text, const std::string& prefix) {
  return text.compare(0, prefix.size(), prefix) == 0;
}

bool isOurs(const std::string& include) {
  static const std::regex kOurs("^(collector|plugins|analyzer|gui|workloads|tests)/.*");
  return std::regex_match(include, kOurs);
}

TEST(Includes, FollowTheDirectionOfDependencies) {
  const auto tree = readSourceTree();
  ASSERT_GT(tree.size(), 20u);
  for (const Rule& rule : kRules) {
    for (const SourceFile& file : tree) {
      if (!startsWith(file.path, rule.folder + "/")) continue;
      for (const std::string& include : file.includes) {
        if (!isOurs(include) || startsWith(include, rule.folder + "/")) continue;
        bool allowed = false;
        for (const std::string& prefix : rule.allowed) allowed |= startsWith(include, prefix);
        EXPECT_TRUE(allowed) << file.path << " must not include " << include;
      }
    }
  }
}

TEST(Includes, EveryProductFolderHasARule) {
  for (const SourceFile& file : readSourceTree()) {
    if (startsWith(file.path, "tests/")) continue;
    bool covered = false;
    for (const Rule& rule : kRules) covered |= startsWith(file.path, rule.folder + "/");
    EXPECT_TRUE(covered) << file.path << " lies in a folder without a dependency rule";
  }
}

TEST(Includes, OnlyTheWriterAndTheAnalyzersStorageKnowSqlite) {
  for (const SourceFile& file : readSourceTree()) {
    if (startsWith(file.path, "tests/")) continue;
    for (const std::string& include : file.includes) {
      if (include != "sqlite3.h") continue;
      EXPECT_TRUE(startsWith(file.path, "collector/schema/") || startsWith(file.path, "analyzer/"))
          << file.path << " includes sqlite3.h";
    }
  }
}

TEST(Includes, TheGuiHasNoSql) {
  static const std::regex kSql(R"re("[^"\n]*\b(SELECT\s.+\sFROM|INSERT\s+INTO|CREATE\s+(TABLE|VIEW|INDEX))\b)re");
  for (const SourceFile& file : readSourceTree()) {
    if (startsWith(file.path, "gui/")) {
      EXPECT_FALSE(std::regex_search(file.text, kSql)) << file.path << " holds SQL text";
    }
  }
}

TEST(Includes, TheAnalyzerKnowsNeitherQtNorCuda) {
  for (const SourceFile& file : readSourceTree()) {
    if (!startsWith(file.path, "analyzer/")) continue;
    for (const std::string& include : file.includes) {
      EXPECT_FALSE(startsWith(include, "Q") || startsWith(include, "cuda") || startsWith(include, "cupti"))
          << file.path << " includes " << include;
    }
  }
}

TEST(Includes, ModelsAndStateOfTheGuiUseQtCoreOnly) {
  for (const SourceFile& file : readSourceTree()) {
    if (!startsWith(file.path, "gui/models/")) continue;
    for (const std::string& include : file.includes) {
      EXPECT_FALSE(include.find("QWidget") != std::string::npos || include.find("QPaint") != std::string::npos)
          << file.path << " includes " << include;
    }
  }
}

TEST(Sources, EveryFileNamesTheLicence) {
  for (const SourceFile& file : readSourceTree()) {
    EXPECT_NE(file.text.substr(0, 200).find("SPDX-License-Identifier: Apache-2.0"), std::string::npos) << file.path;
  }
}

TEST(Sources, TheAgentReadsTheEnvironmentInOnePlace) {
  for (const SourceFile& file : readSourceTree()) {
    if (!startsWith(file.path, "collector/agent/") && !startsWith(file.path, "plugins/")) continue;
    if (file.path.find("/config.") != std::string::npos) continue;
    EXPECT_EQ(file.text.find("getenv("), std::string::npos)
        << file.path << " calls getenv outside collector/agent/config";
  }
}

}  // namespace
}  // namespace plumb::test
