// SPDX-License-Identifier: Apache-2.0
#include "analyzer/advice/rule_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "analyzer/advice/advice.h"
#include "tests/unit/analyzer/testing.h"

namespace plumb::test {
namespace {

using testing::HasSubstr;

constexpr const char* kRule =
    "-- SPDX-License-Identifier: Apache-2.0\n-- Slow kernels\n-- Kernels of more than a second\n"
    "-- remedy: Make them\n--   faster.\n\nSELECT 1 AS finding;\n";

TEST(RuleFile, HeadIsTitleQuestionAndRemedy) {
  const RuleFile rule = valueOf(parseRule("slow", kRule, "somewhere"));
  EXPECT_EQ(rule.title, "Slow kernels");
  EXPECT_EQ(rule.question, "Kernels of more than a second");
  EXPECT_EQ(rule.remedy, "Make them faster.");
}

TEST(RuleFile, WithoutRemedyIsAnErrorThatNamesIt) {
  EXPECT_THAT(errorOf(parseRule("slow", "-- A\n-- B\nSELECT 1", "x/slow.sql")), HasSubstr("x/slow.sql"));
}

class Folder {
 public:
  Folder() { std::filesystem::create_directories(m_path); }
  ~Folder() { std::filesystem::remove_all(m_path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  void write(const char* name, const std::string& text) const { std::ofstream(m_path / name) << text; }
  [[nodiscard]] std::string path() const { return m_path.string(); }

 private:
  std::filesystem::path m_path =
      std::filesystem::temp_directory_path() /
      ("plumb-rules." + std::to_string(getpid()) + "." + testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST(RuleFile, UsersRulesJoinAndReplaceOurs) {
  const Folder folder;
  folder.write("launch_bound.sql", kRule);
  folder.write("mine.sql", kRule);
  folder.write("notes.txt", "not a rule");
  const auto rules = valueOf(findRules({"/does/not/exist", folder.path()}));
  EXPECT_EQ(rules.size(), builtinRules().size() + 1);
  for (const RuleFile& rule : rules) {
    if (rule.name == "launch_bound" || rule.name == "mine") EXPECT_EQ(rule.title, "Slow kernels");
  }
}

TEST(RuleFile, AUsersRuleThatIsNoSqlAbstains) {
  const TraceFile file;
  { const TraceBuilder trace(file.path()); }
  const Folder folder;
  folder.write("broken.sql", "-- A\n-- B\n-- remedy: C\nSELECT x FROM nowhere");
  folder.write("hello.sql",
               "-- A\n-- B\n-- remedy: C\nSELECT 'found' AS finding, 7 AS gain_ns, 'by hand' AS arithmetic, 3 AS rank,"
               " 1 AS start_ns, 2 AS end_ns, 'kernel 1, kernel 2' AS evidence");
  folder.write("numb.sql", "-- A\n-- B\n-- remedy: C\nSELECT 1 AS something");
  Trace trace = valueOf(Trace::open(file.path()));
  const Advice advice = valueOf(advise(trace, {}, {folder.path()}));
  ASSERT_EQ(advice.findings.size(), 1u);
  EXPECT_EQ(advice.findings[0].gain, Duration(7));
  EXPECT_EQ(advice.findings[0].rank, 3);
  EXPECT_THAT(advice.findings[0].evidence, testing::ElementsAre("kernel 1", "kernel 2"));
  EXPECT_THAT(advice.abstentions, testing::Contains(testing::Field(&Abstention::reason, HasSubstr("nowhere"))));
  EXPECT_THAT(advice.abstentions,
              testing::Contains(testing::Field(&Abstention::reason, HasSubstr("no column finding"))));
}

}  // namespace
}  // namespace plumb::test
