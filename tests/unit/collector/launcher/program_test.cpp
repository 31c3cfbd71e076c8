// SPDX-License-Identifier: Apache-2.0
#include "collector/launcher/program.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "tests/support/process.h"

namespace plumb::launcher {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

class Program : public testing::Test {
 protected:
  std::string make(const std::string& name, const std::string& content, bool executable) const {
    std::ofstream(m_folder.file(name), std::ios::binary) << content;
    fs::permissions(m_folder.file(name), executable ? fs::perms::owner_all : fs::perms::owner_read);
    return m_folder.file(name);
  }
  static std::string refusal(const std::string& word) {
    const Result<std::string> found = findProgram(word);
    return found.ok() ? "" : found.error().message;
  }
  test::TemporaryFolder m_folder;
};

TEST_F(Program, IsFoundByPathOrInPath) {
  const std::string path = make("tool", "#!/bin/sh\n", true);
  EXPECT_EQ(findProgram(path).value(), path);
  const std::string before = std::getenv("PATH");
  setenv("PATH", ("/nowhere:" + m_folder.path()).c_str(), 1);
  EXPECT_EQ(findProgram("tool").value(), path);
  EXPECT_THAT(refusal("tool2"), HasSubstr("there is no such program"));
  setenv("PATH", before.c_str(), 1);
}

TEST_F(Program, ThatCannotBeRunIsExplained) {
  EXPECT_THAT(refusal(""), HasSubstr("no such program"));
  EXPECT_THAT(refusal(m_folder.path()), HasSubstr("directory"));
  EXPECT_THAT(refusal(m_folder.file("none")), HasSubstr("no such program"));
  EXPECT_THAT(refusal(make("script.py", "print()", false)), HasSubstr("not executable"));
}

TEST_F(Program, ScriptsAndDynamicProgramsHaveNoLimits) {
  const std::string script = make("script", "#!/bin/sh\n", true);
  EXPECT_FALSE(inspectProgram(script).isElf);
  EXPECT_THAT(limitsOf(script, inspectProgram(script)), testing::IsEmpty());
  const ProgramFacts self = inspectProgram("/proc/self/exe");
  EXPECT_TRUE(self.isElf);
  EXPECT_FALSE(self.isStatic);
}

TEST_F(Program, StaticAndPrivilegedOnesHaveALimit) {
  ProgramFacts facts;
  facts.isStatic = true;
  facts.isPrivileged = true;
  const auto limits = limitsOf("/bin/x", facts);
  ASSERT_EQ(limits.size(), 2u);
  EXPECT_THAT(limits[0], HasSubstr("statically"));
  EXPECT_THAT(limits[1], HasSubstr("setuid"));
}

// Cut off or damaged anywhere, an executable is looked at without harm.
TEST_F(Program, DamagedOnesAreHarmless) {
  std::ifstream self("/proc/self/exe", std::ios::binary);
  std::string bytes(8192, '\0');
  self.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    std::string damaged = bytes.substr(0, round % 2 == 0 ? random() % bytes.size() : bytes.size());
    for (int i = 0; i < 8 && damaged.size() > 8; ++i) {
      damaged[4 + random() % (std::min<size_t>(damaged.size(), 1024) - 4)] = static_cast<char>(random());
    }
    (void)inspectProgram(make("damaged", damaged, true));
  }
}

}  // namespace
}  // namespace plumb::launcher
