// SPDX-License-Identifier: Apache-2.0
// PyTorch's CUDA memory snapshots: what was live when, who allocated it, what is reserved; old and new form.
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>

#include "analyzer/analyses/memory.h"
#include "analyzer/trace/trace.h"
#include "tests/unit/analyzer/import/pickle_writer.h"
#include "tests/unit/analyzer/import/support.h"

namespace plumb::test {
namespace {

using testing::HasSubstr;
using Json = nlohmann::ordered_json;
using Rows = std::vector<Database::Row>;

Json frames(const std::string& file, int line, const std::string& function) {
  return Json::array({{{"name", "empty"}, {"filename", "/usr/lib/python3/site-packages/torch/_refs.py"}, {"line", 7}},
                      {{"name", function}, {"filename", "/home/user/" + file}, {"line", line}}});
}
Json event(const std::string& action, int64_t address, int64_t size, int64_t us, Json stack = Json::array()) {
  return {{"action", action}, {"addr", address}, {"size", size},
          {"stream", 0},      {"time_us", us},   {"frames", std::move(stack)}};
}
Json block(int64_t address, int64_t size, const std::string& state, int64_t requested) {
  return {{"address", address},
          {"size", size},
          {"requested_size", requested},
          {"state", state},
          {"frames", frames("model.py", 30, "forward")}};
}
Json segment(int64_t address, int64_t size, Json blocks) {
  return {{"device", 0}, {"address", address}, {"total_size", size},     {"allocated_size", 0},
          {"stream", 0}, {"blocks", blocks},   {"segment_type", "large"}};
}
Json snapshot(Json segments, Json events) {
  return {{"segments", std::move(segments)}, {"device_traces", Json::array({std::move(events)})}};
}

constexpr int64_t kT = 1'700'000'000'000'000;  // microseconds

class SnapshotTest : public ImportTest {
 protected:
  const Database& snapshotOf(const Json& value) { return imported(pickled(value)); }
};

TEST_F(SnapshotTest, HistoryAndStateAtTheEndMeet) {
  const Database& db = snapshotOf(snapshot(
      Json::array(
          {segment(4096, 8192,
                   Json::array({block(4096, 2048, "active_allocated", 2000),
                                block(6144, 4096, "active_allocated", 4096), block(10240, 2048, "inactive", 0)}))}),
      Json::array({event("free_requested", 9000, 512, kT), event("free_completed", 9000, 512, kT + 1),
                   event("alloc", 6144, 4096, kT + 10, frames("train.py", 12, "step")),
                   event("snapshot", 0, 0, kT + 20)})));
  EXPECT_EQ(
      db.rows("SELECT address, bytes, start_ns, freed_ns FROM allocations WHERE space = 'device' ORDER BY address"),
      (Rows{{"4096", "2048", "0", "NULL"}, {"6144", "4096", "10000", "NULL"}, {"9000", "512", "0", "0"}}));
  EXPECT_EQ(db.rows("SELECT address, bytes, start_ns FROM allocations WHERE space = 'reserved'"),
            (Rows{{"4096", "8192", "0"}}));
  EXPECT_EQ(db.rows("SELECT s.text FROM allocation a JOIN allocation_detail d ON d.allocation_id = a.id"
                    " JOIN stack k ON k.id = d.stack_id JOIN string s ON s.id = k.name_id ORDER BY address"),
            (Rows{{"model.py:30 forward"}, {"train.py:12 step"}}));
  EXPECT_EQ(db.number("SELECT requested_bytes FROM allocation_detail JOIN allocation ON id = allocation_id"
                      " WHERE address = 4096"),
            2000);
  EXPECT_EQ(db.rows("SELECT f.text, depth, line FROM stack_frame JOIN string f ON f.id = function_id"
                    " JOIN stack k ON k.id = stack_id JOIN string n ON n.id = k.name_id"
                    " WHERE n.text = 'train.py:12 step' ORDER BY depth"),
            (Rows{{"empty", "0", "7"}, {"step", "1", "12"}}));
  EXPECT_EQ(m_result.events, 8u);
  EXPECT_EQ(m_result.notStored, 2u) << "the completed free and the inactive block, both counted";
  EXPECT_EQ(db.rows("SELECT code, count FROM diagnostic WHERE code IN ('free_completed', 'inactive_block') ORDER BY 1"),
            (Rows{{"free_completed", "1"}, {"inactive_block", "1"}}));
}

TEST_F(SnapshotTest, AllocatedAndReservedAreDifferentSeries) {
  (void)snapshotOf(snapshot(
      Json::array(), Json::array({event("segment_alloc", 4096, 8192, kT), event("alloc", 4096, 2048, kT + 1),
                                  event("alloc", 6144, 1024, kT + 2), event("free_requested", 4096, 2048, kT + 3),
                                  event("segment_free", 4096, 8192, kT + 9)})));
  auto trace = Trace::open(output());
  ASSERT_TRUE(trace.ok());
  const auto memory = analyzeMemory(trace.value());
  ASSERT_TRUE(memory.ok());
  ASSERT_EQ(memory.value().devices.size(), 1u);
  EXPECT_EQ(memory.value().devices[0].peak.totalBytes, 3072);
  EXPECT_EQ(memory.value().devices[0].reservedPeakBytes, 8192);
}

TEST_F(SnapshotTest, ExpandableSegmentsAreMappedAndUnmappedInParts) {
  const Database& db = snapshotOf(
      snapshot(Json::array(), Json::array({event("segment_map", 1000, 100, kT), event("segment_map", 1100, 100, kT + 1),
                                           event("segment_unmap", 1050, 100, kT + 2)})));
  EXPECT_EQ(db.rows("SELECT address, bytes, start_ns, freed_ns FROM allocations ORDER BY address, start_ns"),
            (Rows{{"1000", "100", "0", "2000"},
                  {"1000", "50", "2000", "NULL"},
                  {"1100", "100", "1000", "2000"},
                  {"1150", "50", "2000", "NULL"}}));
}

TEST_F(SnapshotTest, WhatIsNotStoredIsNamed) {
  Json value = snapshot(Json::array(), Json::array({event("alloc", 4096, 512, kT), event("alloc", 8192, 512, kT + 1)}));
  value["device_traces"][0][1]["user_metadata"] = "encoder";
  value["user_traces"] = Json::array({1});
  value["cublas_workspaces"] = {{"0", 4096}};
  value["nothing"] = Json::array();
  const Database& db = snapshotOf(value);
  EXPECT_EQ(db.number("SELECT count(*) FROM allocations"), 2);
  EXPECT_EQ(db.rows("SELECT code, count FROM diagnostic ORDER BY code"),
            (Rows{{"members_not_stored", "2"}, {"texts_not_stored", "1"}}));
  EXPECT_THAT(db.text("SELECT message FROM diagnostic WHERE code = 'members_not_stored'"),
              HasSubstr("also holds user_traces, cublas_workspaces, which is not stored"));
}

TEST_F(SnapshotTest, RunningOutOfMemoryIsSaidAndMarked) {
  Json oom = {{"action", "oom"}, {"device_free", 1 << 20}, {"size", int64_t{3} << 30},
              {"stream", 0},     {"time_us", kT + 5},      {"frames", frames("model.py", 44, "attention")}};
  const Database& db = snapshotOf(snapshot(Json::array(), Json::array({event("alloc", 4096, 512, kT), oom})));
  const std::string text =
      "out of memory: 3.00 GiB were asked for, 1.00 MiB were free on device 0, at model.py:44 attention";
  EXPECT_EQ(db.rows("SELECT name, kind, start_ns FROM ranges"), (Rows{{text, "mark", "5000"}}));
  EXPECT_EQ(db.text("SELECT message FROM diagnostic WHERE code = 'out_of_memory'"), "The program ran " + text + ".");
}

TEST_F(SnapshotTest, BlocksThatWaitForAnotherStreamAreApart) {
  const Database& db = snapshotOf(
      snapshot(Json::array({segment(4096, 2048, Json::array({block(4096, 2048, "active_pending_free", 2048)}))}),
               Json::array({event("alloc", 4096, 2048, kT), event("free_requested", 4096, 2048, kT + 4)})));
  EXPECT_EQ(db.rows("SELECT space, start_ns, freed_ns FROM allocations WHERE space <> 'reserved' ORDER BY space"),
            (Rows{{"device", "0", "4000"}, {"pending_free", "4000", "NULL"}}));
}

TEST_F(SnapshotTest, OldFormHasNoTimesAndNoAddresses) {
  Json segments = Json::array({segment(4096, 3072, Json::array())});
  segments[0]["blocks"] = Json::array(
      {{{"size", 1024},
        {"state", "active_allocated"},
        {"history", Json::array({{{"addr", 4096}, {"real_size", 1000}, {"frames", frames("old.py", 3, "main")}}})}},
       {{"size", 2048}, {"state", "active_allocated"}}});
  for (const Json& root : {snapshot(segments, Json::array()), segments}) {
    std::filesystem::remove(output());
    const Database& db = snapshotOf(root);
    EXPECT_EQ(db.rows("SELECT address, bytes FROM allocation WHERE space = 'device' ORDER BY address"),
              (Rows{{"4096", "1024"}, {"5120", "2048"}}));
    EXPECT_EQ(db.rows("SELECT requested_bytes, s.text FROM allocation_detail d JOIN stack k ON k.id = d.stack_id"
                      " JOIN string s ON s.id = k.name_id"),
              (Rows{{"1000", "old.py:3 main"}}));
  }
}

TEST_F(SnapshotTest, AnnotationsBecomeRanges) {
  Json value = snapshot(Json::array(), Json::array({event("alloc", 4096, 512, kT)}));
  value["external_annotations"] =
      Json::array({{{"device", 0}, {"time_us", kT + 1}, {"name", "step"}, {"stage", "START"}},
                   {{"device", 0}, {"time_us", kT + 7}, {"name", "step"}, {"stage", "END"}},
                   {{"device", 0}, {"time_us", kT + 9}, {"name", "late"}, {"stage", "START"}}});
  EXPECT_EQ(snapshotOf(value).rows("SELECT name, start_ns, duration_ns FROM ranges ORDER BY start_ns"),
            (Rows{{"step", "1000", "6000"}, {"late", "9000", "NULL"}}));
}

TEST_F(SnapshotTest, AnnotationsFromBeforeTheRingOfEventsBeginStay) {
  Json value = snapshot(Json::array(), Json::array({event("alloc", 4096, 512, kT + 500)}));
  value["external_annotations"] = {{{"name", "warm-up"}, {"stage", "START"}, {"time_us", kT}, {"device", 0}},
                                   {{"name", "warm-up"}, {"stage", "END"}, {"time_us", kT + 100}, {"device", 0}}};
  const Database& db = snapshotOf(value);
  EXPECT_EQ(db.rows("SELECT name, start_ns, duration_ns FROM ranges"), (Rows{{"warm-up", "0", "100000"}}));
  EXPECT_EQ(db.text("SELECT start_ns FROM allocation"), "500000");
  EXPECT_EQ(m_result.notStored, 0u);
}

TEST_F(SnapshotTest, AnnotationsWithoutAPlaceAreCounted) {
  Json untimed = event("alloc", 4096, 512, 0);
  untimed.erase("time_us");
  Json value = snapshot(Json::array(), Json::array({untimed}));
  value["external_annotations"] = {{{"name", "step"}, {"stage", "START"}, {"time_us", kT}, {"device", 0}}};
  const Database& db = snapshotOf(value);
  EXPECT_EQ(db.number("SELECT sum(count) FROM diagnostic WHERE message LIKE '1 annotation %'"), 1);
  EXPECT_EQ(m_result.events, 2u);
  EXPECT_EQ(m_result.notStored, 1u);
}

// Actions that later versions add: what the user recorded is a mark, the rest is counted.
TEST_F(SnapshotTest, NewerActionsAreMarksOrCounted) {
  Json user = event("user_defined", 0, 0, kT + 5);
  user["user_metadata"] = "checkpoint saved";
  const Database& db = snapshotOf(snapshot(
      Json::array(), Json::array({event("alloc", 4096, 512, kT), user, event("something_new", 0, 0, kT + 6)})));
  EXPECT_EQ(db.rows("SELECT name, start_ns FROM ranges"), (Rows{{"checkpoint saved", "5000"}}));
  EXPECT_EQ(db.text("SELECT count FROM diagnostic WHERE code = 'other_action'"), "1");
}

TEST_F(SnapshotTest, SettingsOfTheAllocatorAreKept) {
  Json value = snapshot(Json::array(), Json::array({event("alloc", 4096, 512, kT)}));
  value["allocator_settings"] = {{"PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True"},
                                 {"max_split_size", -1},
                                 {"expandable_segments", true},
                                 {"roundup_power2_divisions", {{"1", 0}, {"64", 2}}}};
  EXPECT_EQ(
      snapshotOf(value).rows("SELECT n.text, v.text FROM process_variable p JOIN string n ON n.id = p.name_id "
                             "JOIN string v ON v.id = p.value_id WHERE n.text LIKE 'trace.allocator%' ORDER BY 1"),
      (Rows{{"trace.allocator_settings.PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True"},
            {"trace.allocator_settings.expandable_segments", "True"},
            {"trace.allocator_settings.max_split_size", "-1"},
            {"trace.allocator_settings.roundup_power2_divisions.1", "0"},
            {"trace.allocator_settings.roundup_power2_divisions.64", "2"}}));
}

TEST_F(SnapshotTest, DamagedEventsCostThemselves) {
  const Database& db = snapshotOf(snapshot(
      Json::array({segment(4096, 2048, Json::array({block(4096, -1, "active_allocated", 1), 17, Json::object()})), 3}),
      Json::array({event("alloc", -5, 512, kT), event("alloc", 4096, int64_t{1} << 60, kT), "text", Json::array(),
                   event("alloc", 4096, 512, -7), event("grow", 4096, 512, kT), event("alloc", 8192, 256, kT + 1)})));
  EXPECT_EQ(db.rows("SELECT address, bytes FROM allocation WHERE space = 'device'"), (Rows{{"8192", "256"}}));
  EXPECT_EQ(db.rows("SELECT code, count FROM diagnostic WHERE code <> 'freed_unseen' ORDER BY code"),
            (Rows{{"damaged_block", "4"}, {"damaged_event", "5"}, {"other_action", "1"}}));
  EXPECT_EQ(m_result.damaged, 9u);
}

TEST_F(SnapshotTest, ASharedEventCountsOnce) {
  // [e, e, …] with one dictionary behind all references.
  const std::string one = pickled(event("alloc", 4096, 512, kT), 2);
  const std::string dict = one.substr(2, one.size() - 3);
  std::string bytes = "\x80\x02}(X\x0d" + std::string("\0\0\0", 3) + "device_traces](](" + dict + "q\xF0";
  for (int i = 0; i < 99; ++i) bytes += "h\xF0";
  const Database& db = imported(bytes + "eeu.");
  EXPECT_EQ(db.number("SELECT count(*) FROM allocation"), 1);
  EXPECT_EQ(db.number("SELECT count FROM diagnostic WHERE code = 'repeated'"), 99);
}

TEST_F(SnapshotTest, RefusesWhatIsMoreThanData) {
  EXPECT_THAT(errorOf("\x80\x02"
                      "cbuiltins\nprint\n."),
              HasSubstr("the opcode GLOBAL at byte 2"));
  EXPECT_THAT(errorOf(pickledText(R"({"weights": [1, 2, 3]})")), HasSubstr("is a Python pickle, but neither"));
  EXPECT_THAT(errorOf("\x80\x04"), HasSubstr("ends early, at byte 2"));
}

// A wrong bit can make any opcode of another.
TEST_F(SnapshotTest, WhatIsBeforeAnOpcodeThatIsRefusedStays) {
  Json events = Json::array();
  for (int i = 0; i < 6; ++i) events.push_back(event("alloc", 4096 + 512 * i, 512, kT + i));
  std::string bytes = pickled(snapshot(Json::array({segment(4096, 4096, Json::array())}), events));
  const size_t last = bytes.rfind("action");
  bytes.replace(last - 5, 1, "c");
  const Database& db = imported(bytes);
  EXPECT_EQ(db.number("SELECT count(*) FROM allocation WHERE space = 'device'"), 5);
  EXPECT_THAT(db.text("SELECT message FROM diagnostic WHERE code = 'cut' AND severity = 'error'"),
              HasSubstr("the opcode GLOBAL at byte " + std::to_string(last - 5)));
}

TEST_F(SnapshotTest, CutAnywhereGivesWhatWasComplete) {
  Json events = Json::array();
  for (int i = 0; i < 6; ++i) events.push_back(event("alloc", 4096 + 512 * i, 512, kT + i, frames("a.py", i, "f")));
  const std::string whole = pickled(snapshot(Json::array({segment(4096, 4096, Json::array())}), events));
  int64_t last = 0;
  for (size_t length = 1; length < whole.size(); length += 41) {
    std::filesystem::remove(output());
    const auto result = import({write("cut.pickle", whole.substr(0, length))});
    if (!result.ok()) {
      EXPECT_EQ(last, 0) << length;
      EXPECT_THAT(result.error().message, HasSubstr("cut.pickle"));
      continue;
    }
    const Database db(output());
    EXPECT_EQ(db.number("SELECT count(*) FROM diagnostic WHERE code = 'cut'"), 1) << length;
    const int64_t count = db.number("SELECT count(*) FROM allocation WHERE space = 'device'");
    EXPECT_GE(count, last) << length;
    last = count;
  }
  EXPECT_GE(last, 5);
}

TEST_F(SnapshotTest, RealSnapshotTakenWhenMemoryRanOut) {
  const char* folder = std::getenv("PLUMB_TEST_TRACES");
  if (folder == nullptr || *folder == 0) GTEST_SKIP() << "PLUMB_TEST_TRACES names no folder of recordings";
  const auto result = import({std::string(folder) + "/memory/cuda_snapshot_old_format_oom.pickle"});
  ASSERT_TRUE(result.ok()) << result.error().message;
  const Database db(output());
  EXPECT_EQ(db.rows("SELECT space, sum(bytes) FROM allocation GROUP BY space"),
            (Rows{{"device", "11840159744"}, {"reserved", "11844714496"}}));
}

}  // namespace
}  // namespace plumb::test
