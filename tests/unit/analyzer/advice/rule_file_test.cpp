// SPDX-License-Identifier: Apache-2.0
#include "analyzer/advice/rule_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
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

TEST(RuleFile, RemediesOfOtherPlacesAndProgramsFollow) {
  const RuleFile rule = valueOf(parseRule("slow",
                                          "-- Slow\n-- What is slow\n-- remedy: torch.compile\n"
                                          "-- remedy outside the steps: Cache\n--   it.\n"
                                          "-- remedy without torch: Fuse it.\nSELECT 1 AS finding;\n",
                                          "somewhere"));
  EXPECT_EQ(rule.remedy, "torch.compile");
  EXPECT_EQ(rule.remedyOutside, "Cache it.");
  EXPECT_EQ(rule.remedyWithoutTorch, "Fuse it.");
}

TEST(RuleFile, MaySayFromWhatOnItFindsSomething) {
  const RuleFile rule = valueOf(parseRule(
      "slow", "-- Slow\n-- What is slow\n-- threshold: 5 % of the steps\n-- remedy: Hurry.\nSELECT 1;\n", "x"));
  EXPECT_EQ(rule.threshold, "5 % of the steps");
  EXPECT_EQ(rule.remedy, "Hurry.");
}

TEST(RuleFile, SaysWhichRecordsItNeeds) {
  const auto rule = parseRule(
      "slow", "-- Slow\n-- What is slow\n-- needs: device work, collectives\n-- remedy: Hurry.\nSELECT 1;\n", "x");
  ASSERT_TRUE(rule.ok());
  ASSERT_EQ(rule.value().needs.size(), 2u);
  EXPECT_EQ(rule.value().needs[1]->lack, "no collectives were recorded");
  const auto unknown =
      parseRule("slow", "-- Slow\n-- What is slow\n-- needs: tea\n-- remedy: Hurry.\nSELECT 1;\n", "x");
  ASSERT_FALSE(unknown.ok());
  EXPECT_THAT(unknown.error().message, testing::HasSubstr("needs 'tea', which is none of: device work, "));
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

constexpr const char* kHead = "-- A\n-- B\n-- remedy: C\n";

Advice adviceWith(const Folder& folder, const Filter& filter = {}, const RuleLimits& limits = {}) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    for (int64_t step = 0; step < 2; ++step) trace.addRange(rank.process, rank.thread, step * 10, 10, "step");
  }
  Trace trace = valueOf(Trace::open(file.path()));
  return valueOf(advise(trace, filter, {folder.path()}, limits));
}

std::string reasonOf(const Advice& advice, const std::string& rule) {
  for (const Abstention& one : advice.abstentions) {
    if (one.rule == rule) return one.reason + (one.isBroken ? "" : " (not broken)");
  }
  return "";
}

constexpr const char* kFinds =
    "SELECT 'found' AS finding, 7 AS gain_ns, 'by hand' AS arithmetic, 3 AS rank, 1 AS start_ns, 2 AS end_ns,"
    " 'kernel 1, kernel 2' AS evidence";

