// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/json.h"

#include <gtest/gtest.h>

#include <map>

namespace plumb::import {
namespace {

TEST(Nanoseconds, AreExactFromDecimalText) {
  EXPECT_EQ(nanosecondsOf("1712195495519689.047"), 1712195495519689047);  // no double holds this
  EXPECT_EQ(nanosecondsOf("1419247333923.777"), 1419247333923777);
  EXPECT_EQ(nanosecondsOf("5"), 5000);
  EXPECT_EQ(nanosecondsOf("0.5"), 500);
  EXPECT_EQ(nanosecondsOf("-1.25"), -1250);
  EXPECT_EQ(nanosecondsOf("1.0004"), 1000);
  EXPECT_EQ(nanosecondsOf("1.0005"), 1001);
  EXPECT_EQ(nanosecondsOf("1.5e3"), 1500000);
  EXPECT_FALSE(nanosecondsOf("9999999999999999"));  // more nanoseconds than an integer holds
  EXPECT_FALSE(nanosecondsOf(std::string(80, '3')));
}

TEST(Nanoseconds, RefuseWhatIsNoTimeOrDoesNotFit) {
  for (const char* text : {"", "-", "abc", "1.2.3", "NaN", "99999999999999999999", "1e300", "9223372036854775807"}) {
    EXPECT_FALSE(nanosecondsOf(text)) << text;
  }
}

std::map<std::string, std::string> membersOf(std::string_view text, bool& valid) {
  std::map<std::string, std::string> members;
  valid = readObject(text,
                     [&](std::string_view key, const JsonValue& value) { members[std::string(key)] = value.toText(); });
  return members;
}

TEST(Json, GivesMembersWithNumbersAsWritten) {
  bool valid = false;
  const auto members =
      membersOf(R"( {"a": 18446744073709551615, "b": "x\n\u00e9\ud83d\ude00", "c": [1, {"d": null}]} )", valid);
  EXPECT_TRUE(valid);
  EXPECT_EQ(members.at("a"), "18446744073709551615");
  EXPECT_EQ(members.at("b"), "x\n\xC3\xA9\xF0\x9F\x98\x80");
  EXPECT_EQ(members.at("c"), R"([1, {"d": null}])");
}

TEST(Json, RefusesDamage) {
  for (const char* text :
       {"", "{", "{\"a\"}", "{\"a\": }", "{\"a\": 1,}", "{\"a\": 01x}", "{\"a\": \"\\q\"}", "{\"a\": 1} x",
        "{\"a\": [1, 2}", "{\"a\": tru}", "{\"a\": \"line\nend\"}", "{\"a\": \"\\u12\"}", "[1]", "{a: 1}"}) {
    bool valid = true;
    membersOf(text, valid);
    EXPECT_FALSE(valid) << text;
  }
  bool valid = true;
  membersOf("{\"a\": " + std::string(100000, '['), valid);
  EXPECT_FALSE(valid) << "endless nesting";
}

TEST(Json, KnowsTheTokensThatProfilersWriteForNoNumber) {
  bool valid = false;
  membersOf(R"({"a": NaN, "b": -Infinity, "c": inf, "d": -nan})", valid);
  EXPECT_TRUE(valid);
}

}  // namespace
}  // namespace plumb::import
