// SPDX-License-Identifier: Apache-2.0
// Damaged input costs the damaged event, not the file, and everything is accounted for.
#include <gmock/gmock.h>

#include <filesystem>

#include "tests/unit/analyzer/import/support.h"

namespace plumb::test {
namespace {

const std::string kFirst = kernelEvent("first", "10", "1", 1);
const std::string kLast = kernelEvent("last", "20", "1", 2);

struct Damage {
  const char* what;
  std::string event;
};

class DamagedEvent : public ImportTest, public testing::WithParamInterface<Damage> {};

TEST_P(DamagedEvent, IsCountedAndTheOthersStay) {
  const Database& db = imported(traceOf({kFirst, GetParam().event, kLast}));
  EXPECT_EQ(db.rows("SELECT name FROM kernels ORDER BY start_ns"), (std::vector<Database::Row>{{"first"}, {"last"}}));
  EXPECT_EQ(db.number("SELECT count FROM diagnostic WHERE code = 'damaged_event' AND severity = 'error'"), 1);
  EXPECT_EQ(m_result.events, 3u);
  EXPECT_EQ(m_result.damaged, 1u);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, DamagedEvent,
    testing::Values(Damage{"MissingValue", R"({"ph": "X", "name": "bad", "ts": , "dur": 1})"},
                    Damage{"OpenString", R"({"ph": "X", "name": "bad, "ts": 5, "dur": 1})"},
                    Damage{"MissingBrace", R"({"ph": "X", "name": "bad", "ts": 5, "args": {"a": 1})"},
                    Damage{"WrongBracket", R"({"ph": "X", "name": "bad", "ts": 5, "args": {"a": [1, 2}})"},
                    Damage{"NoPhase", R"({"name": "bad", "ts": 5})"}, Damage{"Number", "17"},
                    Damage{"Text", R"("bad")"}, Damage{"Word", "bad"}, Damage{"Array", "[1, 2]"},
                    Damage{"LineEndInString", "{\"ph\": \"X\", \"name\": \"b\nad\", \"ts\": 5}"}),
    [](const auto& kind) { return kind.param.what; });

TEST_F(ImportTest, DamageBetweenEventsCostsNoEvent) {
  const Database& db = imported(traceOf({kFirst + "}", "\x01garbage" + kLast, kernelEvent("third", "30", "1", 3)}));
  EXPECT_EQ(db.number("SELECT count(*) FROM kernel"), 3);
  EXPECT_EQ(db.number("SELECT count FROM diagnostic WHERE code = 'damaged_event'"), 1);
}

TEST_F(ImportTest, EachElementThatIsNoEventIsCounted) {
  const std::string noPhase = R"({"name": "a", "ts": 1, "dur": 1, "pid": 1, "tid": 1})";
  const Database& db = imported(traceOf({noPhase, noPhase, "1", "\"a\"", "[1]", "null", "{}", R"({"x": {"y": [1]}})",
                                         kFirst, R"({"ph": 7, "ts": 1})", R"({"ph": [[1]], "args": {"name": "a"}})"}));
  EXPECT_EQ(db.number("SELECT count(*) FROM kernel"), 1);
  EXPECT_EQ(m_result.events, 11u);
  EXPECT_EQ(m_result.damaged, 10u);
  EXPECT_EQ(db.number("SELECT count(*) FROM diagnostic WHERE code = 'cut'"), 0);
}

TEST_F(ImportTest, DamagedEventsInARowCountEach) {
  const std::string lineEnd =
      "{\"ph\": \"X\", \"name\": \"b\nad\", \"ts\": 5, \"args\": {\"name\": \"a\", \"b\": [1]}}";
  const std::string open = R"({"ph": "X", "name": "bad", "ts": 5, "args": {"name": "a")";
  (void)imported(traceOf({lineEnd, lineEnd, open, open, kFirst, lineEnd, kLast, open, lineEnd}));
  EXPECT_EQ(m_result.events, 9u);
  EXPECT_EQ(m_result.damaged, 7u);
}

// What stands behind the events says when they were, and of which rank.
TEST_F(ImportTest, ADamagedLastEventCostsNothingBehindIt) {
  for (const char* bad :
       {"{\"ph\": \"X\", \"name\": \"a\x01b\", \"ts\": 1, \"args\": {\"grid\": [1, 2, 3], \"block\": [4, 5, 6]}}",
        R"({"ph": "X", "name": "open, "ts": 1, "args": {"grid": [1, 2, 3], "block": [4, 5, 6]}})",
        R"({"ph": "X", "name": "bad", "ts": 1, "args": {"grid": [1, 2, 3], "block": [4, 5, 6])", R"({"x")", "[1, ",
        "}"}) {
    std::filesystem::remove(output());
    const Database& db = imported(
        traceOf({kFirst, bad}, R"("baseTimeNanoseconds": 1712195495519689047, "distributedInfo": {"rank": 3})"));
    EXPECT_EQ(db.text("SELECT value FROM meta WHERE key = 'session_start_realtime_ns'"), "1712195495519699047") << bad;
    EXPECT_EQ(db.number("SELECT rank FROM process"), 3) << bad;
    EXPECT_EQ(db.number("SELECT count(*) FROM diagnostic WHERE code = 'cut'"), 0) << bad;
    EXPECT_EQ(m_result.damaged, 1u) << bad;
  }
}

