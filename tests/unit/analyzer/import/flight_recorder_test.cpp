// SPDX-License-Identifier: Apache-2.0
// Flight-recorder dumps of PyTorch, and what they say about a run that hangs.
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <tuple>

#include "analyzer/analyses/stuck_collectives.h"
#include "analyzer/analyses/stuck_words.h"
#include "analyzer/trace/trace.h"
#include "tests/unit/analyzer/import/pickle_writer.h"
#include "tests/unit/analyzer/import/support.h"

namespace plumb::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Json = nlohmann::ordered_json;
using Rows = std::vector<Database::Row>;

constexpr int64_t kT = 1'700'000'000'000'000'000;

Json entry(int64_t sequence, const std::string& name, const std::string& state, int64_t afterNs = 0) {
  return {{"record_id", sequence},
          {"pg_id", 1},
          {"process_group", Json::array({"7", "TENSOR"})},
          {"collective_seq_id", sequence},
          {"p2p_seq_id", 0},
          {"is_p2p", false},
          {"op_id", sequence},
          {"profiling_name", name},
          {"input_sizes", Json::array({Json::array({4, 8})})},
          {"output_sizes", Json::array({Json::array({8, 8})})},
          {"input_dtypes", Json::array({"BFloat16"})},
          {"output_dtypes", Json::array({"BFloat16"})},
          {"time_created_ns", kT + afterNs},
          {"time_discovered_started_ns", nullptr},
          {"time_discovered_completed_ns", nullptr},
          {"timeout_ms", 600000},
          {"state", state},
          {"frames", Json::array({{{"name", "forward"}, {"filename", "/home/user/model.py"}, {"line", 9}}})}};
}
Json transfer(const std::string& name, int64_t sequence) {
  Json value = entry(0, name, "scheduled");
  value["is_p2p"] = true;
  value["p2p_seq_id"] = sequence;
  return value;
}
// Of a group of ranks 0 and 1.
Json dump(Json entries, int64_t lastEnqueued, int64_t lastCompleted) {
  return {{"version", "2.9"},
          {"pg_config", {{"7", {{"name", "7"}, {"desc", "TENSOR"}, {"ranks", "[0, 1]"}}}}},
          {"nccl_version", "2.27.3"},
          {"pg_status",
           {{"1",
             {{"last_enqueued_collective", lastEnqueued},
              {"last_started_collective", -1},
              {"last_completed_collective", lastCompleted}}}}},
          {"entries", std::move(entries)}};
}

class FlightRecorderTest : public ImportTest {
 protected:
  // One dump per rank, from 0.
  StuckAnalysis stuckIn(const std::vector<Json>& dumps) {
    std::vector<std::string> files;
    for (size_t i = 0; i < dumps.size(); ++i) {
      files.push_back(write("nccl_trace_rank_" + std::to_string(i), pickled(dumps[i], 2)));
    }
    const auto result = import(files);
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
    auto trace = Trace::open(output());
    EXPECT_TRUE(trace.ok()) << (trace.ok() ? "" : trace.error().message);
    if (!trace.ok()) return {};
    auto analysis = analyzeStuckCollectives(trace.value());
    EXPECT_TRUE(analysis.ok());
    return analysis.ok() ? std::move(analysis).value() : StuckAnalysis();
  }
};

// The form is no difference: of a run of two ranks none is missing.
TEST_F(FlightRecorderTest, DumpsInJsonAndPickledAreOfOneRun) {
  const Json value = dump(Json::array({entry(1, "nccl:all_reduce", "completed")}), 1, 1);
  const auto both =
      import({write("nccl_trace_rank_0.json", value.dump()), write("nccl_trace_rank_1", pickled(value, 2))});
  ASSERT_TRUE(both.ok()) << both.error().message;
  EXPECT_THAT(both.value().warnings, IsEmpty());
}

