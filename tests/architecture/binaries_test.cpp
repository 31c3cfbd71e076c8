// SPDX-License-Identifier: Apache-2.0
// What is loaded into a stranger's process exports its entry points and needs libc, and nothing else.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "tests/architecture/source_tree.h"

namespace plumb::test {
namespace {

const std::string kLibraries = PLUMB_BUILD_DIR "/lib";
#ifdef __SANITIZE_ADDRESS__
constexpr bool kSanitized = true;
#elif defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

std::set<std::string> exportedSymbols(const std::string& library) {
  std::set<std::string> names;
  std::istringstream lines(outputOf("nm -D --defined-only '" + library + "'"));
  std::string address, type, name;
  while (lines >> address >> type >> name) names.insert(name.substr(0, name.find('@')));
  return names;
}

std::set<std::string> neededLibraries(const std::string& library) {
  std::set<std::string> names;
  const std::string text = outputOf("readelf -d '" + library + "'");
  static const std::regex kNeeded(R"(\(NEEDED\).*\[([^\]]+)\])");
  for (std::sregex_iterator it(text.begin(), text.end(), kNeeded), end; it != end; ++it) names.insert((*it)[1]);
  return names;
}

std::set<std::string> entryPoints() {
  std::set<std::string> names = {"InitializeInjection", "InitializeInjectionNvtx2", "InitializeInjectionNvtxExtension"};
  for (int version = 1; version <= 5; ++version) names.insert("ncclProfiler_v" + std::to_string(version));
  std::ifstream in(PLUMB_SOURCE_DIR "/collector/api/interposed.def");
  static const std::regex kEntry(R"re(^PLUMB_INTERPOSED\("[^"]+", (\w+)\))re");
  for (std::string line; std::getline(in, line);) {
    std::smatch match;
    if (std::regex_search(line, match, kEntry)) names.insert(match[1]);
  }
  return names;
}

const std::set<std::string> kLibcLevel = {"libc.so.6",
                                          "libm.so.6",
                                          "libdl.so.2",
                                          "libpthread.so.0",
                                          "librt.so.1",
                                          "ld-linux-x86-64.so.2",
                                          "ld-linux-aarch64.so.1"};

TEST(Agent, ExportsOnlyItsEntryPoints) { EXPECT_EQ(exportedSymbols(kLibraries + "/libplumb.so"), entryPoints()); }

TEST(Agent, NeedsOnlyLibcLevelLibraries) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's runtime is linked in";
  for (const std::string& name : neededLibraries(kLibraries + "/libplumb.so"))
    EXPECT_TRUE(kLibcLevel.contains(name)) << name;
}

TEST(Plugins, ExportOneSymbolAndNeedOnlyLibc) {
  int plugins = 0;
  for (const char* name : {"cupti", "nvtx", "nccl", "memory", "cublas"}) {
    const std::string path = kLibraries + "/plumb/plugins/" + name + ".so";
    if (!std::filesystem::exists(path)) continue;
    ++plugins;
    EXPECT_EQ(exportedSymbols(path), std::set<std::string>{"plumbPlugin"}) << path;
    if (kSanitized) continue;
    for (const std::string& needed : neededLibraries(path))
      EXPECT_TRUE(kLibcLevel.contains(needed)) << path << ": " << needed;
  }
  EXPECT_EQ(plugins, 5);
}

}  // namespace
}  // namespace plumb::test
