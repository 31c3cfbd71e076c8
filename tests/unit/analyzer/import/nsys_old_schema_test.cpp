// SPDX-License-Identifier: Apache-2.0
// Exports of Nsight Systems before schema 3: columns without nulls, work that names no process, fewer tables, tables
// that have other names now. The columns are those of the export documentation of 2019 (10.1), 2020 and 2021.
#include <gmock/gmock.h>

#include "tests/unit/analyzer/import/nsys_support.h"

namespace plumb::test {
namespace {

using testing::HasSubstr;

class OldNsysExport : public NsysImportTest {
 protected:
  [[nodiscard]] std::string id(const std::string& text) { return std::to_string(nsys.text(text)); }
  const std::string m_process = std::to_string(globalTid(500, 0)), m_thread = std::to_string(globalTid(500, 501));

  // Of 2019: no column says whose the work is.
  void workOf2019() {
    nsys.execute(R"sql(
      CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INT NOT NULL, end INT NOT NULL, deviceId INT NOT NULL, contextId INT NOT NULL,
        streamId INT NOT NULL, correlationId INT NOT NULL, demangledName INT NOT NULL, shortName INT NOT NULL,
        launchType INT NOT NULL, cacheConfig INT NOT NULL, registersPerThread INT NOT NULL, gridX INT NOT NULL,
        gridY INT NOT NULL, gridZ INT NOT NULL, blockX INT NOT NULL, blockY INT NOT NULL, blockZ INT NOT NULL,
        staticSharedMemory INT NOT NULL, dynamicSharedMemory INT NOT NULL, localMemoryPerThread INT NOT NULL,
        localMemoryTotal INT NOT NULL, gridId INT NOT NULL, sharedMemoryExecuted INT NOT NULL);
      CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start INT NOT NULL, end INT NOT NULL, deviceId INT NOT NULL, contextId INT NOT NULL,
        streamId INT NOT NULL, correlationId INT NOT NULL, bytes INT NOT NULL, copyKind INT NOT NULL, srcKind INT NOT NULL,
        dstKind INT NOT NULL);
      CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET(start INT NOT NULL, end INT NOT NULL, deviceId INT NOT NULL, contextId INT NOT NULL,
        streamId INT NOT NULL, correlationId INT NOT NULL, value INT NOT NULL, bytes INT NOT NULL, memKind INT NOT NULL);
      CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INT NOT NULL, end INT NOT NULL, globalTid INT NOT NULL,
        correlationId INT NOT NULL, nameId INT NOT NULL, returnValue INT NOT NULL);
      CREATE TABLE ThreadNames(nameId INT NOT NULL, priority INT NOT NULL, globalTid INT NOT NULL);)sql");
    nsys.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(30, 50, 0, 1, 7, 5, " + id("void f<int>(int)") + ", " +
                 id("f") + ", 1, 1, 32, 4, 1, 1, 128, 1, 1, 16, 0, 0, 0, 1, 8192)");
    nsys.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES(60, 70, 0, 1, 7, 6, 4096, 1, 0, 2)");
    nsys.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES(80, 85, 0, 1, 7, 7, 9, 256, 2)");
    nsys.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(10, 20, " + m_thread + ", 5, " +
                 id("cudaLaunchKernel_v7000") + ", 0), (21, 29, " + m_thread + ", 6, " + id("cudaMemcpy_v3020") +
                 ", 0)");
    nsys.execute("INSERT INTO ThreadNames VALUES(" + id("worker") + ", 20, " + m_thread + ")");
  }
};

TEST_F(OldNsysExport, WorkWithoutAProcessIsTheCallers) {
  workOf2019();
  const Database& db = imported();
  EXPECT_EQ(db.rows("SELECT pid FROM process"), (Rows{{"500"}}));
  EXPECT_EQ(
      db.rows("SELECT name, full_name, duration_ns, device, stream, registers_per_thread, graph_node_id FROM kernels"),
      (Rows{{"f", "void f<int>(int)", "20", "0", "7", "32", "NULL"}}));
  EXPECT_EQ(db.rows("SELECT name, layer, tid FROM api_calls ORDER BY start_ns"),
            (Rows{{"cudaLaunchKernel", "runtime", "501"}, {"cudaMemcpy", "runtime", "501"}}));
  EXPECT_EQ(db.rows("SELECT copy_kind, source_kind, target_kind, bytes, is_async FROM copies"),
            (Rows{{"HtoD", "pageable", "device", "4096", "0"}}));
  EXPECT_EQ(db.rows("SELECT bytes, value, memory_kind FROM memory_set"), (Rows{{"256", "9", "3"}}));
  EXPECT_EQ(db.number("SELECT count(*) FROM kernel k JOIN api_call a USING (process_id, correlation)"), 1);
  EXPECT_EQ(db.rows("SELECT text FROM thread JOIN string ON string.id = name_id"), (Rows{{"worker"}}));
  EXPECT_EQ(db.number("SELECT count(*) FROM diagnostic"), 0);
}

// With calls of two processes nothing tells whose the work is: it gets a process of its own, not a guessed one.
TEST_F(OldNsysExport, WorkThatTwoCouldHaveStartedIsNobodys) {
  workOf2019();
  nsys.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(1, 2, " + std::to_string(globalTid(600, 601)) +
               ", 1, 1, 0)");
  const Database& db = imported();
  EXPECT_EQ(db.number("SELECT count(*) FROM kernel k JOIN process p ON p.id = k.process_id WHERE p.pid IN (500, 600)"),
            0);
  EXPECT_EQ(db.number("SELECT count(*) FROM kernel"), 1);
}