TEST_F(FlightRecorderTest, EntriesBecomeCollectivesWithStates) {
  const std::string text = pickled(dump(Json::array({entry(5, "nccl:_all_gather_base", "scheduled", 300)}), 5, 4), 2);
  const auto result = import({write("dump_1", text)});
  ASSERT_TRUE(result.ok()) << result.error().message;
  const Database db(output());
  EXPECT_EQ(db.rows("SELECT rank, operation, communicator_name, n_ranks, communicator_rank, sequence, datatype,"
                    " element_count, bytes FROM collectives"),
            (Rows{{"1", "AllGather", "7 TENSOR", "2", "1", "5", "ncclBfloat16", "32", "128"}}));
  EXPECT_EQ(db.rows("SELECT n.text, state, p2p_sequence, timeout_ns, i.text, k.text FROM collective_state s"
                    " JOIN string n ON n.id = s.name_id JOIN string i ON i.id = input_sizes_id"
                    " JOIN stack t ON t.id = stack_id JOIN string k ON k.id = t.name_id"),
            (Rows{{"nccl:_all_gather_base", "scheduled", "NULL", "600000000000", "4x8", "model.py:9 forward"}}));
  EXPECT_EQ(db.rows("SELECT last_enqueued, last_started, last_completed FROM communicator_state"),
            (Rows{{"5", "NULL", "4"}}));
  EXPECT_EQ(db.rows("SELECT position, rank FROM communicator_member ORDER BY 1"), (Rows{{"0", "0"}, {"1", "1"}}));
  EXPECT_EQ(db.text("SELECT value FROM meta WHERE key = 'session_start_realtime_ns'"), std::to_string(kT + 300));
}

TEST_F(FlightRecorderTest, JsonSaysTheSame) {
  Json value = dump(Json::array({entry(5, "nccl:all_reduce", "completed")}), 0, 0);
  value["pg_status"]["1"] = {{"last_enqueued_collective", "5"}, {"last_completed_collective", "5"}};
  const Database& db = imported(value.dump());
  EXPECT_EQ(db.rows("SELECT operation, bytes FROM collectives"), (Rows{{"AllReduce", "64"}}));
  EXPECT_EQ(db.rows("SELECT last_enqueued, last_completed FROM communicator_state"), (Rows{{"5", "5"}}));
}

TEST_F(FlightRecorderTest, ARankThatNeverCalledIsMissing) {
  const auto stuck = stuckIn({dump(Json::array({entry(5, "nccl:all_reduce", "scheduled", 1000)}), 5, 4),
                              dump(Json::array({entry(4, "nccl:all_reduce", "completed")}), 4, 4)});
  ASSERT_EQ(stuck.collectives.size(), 1u);
  const StuckCollective& found = stuck.collectives[0];
  EXPECT_EQ(found.kind, StuckKind::NeverCalled);
  EXPECT_EQ(found.group, "7");
  EXPECT_EQ(found.operation, "nccl:all_reduce");
  EXPECT_EQ(found.sequence, 5);
  EXPECT_THAT(found.missing, ElementsAre(1));
  EXPECT_THAT(found.waiting, ElementsAre(0));
  EXPECT_EQ(found.place, "model.py:9 forward");
  ASSERT_TRUE(found.since);
  EXPECT_EQ(found.since->ns(), 1000);
  ASSERT_EQ(stuck.suspects.size(), 1u);
  EXPECT_EQ(stuck.suspects[0].rank, 1);
}

TEST_F(FlightRecorderTest, ARankThatDidNotCompleteWhatOthersDidIsMissing) {
  const auto stuck = stuckIn({dump(Json::array({entry(5, "nccl:all_reduce", "scheduled")}), 5, 4),
                              dump(Json::array({entry(6, "nccl:all_reduce", "scheduled")}), 6, 5)});
  ASSERT_EQ(stuck.collectives.size(), 2u);
  EXPECT_EQ(stuck.collectives[0].kind, StuckKind::HeldBack);
  EXPECT_EQ(stuck.collectives[0].sequence, 5);
  EXPECT_THAT(stuck.collectives[0].missing, ElementsAre(0));
  EXPECT_THAT(stuck.collectives[0].completed, ElementsAre(1));
  EXPECT_EQ(stuck.collectives[1].kind, StuckKind::NeverCalled);
  EXPECT_EQ(stuck.collectives[1].sequence, 6);
  EXPECT_THAT(stuck.collectives[1].missing, ElementsAre(0));
}

TEST_F(FlightRecorderTest, DifferentOperationsUnderOneNumberAreTold) {
  const auto stuck = stuckIn({dump(Json::array({entry(5, "nccl:all_reduce", "started")}), 5, 4),
                              dump(Json::array({entry(5, "nccl:broadcast", "started")}), 5, 4)});
  ASSERT_EQ(stuck.collectives.size(), 1u);
  EXPECT_EQ(stuck.collectives[0].kind, StuckKind::CalledDifferently);
  EXPECT_EQ(stuck.collectives[0].missing.size(), 1u);
}

