// SPDX-License-Identifier: Apache-2.0
#include "collector/launcher/output.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "collector/schema/schema.h"
#include "tests/support/process.h"

namespace plumb::launcher {
namespace {

using testing::HasSubstr;

class Output : public testing::Test {
 protected:
  std::string make(const std::string& name, const std::string& content) const {
    std::ofstream(m_folder.file(name)) << content;
    return m_folder.file(name);
  }
  // The first bytes of an SQLite file with an application id.
  static std::string header(int32_t id) {
    std::string bytes = "SQLite format 3";
    bytes.resize(68, '\0');
    for (const int shift : {24, 16, 8, 0}) {
      bytes.push_back(static_cast<char>(id >> shift));
    }
    return bytes + std::string(28, '\0');
  }
  std::string refusal(const std::string& file, bool force = false) const {
    const Result<std::string> checked = checkOutput(file, force);
    return checked.ok() ? "" : checked.error().message;
  }
  test::TemporaryFolder m_folder;
};

TEST_F(Output, ANewFileInAFolderOfOursIsFine) {
  const Result<std::string> checked = checkOutput(m_folder.file("a/../run.sqlite"), false);
  ASSERT_TRUE(checked.ok());
  EXPECT_EQ(checked.value(), m_folder.file("run.sqlite"));
  EXPECT_FALSE(std::filesystem::exists(checked.value())) << "checking makes nothing";
}

TEST_F(Output, PlacesThatCannotBeWrittenAreExplained) {
  EXPECT_THAT(refusal(""), HasSubstr("no file name"));
  EXPECT_THAT(refusal(m_folder.path() + "/"), HasSubstr("no file name"));
  EXPECT_THAT(refusal(m_folder.path()), HasSubstr("it is a folder"));
  EXPECT_THAT(refusal(m_folder.file("none/run.sqlite")), HasSubstr("does not exist"));
  if (geteuid() != 0) {
    EXPECT_THAT(refusal("/run.sqlite"), HasSubstr("lets you make no file"));
  }
}

TEST_F(Output, ARecordingIsReplacedOnlyIfTold) {
  const std::string file = make("run.sqlite", header(schema::kApplicationId));
  EXPECT_THAT(refusal(file), HasSubstr("--force"));
  EXPECT_EQ(refusal(file, true), "");
}

TEST_F(Output, AnythingElseIsNeverReplaced) {
  const std::vector<std::string> files = {make("empty", ""), make("text", "x"), make("db", header(0)),
                                          make("cut", header(schema::kApplicationId).substr(0, 70))};
  for (const std::string& file : files) {
    for (const bool force : {false, true}) {
      EXPECT_THAT(refusal(file, force), HasSubstr("is not a Plumbline recording")) << file;
    }
  }
}

TEST_F(Output, RemovesARecordingWithItsJournal) {
  const std::string file = make("run.sqlite", header(schema::kApplicationId));
  make("run.sqlite-wal", "x");
  make("run.sqlite2", "x");
  removeRecording(file);
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_FALSE(std::filesystem::exists(file + "-wal"));
  EXPECT_TRUE(std::filesystem::exists(m_folder.file("run.sqlite2")));
}

TEST_F(Output, IsNamedAfterTheProgram) {
  EXPECT_THAT(defaultOutput("/usr/bin/python3"), testing::MatchesRegex("plumb-python3-[0-9]+\\.sqlite"));
}

}  // namespace
}  // namespace plumb::launcher