TEST_F(ImportTest, WhatFollowsTheTraceIsSaid) {
  for (const std::string& behind : {traceOf({kLast}), std::string("}xxxx")}) {
    std::filesystem::remove(output());
    const Database& db = imported(traceOf({kFirst}) + "\n" + behind + "\n");
    EXPECT_EQ(db.number("SELECT count(*) FROM kernel"), 1);
    EXPECT_EQ(db.number("SELECT count FROM diagnostic WHERE code = 'bytes_behind'"),
              static_cast<int64_t>(behind.size() + 1));
    EXPECT_THAT(m_result.warnings, testing::ElementsAre(testing::HasSubstr("bytes behind the end of the trace")));
  }
}

TEST_F(ImportTest, TimesThatAreNoneAreCounted) {
  const Database& db =
      imported(traceOf({kFirst, kernelEvent("negative", "30", "-5", 3), kernelEvent("nan", "40", "NaN", 4),
                        hostEvent("cpu_op", "negative", "50", "-1"), hostEvent("cpu_op", "no time", "NaN", "1"),
                        hostEvent("cpu_op", "huge", "99999999999999999999", "1"),
                        hostEvent("cpu_op", "as text", "\"12.5\"", "\"1.5\"")}));
  EXPECT_EQ(db.rows("SELECT name, flags, duration_ns FROM kernels ORDER BY start_ns"),
            (std::vector<Database::Row>{{"first", "0", "1000"}, {"negative", "1", "0"}, {"nan", "1", "0"}}));
  EXPECT_EQ(db.rows("SELECT name, start_ns, duration_ns FROM operators"),
            (std::vector<Database::Row>{{"as text", "2500", "1500"}}));
  EXPECT_EQ(db.rows("SELECT code, count FROM diagnostic ORDER BY code"),
            (std::vector<Database::Row>{{"bad_duration", "1"}, {"bad_time", "2"}, {"no_time", "2"}}));
  EXPECT_EQ(m_result.events, 7u);
  EXPECT_EQ(m_result.notStored, 3u);
}

TEST_F(ImportTest, RepeatedGpuEventsAreStoredOnce) {
  const Database& db = imported(traceOf({kFirst, kFirst, kLast, kLast, kLast}));
  EXPECT_EQ(db.number("SELECT count(*) FROM kernel"), 2);
  EXPECT_EQ(db.number("SELECT count FROM diagnostic WHERE code = 'duplicate_event'"), 3);
  EXPECT_EQ(m_result.events, 5u);
  EXPECT_EQ(m_result.notStored, 3u);
}

// One launch of a graph has many kernels, whose times a coarse clock makes equal.
TEST_F(ImportTest, GpuEventsThatDifferInTheirGridOrGraphNodeAreSeveral) {
  const std::string place = R"("device": 0, "stream": 7, "correlation": 1, "grid": )";
  const auto kernel = [&](const std::string& more) {
    return R"({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 5, "args": {)" + place +
           more + "}}";
  };
  const Database& db =
      imported(traceOf({kernel("[1, 1, 1]"), kernel("[2, 2, 2]"), kernel(R"([1, 1, 1], "block": [32, 1, 1])"),
                        kernel(R"([1, 1, 1], "graph node id": 1)"), kernel(R"([1, 1, 1], "graph node id": 2)")}));
  EXPECT_EQ(db.number("SELECT count(*) FROM kernel"), 5);
  EXPECT_EQ(m_result.notStored, 0u);
}