TEST_F(FlightRecorderTest, AnotherDataTypeUnderOneNumberIsTold) {
  Json half = entry(5, "nccl:all_reduce", "started");
  half["input_dtypes"] = half["output_dtypes"] = Json::array({"Half"});
  const Json same = entry(5, "nccl:all_reduce", "started");
  const auto stuck = stuckIn({dump(Json::array({same}), 5, 4), dump(Json::array({half}), 5, 4)});
  ASSERT_EQ(stuck.collectives.size(), 1u);
  EXPECT_EQ(stuck.collectives[0].kind, StuckKind::CalledDifferently);
  EXPECT_THAT(stuck.collectives[0].reason, testing::HasSubstr("ncclFloat16"));
  EXPECT_THAT(stuck.collectives[0].reason, testing::HasSubstr("ncclBfloat16"));
}

TEST_F(FlightRecorderTest, WhenAllCalledItNobodyIsMissing) {
  const auto stuck = stuckIn({dump(Json::array({entry(5, "nccl:all_reduce", "started")}), 5, 4),
                              dump(Json::array({entry(5, "nccl:all_reduce", "scheduled")}), 5, 4)});
  ASSERT_EQ(stuck.collectives.size(), 1u);
  EXPECT_EQ(stuck.collectives[0].kind, StuckKind::Waiting);
  EXPECT_THAT(stuck.collectives[0].missing, IsEmpty());
  EXPECT_THAT(stuck.suspects, IsEmpty());
}

TEST_F(FlightRecorderTest, OfARankWithoutADumpNothingIsSaid) {
  const auto stuck = stuckIn({dump(Json::array({entry(5, "nccl:all_reduce", "scheduled")}), 5, 4)});
  ASSERT_EQ(stuck.collectives.size(), 1u);
  EXPECT_EQ(stuck.collectives[0].kind, StuckKind::CannotSay);
  EXPECT_THAT(stuck.collectives[0].unknown, ElementsAre(1));
  EXPECT_THAT(stuck.collectives[0].missing, IsEmpty());
}

TEST_F(FlightRecorderTest, SendsAreMatchedWithTheirReceives) {
  const auto stuck = stuckIn({dump(Json::array({transfer("nccl:send 0->1", 3), transfer("nccl:recv 0<-1", 4)}), 4, 2),
                              dump(Json::array({transfer("nccl:recv 1<-0", 8)}), 8, 7)});
  ASSERT_EQ(stuck.collectives.size(), 2u);
  EXPECT_EQ(stuck.collectives[0].operation, "nccl:send 0->1");
  EXPECT_EQ(stuck.collectives[0].kind, StuckKind::Waiting);
  EXPECT_THAT(stuck.collectives[0].waiting, ElementsAre(0, 1));
  EXPECT_EQ(stuck.collectives[1].operation, "nccl:recv 0<-1");
  EXPECT_EQ(stuck.collectives[1].kind, StuckKind::CannotSay);
  EXPECT_THAT(stuck.collectives[1].unknown, ElementsAre(1));
  const auto& entries = stuck.collectives[0].entries;
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries.at(0).operation + " " + std::to_string(entries.at(0).sequence), "nccl:send 0->1 3");
  EXPECT_EQ(entries.at(1).operation + " " + std::to_string(entries.at(1).sequence), "nccl:recv 1<-0 8");
}

TEST_F(FlightRecorderTest, OfARankIsSaidWhatItCalledFirstItself) {
  const auto stuck = stuckIn({dump(Json::array({transfer("nccl:send 0->1", 3)}), 3, 2),
                              dump(Json::array({entry(6, "nccl:all_reduce", "scheduled", 10),
                                                transfer("nccl:recv 1<-0", 8), transfer("nccl:recv 1<-0", 9)}),
                                   8, 5)});
  ASSERT_TRUE(stuck.firstOpen.contains(1));
  EXPECT_EQ(stuck.firstOpen.at(1).entry.operation, "nccl:all_reduce");
  EXPECT_EQ(stuck.firstOpen.at(1).entry.sequence, 6);
  EXPECT_EQ(stuck.firstOpen.at(1).group, "7");
  EXPECT_EQ(stuck.firstOpen.at(0).entry.operation, "nccl:send 0->1");
}

TEST_F(FlightRecorderTest, AHealthyRunHasNothingStuck) {
  const auto stuck = stuckIn({dump(Json::array({entry(5, "nccl:all_reduce", "completed")}), 5, 5),
                              dump(Json::array({entry(5, "nccl:all_reduce", "completed")}), 5, 5)});
  EXPECT_TRUE(stuck.hasStates);
  EXPECT_THAT(stuck.collectives, IsEmpty());
}

