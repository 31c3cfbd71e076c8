// SPDX-License-Identifier: Apache-2.0
// The host's side of exports: NVTX with its payloads, NCCL's calls, calls of the operating system, everything else.
#include <gmock/gmock.h>

#include "tests/unit/analyzer/import/nsys_support.h"

namespace plumb::test {
namespace {

// Little-endian bytes as SQL text x'…'.
class Bytes {
 public:
  Bytes& add(uint64_t value, int count = 8) {
    for (int i = 0; i < count; ++i) append(static_cast<unsigned char>(value >> (8 * i)));
    return *this;
  }
  [[nodiscard]] std::string blob() const { return "x'" + m_hex + "'"; }
  [[nodiscard]] std::string text() const { return "'" + m_hex + "'"; }

 private:
  void append(unsigned char byte) {
    static constexpr const char* kDigits = "0123456789abcdef";
    m_hex += kDigits[byte >> 4];
    m_hex += kDigits[byte & 15];
  }
  std::string m_hex;
};

Bytes payloadOf(uint64_t schema, uint64_t size) { return Bytes().add(1).add(schema).add(size).add(32); }

TEST_F(NsysImportTest, RangesKeepNameKindNestingAndColour) {
  const std::string registered = std::to_string(nsys.text("registered"));
  nvtx(75, "0", "NULL", "domainId, text", "3, 'Library'");
  nvtx(33, "0", "NULL", "domainId, category, text", "3, 9, 'io'");
  nvtx(59, "100", "900", "text, color", "'outer', 4278255360");
  nvtx(59, "200", "300", "textId, domainId, category", registered + ", 3, 9");
  nvtx(60, "250", "1000", "text, endGlobalTid", "'process wide', " + std::to_string(globalTid(500, 502)));
  nvtx(34, "400", "NULL", "text, domainId", "'here', 8");
  nvtx(59, "500", "NULL", "text", "'open'");
  nvtx(35, "600", "NULL", "text", "'half'");
  const Database& db = imported();
  EXPECT_EQ(
      db.rows("SELECT r.name, r.kind, r.start_ns, r.duration_ns, r.depth, coalesce(p.name, '-'), r.domain, r.category, "
              "r.color_argb FROM ranges r LEFT JOIN ranges p ON p.id = r.parent_id ORDER BY r.start_ns"),
      (Rows{{"outer", "push_pop", "100", "800", "0", "-", "", "NULL", "4278255360"},
            {"registered", "push_pop", "200", "100", "1", "outer", "Library", "io", "NULL"},
            {"process wide", "start_end", "250", "750", "0", "-", "", "NULL", "NULL"},
            {"here", "mark", "400", "0", "0", "-", "domain 8", "NULL", "NULL"},
            {"open", "push_pop", "500", "NULL", "0", "-", "", "NULL", "NULL"}}));
  EXPECT_EQ(db.rows("SELECT t.tid FROM range r JOIN thread t ON t.id = r.end_thread_id"), (Rows{{"502"}}));
  EXPECT_EQ(db.rows("SELECT code, count FROM diagnostic ORDER BY code"),
            (Rows{{"never_ended", "1"}, {"not_understood", "1"}}));
}

TEST_F(NsysImportTest, PayloadsOfEveryFormAreStored) {
  nvtx(59, "1", "10", "text, int64Value", "'a', -5");
  nvtx(59, "2", "9", "text, doubleValue", "'b', 1.5");
  nvtx(59, "3", "8", "text, jsonText", R"('c', '{"flops": 12, "share": 0.5, "name": "mm"}')");
  nvtx(59, "4", "7", "text, jsonText", "'d', 'no json'");
  nsys.execute(R"sql(
    CREATE TABLE NVTX_PAYLOAD_SCHEMAS(domainId INTEGER, schemaId INTEGER, name TEXT, type INTEGER, flags INTEGER, numEntries INTEGER,
      payloadSize INTEGER, alignTo INTEGER);
    CREATE TABLE NVTX_PAYLOAD_SCHEMA_ENTRIES(domainId INTEGER, schemaId INTEGER, idx INTEGER, flags INTEGER, type INTEGER, name TEXT,
      description TEXT, arrayOrUnionDetail INTEGER, offset INTEGER);
    CREATE TABLE NVTX_PAYLOAD_ENUMS(domainId INTEGER, schemaId INTEGER, name TEXT, numEntries INTEGER, size INTEGER);
    CREATE TABLE NVTX_PAYLOAD_ENUM_ENTRIES(domainId INTEGER, schemaId INTEGER, idx INTEGER, name TEXT, value INTEGER, isFlag INTEGER);
    INSERT INTO NVTX_PAYLOAD_SCHEMAS VALUES(1, 100, NULL, 1, NULL, 4, 24, NULL), (1, 100, NULL, 1, NULL, 4, 24, NULL),
      (1, 300, NULL, 1, NULL, 1, NULL, NULL);
    INSERT INTO NVTX_PAYLOAD_SCHEMA_ENTRIES VALUES(1, 100, 0, NULL, 18, 'bytes', NULL, NULL, NULL), (1, 100, 1, NULL, 5, 'rank', NULL, NULL, 8),
      (1, 100, 2, NULL, 200, 'op', NULL, NULL, 12), (1, 100, 3, 16, 14, 'dims', NULL, 3, NULL), (1, 100, 0, NULL, 18, 'bytes', NULL, NULL, NULL),
      (1, 300, 0, NULL, 300, 'itself', NULL, NULL, NULL);
    INSERT INTO NVTX_PAYLOAD_ENUMS VALUES(1, 200, NULL, 2, 4);
    INSERT INTO NVTX_PAYLOAD_ENUM_ENTRIES VALUES(1, 200, 0, 'Sum', 0, 0), (1, 200, 1, 'Max', 2, 0);)sql");
  const Bytes bytes =
      payloadOf(100, 24).add(4096).add(static_cast<uint64_t>(-2), 4).add(2, 4).add(7, 2).add(8, 2).add(9, 2).add(0, 2);
  nvtx(59, "5", "6", "text, binaryData", "'e', " + bytes.blob());
  nvtx(59, "5", "6", "text, binaryData", "'f', " + bytes.text());
  nvtx(59, "5", "6", "text, binaryData", "'g', " + payloadOf(300, 8).add(1).blob());     // nested in itself
  nvtx(59, "5", "6", "text, binaryData", "'h', " + payloadOf(100, 9999).add(1).blob());  // longer than it is
  const Database& db = imported();
  EXPECT_EQ(db.rows("SELECT r.name, n.text, p.value FROM range_payload p JOIN ranges r ON r.id = p.range_id JOIN "
                    "string n ON n.id = "
                    "p.name_id WHERE r.name < 'e' ORDER BY r.name, n.text"),
            (Rows{{"a", "payload", "-5"},
                  {"b", "payload", "1.5"},
                  {"c", "flops", "12"},
                  {"c", "name", "mm"},
                  {"c", "share", "0.5"},
                  {"d", "payload", "no json"}}));
  for (const char* name : {"e", "f"}) {
    EXPECT_EQ(
        db.rows(
            "SELECT n.text, p.value FROM range_payload p JOIN ranges r ON r.id = p.range_id JOIN string n ON n.id = "
            "p.name_id WHERE r.name = '" +
            std::string(name) + "' ORDER BY n.text"),
        (Rows{{"bytes", "4096"}, {"dims[0]", "7"}, {"dims[1]", "8"}, {"dims[2]", "9"}, {"op", "Max"}, {"rank", "-2"}}))
        << name;
  }
  EXPECT_EQ(db.number("SELECT count FROM diagnostic WHERE code = 'bad_payload'"), 2);
}

class NcclOfNsys : public NsysImportTest {
 protected:
  void schemas() {
    nsys.execute(R"sql(
      CREATE TABLE NVTX_PAYLOAD_SCHEMAS(domainId INTEGER, schemaId INTEGER, name TEXT, type INTEGER, flags INTEGER, numEntries INTEGER,
        payloadSize INTEGER, alignTo INTEGER);
      CREATE TABLE NVTX_PAYLOAD_SCHEMA_ENTRIES(domainId INTEGER, schemaId INTEGER, idx INTEGER, flags INTEGER, type INTEGER, name TEXT,
        description TEXT, arrayOrUnionDetail INTEGER, offset INTEGER);
      INSERT INTO NVTX_PAYLOAD_SCHEMAS VALUES(1, 16777218, '', 1, NULL, 4, 24, NULL), (1, 16777220, '', 1, NULL, 2, 16, NULL),
        (1, 16777223, '', 1, NULL, 3, 24, NULL), (1, 16777225, '', 1, NULL, 3, 24, NULL);
      INSERT INTO NVTX_PAYLOAD_SCHEMA_ENTRIES VALUES(1, 16777218, 0, NULL, 18, 'NCCL communicator ID', NULL, NULL, NULL),
        (1, 16777218, 1, NULL, 5, 'No. of ranks', NULL, NULL, 8), (1, 16777218, 2, NULL, 5, 'Rank', NULL, NULL, 12),
        (1, 16777218, 3, NULL, 5, 'CUDA device', NULL, NULL, 16),
        (1, 16777220, 0, NULL, 18, 'NCCL communicator ID', NULL, NULL, NULL), (1, 16777220, 1, NULL, 22, 'Message size [bytes]', NULL, NULL, 8),
        (1, 16777223, 0, NULL, 18, 'NCCL communicator ID', NULL, NULL, NULL), (1, 16777223, 1, NULL, 22, 'Message size [bytes]', NULL, NULL, 8),
        (1, 16777223, 2, NULL, 16777232, 'Reduction operation', NULL, NULL, 16),
        (1, 16777225, 0, NULL, 18, 'NCCL communicator ID', NULL, NULL, NULL), (1, 16777225, 1, NULL, 22, 'Message size [bytes]', NULL, NULL, 8),
        (1, 16777225, 2, NULL, 5, 'Peer rank', NULL, NULL, 16);)sql");
  }
  void call(const std::string& name, int64_t start, int64_t end, const std::string& data = "NULL") {
    nvtx(59, std::to_string(start), std::to_string(end), "textId, domainId, binaryData",
         std::to_string(nsys.text(name)) + ", 1, " + data);
  }
};

TEST_F(NcclOfNsys, CallsWithPayloadsAreCollectivesOfTheirKernels) {
  schemas();
  constexpr uint64_t kCommunicator = 0xfedcba9876543210;
  call("ncclCommInitRankConfig", 1, 5, payloadOf(16777218, 24).add(kCommunicator).add(4, 4).add(3, 4).add(0, 8).blob());
  call("ncclAllGather", 10, 20, payloadOf(16777220, 16).add(kCommunicator).add(100).blob());
  call("ncclAllReduce", 30, 40, payloadOf(16777223, 24).add(kCommunicator).add(256).add(0).blob());
  call("ncclGroupStart", 50, 51);
  call("ncclSend", 52, 53, payloadOf(16777225, 24).add(kCommunicator).add(64).add(2).blob());
  call("ncclRecv", 54, 55, payloadOf(16777225, 24).add(kCommunicator).add(32).add(1).blob());
  call("ncclGroupEnd", 56, 60);
  for (const auto& [start, correlation] : {std::pair{12, 1}, {32, 2}, {57, 3}}) {
    api("cudaLaunchKernelExC_v11060", start, start + 1, correlation);
    kernel("ncclDevKernel_Something(args)", 100 * correlation, 100 * correlation + 50, correlation);
  }
  api("cudaLaunchKernel_v7000", 70, 71, 9);
  kernel("gemm", 500, 600, 9);
  const Database& db = imported();
  EXPECT_EQ(
      db.rows(
          "SELECT operation, start_ns, duration_ns, bytes, n_ranks, communicator_rank, sequence, peer, device_start_ns "
          "FROM collectives ORDER BY start_ns"),
      (Rows{{"AllGather", "10", "10", "400", "4", "3", "-1", "NULL", "100"},
            {"AllReduce", "30", "10", "256", "4", "3", "-1", "NULL", "200"},
            {"Send", "52", "1", "64", "4", "3", "-1", "2", "300"},
            {"Recv", "54", "1", "32", "4", "3", "-1", "1", "300"}}));
  EXPECT_EQ(db.number("SELECT count(DISTINCT external_id) FROM collective"), 3) << "a group is one launch";
  EXPECT_EQ(db.number("SELECT rank FROM process"), 3);
  EXPECT_EQ(db.number("SELECT DISTINCT communicator FROM collectives"), static_cast<int64_t>(kCommunicator));
}

TEST_F(NcclOfNsys, CallsWithoutPayloadsStayRangesAndTheUserIsTold) {
  call("ncclAllReduce", 30, 40);
  const Database& db = imported();
  EXPECT_EQ(db.number("SELECT count(*) FROM collective"), 0);
  EXPECT_EQ(db.text("SELECT name FROM ranges"), "ncclAllReduce");
  ASSERT_EQ(m_result.warnings.size(), 1u);
  EXPECT_THAT(m_result.warnings[0], testing::HasSubstr("--include-blobs=true"));
}

TEST_F(NcclOfNsys, PayloadsCanBeTablesOfTheirOwn) {
  call("ncclAllReduce", 30, 40);
  nsys.execute(R"sql(
    CREATE TABLE DYNAMIC_NVTXPAYLOAD_DATATYPE_281483365285888_1_16777223(eventId INTEGER, NCCL_communicator_ID INTEGER,
      Message_size__bytes_ INTEGER);
    INSERT INTO DYNAMIC_NVTXPAYLOAD_DATATYPE_281483365285888_1_16777223 VALUES(1, 77, 4096);
    CREATE TABLE NVTX_EVENTS_PAYLOAD_SCHEMAS(eventId INTEGER, globalPid INTEGER, domainId INTEGER, payloadSchemaID INTEGER);
    INSERT INTO NVTX_EVENTS_PAYLOAD_SCHEMAS VALUES(1, 281483365285888, 1, 16777223);
    CREATE TABLE NVTX_EXPORT_TRANSLATION(originalName TEXT, sanitizedName TEXT);
    INSERT INTO NVTX_EXPORT_TRANSLATION VALUES('Message size [bytes]', 'Message_size__bytes_');)sql");
  const Database& db = imported();
  EXPECT_EQ(db.rows("SELECT operation, bytes, communicator FROM collectives"), (Rows{{"AllReduce", "4096", "77"}}));
  EXPECT_EQ(db.rows("SELECT n.text, p.value FROM range_payload p JOIN string n ON n.id = p.name_id ORDER BY n.text"),
            (Rows{{"Message size [bytes]", "4096"}, {"NCCL_communicator_ID", "77"}}));
  EXPECT_EQ(m_result.notStored, 0u);
}

TEST_F(NsysImportTest, CallsOfTheOperatingSystemHaveATableAndTheirStack) {
  const std::string thread = std::to_string(globalTid(500, 501));
  const std::string poll = std::to_string(nsys.text("poll")),
                    notice = std::to_string(nsys.text("OS runtime libraries profiling started"));
  const std::string inner = std::to_string(nsys.text("read_loop")), outer = std::to_string(nsys.text("main"));
  const std::string module = std::to_string(nsys.text("/usr/bin/app"));
  nsys.execute(
      "CREATE TABLE OSRT_API(start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, nameId INTEGER, "
      "returnValue"
      " INTEGER, nestingLevel INTEGER, callchainId INTEGER);"
      "INSERT INTO OSRT_API VALUES(10, 60, 27, " +
      thread + ", " + poll + ", -1, 0, 5), (1, 1, 31, " + thread + ", " + notice + ", 0, NULL, 0), (20, 15, 27, " +
      thread + ", " + poll +
      ", 0, 0, 0);"
      "CREATE TABLE OSRT_CALLCHAINS(id INTEGER, symbol INTEGER, module INTEGER, stackDepth INTEGER, PRIMARY KEY(id, "
      "stackDepth));"
      "INSERT INTO OSRT_CALLCHAINS VALUES(5, " +
      outer + ", " + module + ", 1), (5, " + inner + ", " + module + ", 0)");
  const Database& db = imported();
  EXPECT_EQ(db.rows("SELECT name, start_ns, duration_ns, tid, result FROM os_calls"),
            (Rows{{"poll", "10", "50", "501", "-1"}}));
  EXPECT_EQ(db.rows("SELECT f.depth, s.text FROM os_call o JOIN stack_frame f USING (stack_id) JOIN string s ON s.id = "
                    "f.function_id ORDER BY 1"),
            (Rows{{"0", "read_loop"}, {"1", "main"}}));
  EXPECT_EQ(db.rows("SELECT code, count FROM diagnostic ORDER BY code"),
            (Rows{{"bad_duration", "1"}, {"profiler_notice", "1"}}));
}

TEST_F(NsysImportTest, OtherHostIntervalsAreRangesOfTheirDomain) {
  const std::string thread = std::to_string(globalTid(500, 501));
  const std::string name = std::to_string(nsys.text("MPI_Allreduce"));
  nsys.execute(
      "CREATE TABLE MPI_COLLECTIVES_EVENTS(start INTEGER, end INTEGER, globalTid INTEGER, textId INTEGER, size "
      "INTEGER, recvSize INTEGER);"
      "INSERT INTO MPI_COLLECTIVES_EVENTS VALUES(10, 40, " +
      thread + ", " + name +
      ", 128, NULL);"
      "CREATE TABLE MPI_RANKS(globalTid INTEGER, rank INTEGER); INSERT INTO MPI_RANKS VALUES(" +
      thread +
      ", 6);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_OVERHEAD(start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, "
      "correlationId"
      " INTEGER, nameId INTEGER, overheadType INTEGER);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_OVERHEAD VALUES(50, 60, 103, " +
      thread +
      ", NULL, NULL, 3);"
      "CREATE TABLE ENUM_CUPTI_OVERHEAD_TYPE(id INTEGER PRIMARY KEY, name TEXT, label TEXT);"
      "INSERT INTO ENUM_CUPTI_OVERHEAD_TYPE VALUES(3, 'OVERHEAD_CUPTI_BUFFER_FLUSH', 'Buffer flush (Profiler)')");
  const Database& db = imported();
  EXPECT_EQ(db.rows("SELECT domain, name, kind, duration_ns FROM ranges ORDER BY start_ns"),
            (Rows{{"MPI", "MPI_Allreduce", "push_pop", "30"},
                  {"profiler overhead", "Buffer flush (Profiler)", "start_end", "10"}}));
  EXPECT_EQ(db.rows("SELECT n.text, p.value FROM range_payload p JOIN string n ON n.id = p.name_id"),
            (Rows{{"size", "128"}}));
  EXPECT_EQ(db.number("SELECT rank FROM process"), 6);
}

TEST_F(NsysImportTest, WhatIsNotUnderstoodIsCountedByName) {
  kernel("k", 10, 20, 1);
  nsys.execute(R"sql(
    CREATE TABLE SCHED_EVENTS(start INTEGER, cpu INTEGER); INSERT INTO SCHED_EVENTS VALUES(1, 0), (2, 1);
    CREATE TABLE EMPTY_ONE(x INTEGER);
    CREATE TABLE TARGET_INFO_SYSTEM_ENV(name TEXT, value TEXT); INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES('TOKEN', 'secret');
    CREATE TABLE DIAGNOSTIC_EVENT(timestamp INTEGER, timestampType INTEGER, source INTEGER, severity INTEGER, text TEXT, globalPid INTEGER);
    INSERT INTO DIAGNOSTIC_EVENT VALUES(-5, 1, 1, 3, 'Buffers were lost.', -144115188075855872), (9, 1, 1, 3, 'Buffers were lost.', -144115188075855872);)sql");
  const Database& db = imported();
  EXPECT_EQ(
      db.rows("SELECT code, severity, count FROM diagnostic ORDER BY code, count DESC"),
      (Rows{{"nsight_message", "error", "2"}, {"table_not_stored", "info", "2"}, {"table_not_stored", "info", "1"}}));
  EXPECT_EQ(db.number("SELECT count(*) FROM diagnostic WHERE message LIKE '%SCHED_EVENTS%'"), 1);
  EXPECT_EQ(db.number("SELECT count(*) FROM string WHERE text LIKE '%secret%'"), 0);
  EXPECT_EQ(m_result.notStored, 2u);
}

}  // namespace
}  // namespace plumb::test