TEST_F(ImportTest, OperatorsThatDifferInTheirShapesAreSeveral) {
  const auto mm = [](const std::string& dims) {
    return hostEvent("cpu_op", "aten::mm", "1", "9", R"({"External id": 1, "Input Dims": )" + dims + "}");
  };
  const Database& db = imported(traceOf({mm("[[2, 3]]"), mm("[[20, 30]]"), mm("[[2, 3]]")}));
  EXPECT_EQ(db.rows("SELECT input_dims FROM operators ORDER BY id"),
            (std::vector<Database::Row>{{"[[2, 3]]"}, {"[[20, 30]]"}}));
  EXPECT_EQ(m_result.notStored, 1u);
}

TEST_F(ImportTest, BytesThatAreNotUtf8BecomeQuestionMarks) {
  const Database& db = imported(traceOf({hostEvent("cpu_op",
                                                   "a\xff\xfe"
                                                   "b",
                                                   "1", "1")}));
  EXPECT_EQ(db.text("SELECT name FROM operators"), "a??b");
  EXPECT_EQ(db.number("SELECT count FROM diagnostic WHERE code = 'not_utf8'"), 1);
}

TEST_F(ImportTest, ArgumentsThatAreNoNumberCostOnlyThemselves) {
  const Database& db =
      imported(traceOf({hostEvent("other", "r", "1", "1", R"({"a": NaN, "b": 3, "c": 18446744073709551615})"),
                        hostEvent("cpu_op", "op", "1", "1", R"({"a": -Infinity, "d": 18446744073709551615})")}));
  EXPECT_EQ(
      db.rows("SELECT text, CAST(value AS INTEGER) > 0 FROM range_payload JOIN string ON id = name_id ORDER BY text"),
      (std::vector<Database::Row>{{"b", "1"}, {"c", "1"}}));
  EXPECT_EQ(db.text("SELECT text FROM operator_argument_set JOIN string ON string.id = other_id"),
            R"({"d": 18446744073709551615})");
  EXPECT_EQ(db.number("SELECT count FROM diagnostic WHERE code = 'not_finite'"), 2);
}

TEST_F(ImportTest, CutJsonGivesEverythingUpToTheCut) {
  std::vector<std::string> events;
  for (int i = 0; i < 20; ++i) events.push_back(kernelEvent("k", std::to_string(100 + 10 * i), "1", i + 1));
  const std::string whole = traceOf(events);
  for (size_t cut = 60; cut < whole.size(); cut += 97) {
    std::filesystem::remove(output());
    size_t complete = 0;
    for (size_t at = 0, seen = 0; complete < events.size(); ++complete) {
      at = whole.find(events[complete], seen);
      seen = at + events[complete].size();
      if (seen > cut) break;
    }
    const auto result = import({write("cut.json", whole.substr(0, cut))});
    ASSERT_EQ(result.ok(), complete > 0) << cut;
    if (!result.ok()) continue;
    const Database db(output());
    EXPECT_EQ(db.number("SELECT count(*) FROM kernel"), static_cast<int64_t>(complete)) << cut;
    EXPECT_EQ(db.number("SELECT count(*) FROM diagnostic WHERE code = 'cut'"), 1) << cut;
  }
}

TEST_F(ImportTest, CutOrDamagedGzipGivesWhatCanBeDecompressed) {
  std::vector<std::string> events;
  for (int i = 0; i < 3000; ++i) {
    events.push_back(kernelEvent(std::string("k").append(std::to_string(i * 7919 % 3000)), std::to_string(100 + 10 * i),
                                 "1", i + 1));
  }
  const std::string packed = gzip(traceOf(events));
  int64_t last = -1;
  for (int share = 0; share < 10; ++share) {
    std::filesystem::remove(output());
    const auto result = import({write("cut.gz", packed.substr(0, packed.size() * static_cast<size_t>(share) / 10))});
    if (!result.ok()) {
      EXPECT_LE(last, 0) << "more data cannot give less";
      continue;
    }
    const Database db(output());
    const int64_t count = db.number("SELECT count(*) FROM kernel");
    EXPECT_GE(count, last);
    EXPECT_EQ(db.number("SELECT count(*) FROM diagnostic WHERE code = 'cut'"), 1);
    last = count;
  }
  EXPECT_GT(last, 2000);
}