TEST_F(FlightRecorderTest, ATraceWithoutStatesSaysNothing) {
  (void)imported(traceOf({kernelEvent("k", "1", "1", 1)}));
  auto trace = Trace::open(output());
  ASSERT_TRUE(trace.ok());
  const auto stuck = analyzeStuckCollectives(trace.value());
  ASSERT_TRUE(stuck.ok());
  EXPECT_FALSE(stuck.value().hasStates);
}

TEST_F(FlightRecorderTest, DumpsOfTheFirstVersionsAreRead) {
  Json old = {{"pg_id", 0},           {"seq_id", 12},          {"profiling_name", "nccl:all_reduce"},
              {"state", "scheduled"}, {"time_created_ns", kT}, {"input_sizes", Json::array({Json::array({3})})}};
  const Database& db = imported(pickled(Json::array({old}), 2));
  EXPECT_EQ(db.rows("SELECT sequence, operation, element_count, bytes FROM collectives"),
            (Rows{{"12", "AllReduce", "3", "0"}}));
}

TEST_F(FlightRecorderTest, WhatNewerVersionsAddIsKeptOrNamed) {
  Json value = dump(Json::array({entry(1, "nccl:all_reduce", "scheduled")}), 2, 0);
  value["version"] = "2.10";
  value["comm_lib_version"] = "2.27.5";
  value["rank"] = 1;
  value["nccl_comm_state"] = {{"0xab", {{"rank", 1}}}};
  const Database& db = imported(pickled(value, 2));
  EXPECT_EQ(db.rows("SELECT n.text, v.text FROM process_variable p JOIN string n ON n.id = p.name_id JOIN string v ON "
                    "v.id = p.value_id WHERE n.text LIKE 'trace.%version' ORDER BY 1"),
            (Rows{{"trace.comm_lib_version", "2.27.5"}, {"trace.nccl_version", "2.27.3"}, {"trace.version", "2.10"}}));
  EXPECT_EQ(db.text("SELECT rank FROM process"), "1");
  EXPECT_THAT(db.text("SELECT message FROM diagnostic WHERE code = 'members_not_stored'"),
              testing::HasSubstr("nccl_comm_state"));
}

TEST_F(FlightRecorderTest, DamagedEntriesCostThemselves) {
  Json huge = entry(1, "nccl:all_reduce", "scheduled");
  huge["input_sizes"] = Json::array({Json::array({int64_t{1} << 62, int64_t{1} << 62}), -1, "x"});
  huge["time_created_ns"] = -3;
  const Database& db = imported(pickled(
      dump(Json::array({17, Json::object(), {{"state", "started"}}, huge, entry(2, "nccl:magic", "scheduled")}), 2, 0),
      2));
  EXPECT_EQ(db.rows("SELECT operation, element_count FROM collectives ORDER BY id"),
            (Rows{{"AllReduce", "0"}, {"nccl:magic", "32"}}));
  EXPECT_EQ(db.rows("SELECT code, count FROM diagnostic ORDER BY code"),
            (Rows{{"bad_sizes", "1"}, {"bad_time", "1"}, {"damaged_event", "3"}, {"rank_unknown", "1"}}));
  EXPECT_EQ(m_result.notStored, 3u) << "an entry without a time is stored";
}

TEST_F(FlightRecorderTest, EntriesBehindDamageInTheJsonAreRead) {
  const std::string whole =
      dump(Json::array({entry(1, "nccl:all_reduce", "completed"), entry(2, "nccl:broadcast", "completed"),
                        entry(3, "nccl:all_gather", "scheduled")}),
           3, 2)
          .dump();
  // A byte of the head, of the second entry, of its frames.
  const size_t second = whole.find("broadcast");
  for (const auto& [place, byte, kept] : {std::tuple(size_t{0}, 'x', 3),
                                          {size_t{1}, 'x', 3},
                                          {size_t{10}, '"', 3},
                                          {second + 11, ';', 2},
                                          {whole.find("filename", second) + 9, '{', 2},
                                          {whole.find("{\"record_id\":2"), '(', 2}}) {
    std::filesystem::remove(output());
    std::string text = whole;
    text[place] = byte;
    const Database& db = imported(text);
    EXPECT_EQ(db.number("SELECT count(*) FROM collective"), kept) << place;
    EXPECT_EQ(m_result.damaged, 1u) << place;
    EXPECT_EQ(db.number("SELECT count(*) FROM diagnostic WHERE code = 'cut'"), 0) << place;
    EXPECT_EQ(db.number("SELECT n_ranks FROM communicator"), 2) << place;
  }
}