// Until 2021.3 devices have CUPTI's names; what an export was made with is in EXPORT_META_DATA.
TEST_F(OldNsysExport, DevicesAndMetadataHaveTheirOldNames) {
  workOf2019();
  nsys.execute(R"sql(
    CREATE TABLE TARGET_INFO_CUDA_GPU(deviceId INT NOT NULL, name TEXT NOT NULL, computeCapabilityMajor INT NOT NULL,
      computeCapabilityMinor INT NOT NULL, numMultiprocessors INT NOT NULL, maxWarpsPerMultiprocessor INT NOT NULL,
      numThreadsPerWarp INT NOT NULL, globalMemory INT NOT NULL);
    INSERT INTO TARGET_INFO_CUDA_GPU VALUES(0, 'Tesla V100', 7, 0, 80, 64, 32, 16000000000);
    CREATE TABLE EXPORT_META_DATA(name TEXT NOT NULL, value TEXT NOT NULL);
    INSERT INTO EXPORT_META_DATA VALUES('EXPORT_SCHEMA_VERSION', '2.7.1'), ('EXPORT_PARAM_TIME_SHIFT', '5');
    CREATE TABLE TARGET_INFO_SESSION_START_TIME(utcEpochNs INT NOT NULL);
    INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES(1600000000000000000);
    CREATE TABLE UnwindMethodType(number INT NOT NULL, name TEXT NOT NULL);
    INSERT INTO UnwindMethodType VALUES(0, 'none');)sql");
  const Database& db = imported();
  EXPECT_EQ(db.rows("SELECT name, compute_major, compute_minor, multiprocessor_count, memory_bytes,"
                    " max_threads_per_multiprocessor FROM devices"),
            (Rows{{"Tesla V100", "7", "0", "80", "16000000000", "2048"}}));
  EXPECT_EQ(db.number("SELECT count(*) FROM diagnostic WHERE code = 'table_not_stored'"), 0);
  EXPECT_EQ(db.text("SELECT value FROM meta WHERE key = 'session_start_realtime_ns'"), "1600000000000000005");
}

// The text of a range stands in its row, or under a number of StringIds where it was registered; the other is '' or 0.
TEST_F(OldNsysExport, TextsOfRangesStandInTheirRows) {
  nsys.execute(R"sql(
    CREATE TABLE NVTX_EVENTS(start INT NOT NULL, end INT NOT NULL, eventType INT NOT NULL, rangeId INT NOT NULL,
      category INT NOT NULL, color INT NOT NULL, text TEXT NOT NULL, globalTid INT NOT NULL, endGlobalTid INT NOT NULL,
      textId INT NOT NULL, domainId INT NOT NULL);)sql");
  nsys.execute("INSERT INTO NVTX_EVENTS VALUES(5, 40, 59, 0, 0, 0, 'inline', " + m_thread +
               ", 0, 0, 0), (6, 30, 59, 0, 0, 0, '', " + m_thread + ", 0, " + id("registered") +
               ", 0), (50, 90, 60, 3, 0, 0, 'other thread ends it', " + m_thread + ", " +
               std::to_string(globalTid(500, 502)) + ", 0, 0), (7, 7, 34, 0, 0, 0, 'mark', " + m_thread + ", 0, 0, 0)");
  const Database& db = imported();
  EXPECT_EQ(db.rows("SELECT name, kind, duration_ns FROM ranges ORDER BY start_ns"),
            (Rows{{"inline", "push_pop", "35"},
                  {"registered", "push_pop", "24"},
                  {"mark", "mark", "0"},
                  {"other thread ends it", "start_end", "40"}}));
  EXPECT_EQ(db.number("SELECT count(*) FROM range WHERE end_thread_id IS NOT NULL"), 1);
  EXPECT_EQ(db.number("SELECT count(*) FROM range_payload"), 0);
}

// Waits and calls of the operating system, as 2020 and 2021 write them.
TEST_F(OldNsysExport, WaitsAndCallsOfTheOperatingSystemAreRead) {
  nsys.execute(R"sql(
    CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION(start INT NOT NULL, end INT NOT NULL, deviceId INT NOT NULL,
      contextId INT NOT NULL, streamId INT NOT NULL, correlationId INT NOT NULL, globalPid INT NOT NULL,
      syncType INT NOT NULL, eventId INT NOT NULL);
    CREATE TABLE OSRT_API(start INT NOT NULL, end INT NOT NULL, eventClass INT NOT NULL, globalTid INT NOT NULL,
      correlationId INT NOT NULL, nameId INT NOT NULL, returnValue INT NOT NULL, nestingLevel INT NOT NULL,
      callchainId INT NOT NULL);)sql");
  nsys.execute("INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES(10, 40, 0, 1, 7, 3, " + m_process +
               ", 3, 4294967295)");
  nsys.execute("INSERT INTO OSRT_API VALUES(1, 9, 27, " + m_thread + ", 1, " + id("pthread_cond_wait") + ", 0, 0, 0)");
  const Database& db = imported();
  EXPECT_EQ(db.rows("SELECT kind, duration_ns, event_id FROM synchronization"), (Rows{{"3", "30", "NULL"}}));
  EXPECT_EQ(db.rows("SELECT text, duration_ns FROM os_call JOIN string ON string.id = name_id"),
            (Rows{{"pthread_cond_wait", "8"}}));
}

}  // namespace
}  // namespace plumb::test