TEST(RuleFile, RulesThatCannotBeUsedSayWhyAndTheOthersAreApplied) {
  const Folder folder;
  folder.write("empty.sql", "");
  folder.write("binary.sql", std::string("\x7f"
                                         "ELF\0\0\1",
                                         7));
  folder.write("latin.sql", "-- Gr\xf6\xdfe\n-- B\n-- remedy: C\nSELECT 1 AS finding");
  folder.write("huge.sql", kHead + std::string(2 << 20, ' '));
  folder.write("headless.sql", "SELECT 1 AS finding");
  folder.write("typo.sql", std::string(kHead) + "SELEC 1 AS finding");
  folder.write("nowhere.sql", std::string(kHead) + "SELECT x FROM nowhere");
  folder.write("two.sql", std::string(kHead) + "SELECT 1 AS finding; SELECT 2 AS finding");
  folder.write("writes.sql", std::string(kHead) + "DELETE FROM kernel");
  folder.write("pragma.sql", std::string(kHead) + "PRAGMA writable_schema = 1");
  folder.write("nothing.sql", kHead);
  folder.write("parameter.sql", std::string(kHead) + "SELECT :colour AS finding");
  folder.write("numb.sql", std::string(kHead) + "SELECT 1 AS something");
  folder.write("fails.sql", std::string(kHead) + "SELECT abs(-9223372036854775808) AS finding");
  std::filesystem::create_directory(folder.path() + "/folder.sql");
  folder.write("hello.sql", std::string(kHead) + kFinds);
  const Advice advice = adviceWith(folder);
  ASSERT_EQ(advice.findings.size(), 1u);
  EXPECT_EQ(advice.findings[0].gain, Duration(7));
  EXPECT_EQ(advice.findings[0].rank, 3);
  EXPECT_THAT(advice.findings[0].evidence, testing::ElementsAre("kernel 1", "kernel 2"));
  const std::pair<const char*, const char*> kReasons[] = {
      {"empty", "is empty"},           {"binary", "is not text"},
      {"latin", "is not text"},        {"huge", "bytes: at most 1048576"},
      {"headless", "three comment"},   {"typo", "syntax error"},
      {"nowhere", "nowhere"},          {"two", "More than one SQL statement"},
      {"writes", "for reading only"},  {"pragma", "for reading only"},
      {"nothing", "no statement"},     {"parameter", "uses the parameter :colour"},
      {"numb", "no column finding"},   {"fails", "integer overflow"},
      {"folder", "not a regular file"}};
  for (const auto& [rule, reason] : kReasons) {
    EXPECT_THAT(reasonOf(advice, rule), HasSubstr(reason)) << rule;
    EXPECT_THAT(reasonOf(advice, rule), testing::Not(HasSubstr("not broken"))) << rule;
    EXPECT_THAT(reasonOf(advice, rule), testing::Not(HasSubstr("\n"))) << rule;
  }
}

TEST(RuleFile, AnEndlessRuleIsStopped) {
  const Folder folder;
  folder.write("endless.sql", std::string(kHead) +
                                  "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
                                  " SELECT count(*) AS finding FROM n");
  folder.write("flood.sql", std::string(kHead) +
                                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
                                " SELECT i AS finding FROM n");
  folder.write("zero.sql", std::string(kHead) + kFinds);  // after the stopped ones
  const Advice advice = adviceWith(folder, {}, {std::chrono::milliseconds(200), 1000});
  EXPECT_THAT(reasonOf(advice, "endless"), HasSubstr("it ran longer than 0.2 s and was stopped"));
  EXPECT_THAT(reasonOf(advice, "flood"), HasSubstr("more than 1000 findings"));
  EXPECT_EQ(advice.findings.size(), 1u);
}

TEST(RuleFile, AGainThatIsNoLengthOfTimeIsNone) {
  for (const char* gain : {"9e999", "'abc'", "9223372036854775807"}) {
    const Folder folder;
    folder.write("own.sql", std::string(kHead) + "SELECT 'found' AS finding, " + gain + " AS gain_ns");
    const Advice advice = adviceWith(folder);
    ASSERT_EQ(advice.findings.size(), 1u) << gain;
    EXPECT_FALSE(advice.findings[0].gain) << gain;
  }
}

TEST(RuleFile, ARuleWithoutTheParameterOfAFilterThatIsSetAbstains) {
  const Folder folder;
  folder.write("whole.sql", std::string(kHead) + kFinds);
  folder.write("ranked.sql", std::string(kHead) + kFinds + " WHERE :rank IS NULL OR :rank = 0");
  Filter filter;
  filter.rank = 0;
  Advice advice = adviceWith(folder, filter);
  ASSERT_EQ(advice.findings.size(), 1u);
  EXPECT_EQ(advice.findings[0].rule, "ranked");
  EXPECT_THAT(
      reasonOf(advice, "whole"),
      HasSubstr(
          "it cannot look at a part of the run alone (it takes no --rank; of the filters it takes none) (not broken)"));
  filter.step = 1;
  EXPECT_THAT(reasonOf(adviceWith(folder, filter), "ranked"),
              HasSubstr("takes no --step; of the filters it takes --rank"));
}

}  // namespace
}  // namespace plumb::test