TEST_F(FlightRecorderTest, CharactersOfJsonThatAreNoneCostOnlyThemselves) {
  const std::string name =
      "nccl:all_\xff"
      "reduce";
  std::string text = dump(Json::array({entry(1, "nccl:all_reduce", "completed"), entry(2, "NAME", "completed"),
                                       entry(3, "nccl:\\ud800", "completed")}),
                          3, 3)
                         .dump();
  text.replace(text.find("NAME"), 4, name);
  text.replace(text.find("\\\\ud800"), 2, "\\");
  const Database& db = imported(text);
  EXPECT_EQ(db.number("SELECT count(*) FROM collective"), 3);
  EXPECT_EQ(db.number("SELECT count FROM diagnostic WHERE code = 'unusable_character'"), 2);
  EXPECT_THAT(db.text("SELECT message FROM diagnostic WHERE code = 'unusable_character'"),
              HasSubstr("at byte " + std::to_string(text.find('\xff'))));
  EXPECT_EQ(m_result.damaged, 0u);
}

TEST_F(FlightRecorderTest, CutAnywhereGivesTheEntriesBefore) {
  const Json whole =
      dump(Json::array({entry(5, "nccl:all_reduce", "scheduled"), entry(6, "nccl:all_reduce", "scheduled")}), 6, 4);
  for (const std::string& text : {pickled(whole, 2), whole.dump()}) {
    int64_t last = 0;
    for (size_t length = 2; length < text.size(); length += 61) {
      std::filesystem::remove(output());
      const auto result = import({write("rank0", text.substr(0, length))});
      if (!result.ok()) {
        EXPECT_THAT(result.error().message, HasSubstr("rank0"));
        EXPECT_EQ(last, 0);
        continue;
      }
      const Database db(output());
      EXPECT_EQ(db.number("SELECT count(*) FROM diagnostic WHERE code = 'cut'"), 1) << length;
      const int64_t count = db.number("SELECT count(*) FROM collective");
      EXPECT_GE(count, last) << length;
      last = count;
    }
    EXPECT_GE(last, 1);
  }
}

TEST_F(FlightRecorderTest, RealDumpsOfAnInjectedFaultNameItsRanks) {
  const char* folder = std::getenv("PLUMB_TEST_TRACES");
  if (folder == nullptr || *folder == 0) GTEST_SKIP() << "PLUMB_TEST_TRACES names no folder of recordings";
  std::vector<std::string> files;
  for (int rank = 0; rank < 16; ++rank) {
    files.push_back(std::string(folder) + "/nccl/flight_recorder_gpu_error/_dump_" + std::to_string(rank));
  }
  const auto result = import(files);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result.value().damaged, 0u);
  auto trace = Trace::open(output());
  ASSERT_TRUE(trace.ok());
  const auto stuck = analyzeStuckCollectives(trace.value());
  ASSERT_TRUE(stuck.ok());
  const auto missingIn = [&](const std::string& group, StuckKind kind) {
    for (const StuckCollective& found : stuck.value().collectives) {
      if (found.group == group && found.kind == kind) return found.operation + " " + rankList(found.missing);
    }
    return std::string("none");
  };
  EXPECT_EQ(missingIn("74", StuckKind::HeldBack), "nccl:all_to_all 12 14");
  EXPECT_EQ(missingIn("42", StuckKind::HeldBack), "nccl:_all_gather_base 14");
  EXPECT_EQ(missingIn("74", StuckKind::NeverCalled), "nccl:all_to_all 12");
  ASSERT_EQ(stuck.value().suspects.size(), 2u);
  EXPECT_EQ(stuck.value().suspects[0].rank + stuck.value().suspects[1].rank, 12 + 14);
  // What these two ranks sent and received later has other numbers on the other end.
  EXPECT_THAT(suspectSentences(stuck.value()),
              AllOf(HasSubstr("rank 12: 5 process groups wait for it; the first that it has itself called and not "
                              "completed is nccl:_all_gather_base 42806 of process group 41."),
                    HasSubstr("nccl:_all_gather_base 42806 of process group 42."), Not(HasSubstr("nccl:send"))));
}

}  // namespace
}  // namespace plumb::test
