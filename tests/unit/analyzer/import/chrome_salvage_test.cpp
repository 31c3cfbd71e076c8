// SPDX-License-Identifier: Apache-2.0
// Chrome traces that are nearly whole: what is still evident is read, and what is lost is said with its place.
#include <gmock/gmock.h>

#include <filesystem>

#include "tests/unit/analyzer/import/support.h"

namespace plumb::test {
namespace {

using testing::HasSubstr;
using Salvage = ImportTest;
using Names = std::vector<Database::Row>;

const std::string kFirst = kernelEvent("first", "10", "1", 1);
const std::string kLast = kernelEvent("last", "20", "1", 2);

std::string messageOf(const Database& db, const std::string& code) {
  return db.text("SELECT message FROM diagnostic WHERE code = '" + code + "'");
}

// ---- closing brackets that nothing opened ---------------------------------------------------------------------------

TEST_F(Salvage, BracketsTooManyInARowDoNotEndTheEvents) {
  for (const std::string& stray : {std::string("]]"), std::string("]]]"), std::string("] ]\n]"), std::string("}]]"),
                                   std::string("]}]}"), std::string("],],"), std::string(3000, ']')}) {
    std::filesystem::remove(output());
    const std::string text = traceOf({kFirst + stray, kLast}, R"("distributedInfo": {"rank": 3})");
    const Database& db = imported(text);
    EXPECT_EQ(db.rows("SELECT name FROM kernels ORDER BY start_ns"), (Names{{"first"}, {"last"}})) << stray;
    EXPECT_EQ(m_result.damaged, 1u) << stray;
    EXPECT_EQ(db.number("SELECT rank FROM process"), 3) << stray;
    EXPECT_EQ(db.number("SELECT count(*) FROM diagnostic WHERE code IN ('bytes_behind', 'cut')"), 0) << stray;
    EXPECT_THAT(messageOf(db, "damaged_event"),
                HasSubstr("at byte " + std::to_string(text.find(kFirst) + kFirst.size())));
  }
}

TEST_F(Salvage, BracketsTooManyBehindTheEventsCostNothingBehindThem) {
  const Database& db = imported("{\"traceEvents\": [" + kFirst + "]]], \"distributedInfo\": {\"rank\": 3}}");
  EXPECT_EQ(db.number("SELECT count(*) FROM kernel"), 1);
  EXPECT_EQ(db.number("SELECT rank FROM process"), 3);
  EXPECT_EQ(m_result.damaged, 1u);
}

// Each run of brackets is looked through a few times, not once for each of its brackets.
TEST_F(Salvage, AFileOfBracketsIsReadInOneGo) {
  std::string text = "{\"traceEvents\": [" + kFirst;
  for (int i = 0; i < 300; ++i) text += std::string(20000, ']') + ", {\"ph\": \"X\", \"name\": ";
  text += std::string(4 << 20, ']') + ", " + kLast + "]}";
  EXPECT_EQ(imported(text).number("SELECT count(*) FROM kernel"), 2);
  EXPECT_GE(m_result.damaged, 1u);
}

// ---- damage before the events ---------------------------------------------------------------------------------------

const std::string kHead =
    "{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [\n    {\n      \"id\": 0, \"name\": \"GPU\", "
    "\"totalGlobalMem\": 85, \"major\": 9\n    },\n    {\n      \"id\": 1, \"name\": \"GPU\"\n    }\n  ],\n"
    "  \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 3},\n";

std::string behind(const std::string& head) {
  return head + "\"traceEvents\": [\n" + kFirst + ",\n" + kernelEvent("second", "15", "1", 3) + ",\n" + kLast + "\n]}";
}

TEST_F(Salvage, AMissingQuoteInTheHeadCostsTheHead) {
  std::string head = kHead;
  head.erase(head.find("\": 85"), 1);
  const Database& db = imported(behind(head));
  EXPECT_EQ(db.number("SELECT count(*) FROM kernel"), 3);
  EXPECT_THAT(messageOf(db, "damaged_head"), HasSubstr("rank, devices"));
  EXPECT_THAT(m_result.warnings, testing::Contains(HasSubstr("is damaged at byte " + std::to_string(head.find('[')))));
}

// Whatever bit flips, and whether or not line ends stop a string that does not end.
TEST_F(Salvage, NoFlippedBitOfTheHeadLosesTheEvents) {
  std::string flat = kHead;
  std::erase(flat, '\n');
  for (const std::string& head : {kHead, flat}) {
    const std::string whole = behind(head);
    for (size_t at = 0; at < whole.find(kFirst); ++at) {
      std::string text = whole;
      text[at] = static_cast<char>(text[at] ^ (1 << at % 7));
      std::filesystem::remove(output());
      const Database& db = imported(text);
      EXPECT_GE(db.number("SELECT count(*) FROM kernel"), 2) << at << ' ' << text.substr(at, 20);
    }
  }
}

TEST_F(Salvage, WithoutItsHeadATraceBeginsAtItsFirstEvent) {
  const std::string whole = behind(kHead);
  for (const size_t from : {size_t{1}, kHead.find("nccl"), kHead.size() + 3, whole.find(kFirst) - 1}) {
    std::filesystem::remove(output());
    const Database& db = imported(whole.substr(from));
    EXPECT_EQ(db.number("SELECT count(*) FROM kernel"), 3) << from;
    EXPECT_EQ(db.number("SELECT count(*) FROM diagnostic WHERE code = 'damaged_head'"), 1) << from;
  }
}

TEST_F(Salvage, WholeJsonThatIsNoTraceIsNotSearched) {
  EXPECT_THAT(errorOf("{\"a\": " + behind(kHead) + "}"), HasSubstr("no array 'traceEvents'"));
  EXPECT_THAT(errorOf(R"({"users": [{"name": "a"}, {"name": "b"}, {"name": "c"}], "b: 1})"), HasSubstr("no array"));
}

TEST_F(Salvage, WhatIsSaidOfAnEarlyEndCountsTheDamageBeforeIt) {
  const Database& db = imported("{\"traceEvents\": [" + kFirst + ", {\"ph\": \"X\" 5}, " + kLast + ", {\"ph\"");
  EXPECT_THAT(messageOf(db, "cut"), HasSubstr("is left out: 2 events or more"));
}

// ---- arrays without an end ------------------------------------------------------------------------------------------

TEST_F(Salvage, AnArrayThatATracerLeftOpenIsWhole) {
  for (const char* end : {"", ",", ",\n", "\n,\n"}) {
    std::filesystem::remove(output());
    const Database& db = imported("[" + kFirst + ",\n" + kLast + end);
    EXPECT_EQ(db.number("SELECT count(*) FROM kernel"), 2);
    EXPECT_EQ(db.rows("SELECT code, severity FROM diagnostic"), (Names{{"array_not_closed", "info"}}));
    EXPECT_EQ(m_result.damaged, 0u);
    EXPECT_TRUE(m_result.warnings.empty());
  }
}

TEST_F(Salvage, AnArrayThatEndsInsideAnEventIsCut) {
  const std::string text = "[" + kFirst + ",\n" + kLast;
  for (const size_t missing : {size_t{1}, size_t{20}, kLast.size() - 1}) {
    std::filesystem::remove(output());
    const Database& db = imported(text.substr(0, text.size() - missing));
    EXPECT_EQ(db.number("SELECT count(*) FROM kernel"), 1);
    EXPECT_EQ(db.number("SELECT count(*) FROM diagnostic WHERE code = 'cut' AND severity = 'error'"), 1) << missing;
    EXPECT_EQ(db.number("SELECT count(*) FROM diagnostic WHERE code = 'array_not_closed'"), 0) << missing;
  }
}

TEST_F(Salvage, AnObjectThatIsNotClosedIsCut) {
  const Database& db = imported("{\"traceEvents\": [" + kFirst + ",");
  EXPECT_EQ(db.number("SELECT count(*) FROM diagnostic WHERE code = 'cut'"), 1);
}

TEST_F(Salvage, AnOpenArrayInACutGzipIsCut) {
  const std::string packed = gzip("[" + kFirst + ",\n" + kLast + ",\n");
  const auto result = import({write("open.json.gz", packed.substr(0, packed.size() - 4))});
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(Database(output()).number("SELECT count(*) FROM diagnostic WHERE code = 'cut'"), 1);
}

// ---- texts and arguments --------------------------------------------------------------------------------------------

TEST_F(Salvage, EscapesThatStandForNoCharacterAreCountedByReason) {
  const std::string zero = hostEvent("cpu_op", "a\\u0000b", "1", "1"), half = hostEvent("cpu_op", "c\\ud83d", "2", "1"),
                    other = hostEvent("cpu_op", "\\udE00d\\uD83D\\u0041", "3", "1"),
                    pair = hostEvent("cpu_op", "\\ud83d\\ude00", "4", "1");
  const std::string text = traceOf({pair, zero, half, other});
  const Database& db = imported(text);
  EXPECT_EQ(db.rows("SELECT name FROM operators ORDER BY start_ns"),
            (Names{{"a?b"}, {"c?"}, {"?d?A"}, {"\xF0\x9F\x98\x80"}}));
  EXPECT_EQ(db.rows("SELECT code, count FROM diagnostic ORDER BY code"),
            (Names{{"lone_surrogate", "2"}, {"zero_character", "1"}}));
  EXPECT_THAT(messageOf(db, "zero_character"), HasSubstr("at byte " + std::to_string(text.find(zero))));
  EXPECT_THAT(messageOf(db, "lone_surrogate"), HasSubstr("at byte " + std::to_string(text.find(half))));
  EXPECT_EQ(m_result.notStored, 0u);
}

TEST_F(Salvage, ArgumentsThatNestTooDeepCostOnlyThemselves) {
  const std::string deep = std::string(200, '[') + R"("]")" + std::string(200, ']');
  const std::string arguments = R"({"a": 1, "deep": )" + deep + R"(, "b": {"c": )" + deep + R"(}, "d": 2})";
  const std::string begin = R"({"ph": "B", "name": "open", "pid": 1, "tid": 1, "ts": 5, "args": )" + arguments + "}",
                    end = R"({"ph": "E", "pid": 1, "tid": 1, "ts": 9})";
  const Database& db = imported(traceOf({hostEvent("other", "r", "1", "1", arguments), begin, end, kFirst}));
  EXPECT_EQ(db.rows("SELECT r.name, s.text, p.value FROM range_payload p JOIN ranges r ON r.id = p.range_id"
                    " JOIN string s ON s.id = p.name_id ORDER BY r.start_ns, s.text"),
            (Names{{"r", "a", "1"}, {"r", "d", "2"}, {"open", "a", "1"}, {"open", "d", "2"}}));
  EXPECT_EQ(db.number("SELECT count FROM diagnostic WHERE code = 'nested_too_deep'"), 2);
  EXPECT_EQ(m_result.damaged, 0u);
  EXPECT_EQ(db.number("SELECT count(*) FROM kernel"), 1);
}

TEST_F(Salvage, BracketsThatDoNotMatchBelowAreDamage) {
  const std::string deep = R"({"a": )" + std::string(200, '[') + "}" + std::string(199, ']') + "}";
  const Database& db = imported(traceOf({kFirst, hostEvent("other", "r", "1", "1", deep), kLast}));
  EXPECT_EQ(db.number("SELECT count(*) FROM kernel"), 2);
  EXPECT_EQ(m_result.damaged, 1u);
}

}  // namespace
}  // namespace plumb::test