// However it got there: the events behind it are read, and one event is counted as damaged.
TEST_F(ImportTest, ABracketTooManyDoesNotEndTheEvents) {
  const std::string head = R"({"ph": "X", "name": "bad", "ts": 5, "dur": 1)";
  for (const std::string& bad : {head + "]}", head + R"(], "args": {"a": 1}})", head + R"(]], "args": {"a": 1}})",
                                 head + R"(, "args": {"a": [1, 2]]}})", head + R"(, "args": {"a": [1, 2]}]})"}) {
    std::filesystem::remove(output());
    const Database& db = imported(traceOf({kFirst, bad, kLast}, R"("distributedInfo": {"rank": 3})"));
    EXPECT_EQ(db.rows("SELECT name FROM kernels ORDER BY start_ns"), (std::vector<Database::Row>{{"first"}, {"last"}}))
        << bad;
    EXPECT_EQ(m_result.damaged, 1u) << bad;
    EXPECT_EQ(db.number("SELECT rank FROM process"), 3) << bad;
    EXPECT_EQ(db.number("SELECT count(*) FROM diagnostic WHERE code IN ('bytes_behind', 'cut')"), 0) << bad;
  }
}

TEST_F(ImportTest, ABracketTooManyBetweenEventsIsCounted) {
  for (const char* stray : {"]", "]}", "], "}) {
    std::filesystem::remove(output());
    const Database& db = imported(traceOf({kFirst + stray, kLast}, R"("distributedInfo": {"rank": 3})"));
    EXPECT_EQ(db.number("SELECT count(*) FROM kernel"), 2) << stray;
    EXPECT_EQ(m_result.damaged, 1u) << stray;
    EXPECT_EQ(db.number("SELECT rank FROM process"), 3) << stray;
  }
}

TEST_F(ImportTest, EventsOfTheHostThatComeTwiceAreStoredOnce) {
  const std::string mm = hostEvent("cpu_op", "aten::mm", "1", "9", R"({"External id": 7})"),
                    addmm = hostEvent("cpu_op", "aten::addmm", "2", "3", R"({"External id": 8})"),
                    call = hostEvent("cuda_runtime", "cudaLaunchKernel", "3", "1", R"({"correlation": 1})"),
                    python = hostEvent("python_function", "f", "1", "9", R"({"Python id": 1})"),
                    range = hostEvent("user_annotation", "forward", "1", "9");
  const std::vector<std::string> once = {mm, addmm, call, python, range, kFirst};
  std::vector<std::string> twice = once;
  twice.insert(twice.end(), once.begin(), once.end());
  const Database& db = imported(traceOf(twice));
  for (const char* table : {"kernel", "api_call", "range", "python_call"}) {
    EXPECT_EQ(db.number(std::string("SELECT count(*) FROM ") + table), 1) << table;
  }
  EXPECT_EQ(db.rows("SELECT o.name, p.name FROM operators o LEFT JOIN operators p ON p.id = o.parent_id ORDER BY o.id"),
            (std::vector<Database::Row>{{"aten::mm", "NULL"}, {"aten::addmm", "aten::mm"}}));
  EXPECT_EQ(db.number("SELECT sum(count) FROM diagnostic WHERE code = 'duplicate_event'"), 6);
  EXPECT_EQ(m_result.notStored, 6u);
}

TEST_F(ImportTest, EqualRangesAreTwoWhereNothingElseComesTwice) {
  const std::string range = hostEvent("user_annotation", "recursion", "1", "9");
  EXPECT_EQ(imported(traceOf({range, range})).number("SELECT count(*) FROM range"), 2);
}

TEST_F(ImportTest, RangesThatDifferInTheirArgumentsAreSeveral) {
  const auto range = [](const std::string& layer) {
    return hostEvent("user_annotation", "forward", "1", "9", R"({"layer": )" + layer + "}");
  };
  const Database& db = imported(traceOf({kFirst, kFirst, range("1"), range("2"), range("1")}));
  EXPECT_EQ(db.rows("SELECT value FROM range_payload ORDER BY rowid"), (std::vector<Database::Row>{{"1"}, {"2"}}));
  EXPECT_EQ(db.number("SELECT count(*) FROM range"), 2);
  EXPECT_EQ(m_result.notStored, 2u);
}

TEST_F(ImportTest, NamesOfMoreThanFourMebibytesAreCut) {
  const std::string name(5u << 20, 'x');
  const Database& db = imported(traceOf({hostEvent("user_annotation", name, "1", "9")}));
  EXPECT_EQ(db.number("SELECT length(CAST(name AS BLOB)) FROM ranges"), 4 << 20);
  EXPECT_EQ(db.number("SELECT count FROM diagnostic WHERE code = 'texts_cut'"), 1);
}

}  // namespace
}  // namespace plumb::test
