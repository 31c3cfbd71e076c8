// SPDX-License-Identifier: Apache-2.0
// What NCCL's own profiler plugins write.
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <regex>

#include "tests/unit/analyzer/import/support.h"

namespace plumb::test {
namespace {

using testing::HasSubstr;
using Rows = std::vector<Database::Row>;

std::string record(int rank, int sequence, const std::string& more = "",
                   const std::string& written = "1752867229276385") {
  return R"({"header": {"id": "0xe62dedaa97644a", "comm_name": "unknown", "rank": )" + std::to_string(rank) +
         R"(, "n_ranks": 8, "nnodes": 1}, "metadata": {"inspector_output_format_version": "v4.2", "git_rev": "", )"
         R"("rec_mechanism": "nccl_profiler_interface", "dump_timestamp_us": )" +
         written +
         R"(, "hostname": "node-a", "pid": 4711}, "coll_perf": {"coll": "ReduceScatter", "coll_algo": "RING", )"
         R"("coll_proto": "SIMPLE", "coll_sn": )" +
         std::to_string(sequence) +
         R"(, "coll_msg_size_bytes": 2147483648, "coll_exec_time_us": 41057, "coll_timing_source": "kernel_gpu", )"
         R"("coll_algobw_gbs": 418.4, "coll_busbw_gbs": 366.1)" +
         more + "}}\n";
}
const std::string kTimes =
    R"(, "event_trace_ts": {"coll_start_ts": 1752867229235059, "coll_stop_ts": 1752867229235064, "kernel_events": [)"
    R"({"channel_id": 0, "kernel_start_ts": 1752867229235181, "kernel_stop_ts": 1752867229275811}, )"
    R"({"channel_id": 1, "kernel_start_ts": 1752867229235180, "kernel_stop_ts": 1752867229275900}]})";

TEST_F(ImportTest, InspectorRecordsBecomeCollectivesWithTheirTiming) {
  const Database& db = imported(record(3, 1231));
  EXPECT_EQ(
      db.rows("SELECT rank, operation, communicator, n_ranks, communicator_rank, sequence, bytes, algorithm, protocol"
              " FROM collectives"),
      (Rows{
          {"3", "ReduceScatter", std::to_string(0xe62dedaa97644a), "8", "3", "1231", "2147483648", "RING", "SIMPLE"}}));
  EXPECT_EQ(db.rows("SELECT duration_ns, source, algbw_bytes_per_s, busbw_bytes_per_s FROM collective_timing"),
            (Rows{{"41057000", "kernel_gpu", "418400000000.0", "366100000000.0"}}));
  EXPECT_EQ(db.number("SELECT count FROM diagnostic WHERE code = 'no_start'"), 1);
  EXPECT_EQ(db.number("SELECT count(*) FROM kernel"), 0) << "without times there is no kernel to show";
}

TEST_F(ImportTest, VerboseInspectorRecordsHaveTheirKernels) {
  const Database& db = imported(record(3, 1231, kTimes));
  EXPECT_EQ(db.rows("SELECT start_ns, duration_ns, device_start_ns, device_duration_ns, channels FROM collectives"),
            (Rows{{"0", "5000", "121000", "40720000", "2"}}));
}

TEST_F(ImportTest, InspectorLossesAndOtherRecordsAreCounted) {
  const Database& db =
      imported(record(0, 1) +
               R"({"header": {"id": "0x1"}, "metadata": {}, "dump_stats": {"coll": {"dropped_since_last_dump": 7}}})"
               "\n" +
               record(0, 2, ", \"x\": nan") + "{\"header\": {\n" + record(0, 3));
  EXPECT_EQ(db.rows("SELECT sequence FROM collectives ORDER BY 1"), (Rows{{"1"}, {"3"}}));
  EXPECT_EQ(
      db.rows("SELECT code, count FROM diagnostic WHERE code <> 'no_start' AND code <> 'rank_missing' ORDER BY code"),
      (Rows{{"damaged_event", "2"}, {"dropped_by_source", "7"}, {"other_record", "1"}}));
  EXPECT_EQ(m_result.events, 5u);
}

TEST_F(ImportTest, InspectorCutAnywhereGivesTheRecordsBefore) {
  const std::string one = record(0, 1), whole = one + record(0, 2);
  for (size_t length = one.size() - 1; length < whole.size() - 1; length += 37) {
    std::filesystem::remove(output());
    const auto result = import({write("cut.log", whole.substr(0, length))});
    ASSERT_TRUE(result.ok()) << length << result.error().message;
    EXPECT_EQ(Database(output()).number("SELECT count(*) FROM collective"), 1) << length;
    EXPECT_EQ(result.value().damaged, length > one.size() ? 1u : 0u) << length;
  }
  std::filesystem::remove(output());
  EXPECT_THAT(errorOf(one.substr(0, one.size() / 2)), HasSubstr("holds no collective that can be read"));
}

TEST_F(ImportTest, InspectorLinesBehindADamagedFirstOneAreRead) {
  const std::string good = record(0, 1), rest = record(0, 2, kTimes) + record(0, 3);
  const std::string noBrace = good.substr(1), noBegin = good.substr(9), otherByte = "z" + good.substr(1);
  for (const std::string& bad :
       {noBrace, noBegin, otherByte, "\x01\x02" + good, good.substr(0, 40) + "\n", std::string("half a line\n")}) {
    std::filesystem::remove(output());
    const Database& db = imported(bad + rest);
    EXPECT_EQ(db.rows("SELECT sequence FROM collectives ORDER BY 1"), (Rows{{"2"}, {"3"}})) << bad;
    EXPECT_EQ(m_result.events, 3u) << bad;
    EXPECT_EQ(m_result.damaged, 1u) << bad;
    EXPECT_EQ(db.number("SELECT count(*) FROM diagnostic WHERE code IN ('other_record', 'cut')"), 0) << bad;
  }
}

TEST_F(ImportTest, InspectorLinesAroundADamagedOneAreRead) {
  const std::string good = record(0, 2);
  const Database& db = imported(record(0, 1) + "?" + good.substr(1) + record(0, 3));
  EXPECT_EQ(db.rows("SELECT sequence FROM collectives ORDER BY 1"), (Rows{{"1"}, {"3"}}));
  EXPECT_THAT(db.text("SELECT message FROM diagnostic WHERE code = 'damaged_event'"),
              HasSubstr("at byte " + std::to_string(record(0, 1).size())));
}

TEST_F(ImportTest, InspectorTimesMayHaveAFraction) {
  std::string fraction = record(0, 2);
  fraction.replace(fraction.find("41057"), 5, "90.5");
  const Database& db = imported(record(0, 1) + "{\"header\": broken\n" + fraction);
  EXPECT_EQ(db.rows("SELECT duration_ns FROM collective_timing"), (Rows{{"41057000"}, {"90500"}}));
  EXPECT_EQ(m_result.damaged, 1u) << "the line in the middle";
}

const char* const kProfiler =
    "[\n"
    R"({"name": "Group API", "cat": "GROUP_API", "ph": "b", "id": 0, "pid": 7, "tid": 1, "ts": 10.5, "args": {"depth":2}},)"
    "\n"
    R"({"name": "Send", "cat": "P2P_API", "ph": "b", "id": 0, "pid": 7, "tid": 1, "ts": 0.000000, "args": {"datatype": ncclFloat32, "Stream": 0x4142e90}},)"
    "\n"
    R"({"name": "Send", "cat": "P2P", "ph": "b", "id": 0, "pid": 7, "tid": 1, "ts": 20.25, "args": {"CommHash": 12715772615376301750, "Rank": 0, "Peer": 1, "Count": 256, "Datatype": "ncclFloat32", "nChannels": 16}},)"
    "\n"
    R"({"name": "Send", "cat": "P2P", "ph": "e", "id": 0, "pid": 7, "tid": 1, "ts": 30.5},)"
    "\n"
    R"({"name": "Send", "cat": "P2P_API", "ph": "e", "id": 0, "pid": 7, "tid": 1, "ts": 31},)"
    "\n"
    R"({"name": "Group API", "cat": "GROUP_API", "ph": "e", "id": 0, "pid": 7, "tid": 1, "ts": 40},)"
    "\n";

TEST_F(ImportTest, TheExampleProfilersEventsAreReadThoughTheyAreNoJson) {
  const Database& db = imported(kProfiler);
  EXPECT_EQ(db.rows("SELECT name, category, start_ns, duration_ns FROM ranges ORDER BY start_ns"),
            (Rows{{"Group API", "GROUP_API", "0", "29500"}, {"Send", "P2P", "9750", "10250"}}));
  EXPECT_EQ(
      db.rows("SELECT operation, peer, bytes, datatype, channels, communicator FROM collectives"),
      (Rows{{"Send", "1", "1024", "ncclFloat32", "16", std::to_string(static_cast<int64_t>(12715772615376301750u))}}));
  EXPECT_EQ(db.number("SELECT count FROM diagnostic WHERE code = 'no_time'"), 2);
  EXPECT_EQ(m_result.events, 6u);
  EXPECT_EQ(m_result.notStored, 2u);
}

TEST_F(ImportTest, TheExampleProfilersEventsBehindADamagedHeadAreRead) {
  const std::string whole = kProfiler;
  const size_t second = whole.find('\n', 2) + 1;
  for (const std::string& text : {"\x01" + whole.substr(1), "[\nx" + whole.substr(3), whole.substr(second)}) {
    std::filesystem::remove(output());
    const Database& db = imported(text);
    EXPECT_EQ(db.number("SELECT count(*) FROM collective"), 1) << text;
  }
}

TEST_F(ImportTest, TheExampleProfilersTimingIsThatOfTheHostWithoutABandwidth) {
  const Database& db = imported(kProfiler);
  EXPECT_EQ(db.rows("SELECT duration_ns, source, algbw_bytes_per_s IS NULL FROM collective_timing"),
            (Rows{{"10250", "collective_cpu", "1"}}));
}

TEST_F(ImportTest, TheExampleProfilersTimingIsThatOfTheKernelWhereItsChannelsHaveBothClocks) {
  std::string text = kProfiler;
  const std::string end = R"({"name": "Send", "cat": "P2P", "ph": "e")";
  text.insert(
      text.find(end),
      R"({"name": "KernelCh", "cat": "GPU", "ph": "b", "id": 0, "pid": 7, "tid": 1, "ts": 21, "args": {"Channel": 0, "StartGpuClk": 1000, "StopGpuClk": 3000}},)"
      "\n"
      R"({"name": "KernelCh", "cat": "GPU", "ph": "b", "id": 1, "pid": 7, "tid": 1, "ts": 21, "args": {"Channel": 1, "StartGpuClk": 1500, "StopGpuClk": 5000}},)"
      "\n");
  const Database& db = imported(text);
  EXPECT_EQ(db.rows("SELECT duration_ns, source, algbw_bytes_per_s FROM collective_timing"),
            (Rows{{"4000", "kernel_gpu", "256000000.0"}}));
}

TEST_F(ImportTest, RealOutputOfTheExampleProfilerIsReadAsFarAsItGoes) {
  const char* folder = std::getenv("PLUMB_TEST_TRACES");
  if (folder == nullptr || *folder == 0) GTEST_SKIP() << "PLUMB_TEST_TRACES names no folder of recordings";
  const auto result = import({std::string(folder) + "/nccl/example_profiler_plugin.invalid.json"});
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result.value().events, 376u);
  EXPECT_EQ(result.value().damaged, 6u) << "lines that say '...'";
  const Database db(output());
  EXPECT_GT(db.number("SELECT count(*) FROM range"), 100);
  EXPECT_EQ(db.number("SELECT count(*) FROM collective"), 8);
  EXPECT_EQ(db.number("SELECT count(*) FROM collective_timing WHERE source = 'collective_cpu'"), 8);
  EXPECT_EQ(db.number("SELECT duration_ns FROM collective_timing ORDER BY collective_id LIMIT 1"), 128470);
}

// Lines of several ranks in one file, as `cat` makes it, or of one process with several GPUs.
TEST_F(ImportTest, InspectorLinesOfSeveralRanksStayThoseOfTheirRanks) {
  const std::string second = std::regex_replace(record(5, 7), std::regex("4711"), "4712");
  for (const std::string& text : {record(3, 7) + second + record(3, 8), record(3, 7) + record(5, 7) + record(3, 8)}) {
    std::filesystem::remove(output());
    const Database& db = imported(text);
    EXPECT_EQ(db.rows("SELECT rank, communicator_rank, sequence FROM collectives ORDER BY 1, 3"),
              (Rows{{"3", "3", "7"}, {"3", "3", "8"}, {"5", "5", "7"}}));
    EXPECT_EQ(db.number("SELECT count FROM diagnostic WHERE code = 'rank_missing'"), 6);
  }
}

}  // namespace
}  // namespace plumb::test
