// SPDX-License-Identifier: Apache-2.0
// Device work, its calls and devices, of exports made on the spot.
#include "tests/unit/analyzer/import/nsys_support.h"

namespace plumb::test {
namespace {

TEST_F(NsysImportTest, KernelsKeepNameTimePlaceAndShape) {
  api("cudaLaunchKernel_v7000", 100, 140, 9);
  kernel("void ns::add<float>(float*)", 200, 350, 9);
  const Database& db = imported();
  EXPECT_EQ(db.rows("SELECT full_name, start_ns, duration_ns, device, stream, correlation, grid_x, grid_y, block_x, "
                    "registers_per_thread, static_shared_bytes, dynamic_shared_bytes, graph_id, flags FROM kernels"),
            (Rows{{"void ns::add<float>(float*)", "200", "150", "0", "7", "9", "4", "2", "128", "32", "16", "1024",
                   "NULL", "0"}}));
  EXPECT_EQ(db.rows("SELECT name, start_ns, duration_ns, layer, tid, result FROM api_calls"),
            (Rows{{"cudaLaunchKernel", "100", "40", "runtime", "501", "0"}}));
  EXPECT_EQ(db.number("SELECT pid FROM process"), 500);
  EXPECT_EQ(m_result.events, 2u);
  EXPECT_EQ(m_result.notStored, 0u);
}

TEST_F(NsysImportTest, WorkIsJoinedToItsCallByProcessAndCorrelation) {
  for (const int64_t pid : {500, 600}) {
    api("cudaLaunchKernel_v7000", pid, pid + 10, 7, pid, pid + 1);
    kernel("k", pid + 100, pid + 150, 7, pid, pid == 500 ? 0 : 1);
  }
  const Database& db = imported();
  EXPECT_EQ(
      db.rows("SELECT p.pid, k.start_ns, a.start_ns, d.ordinal FROM kernel k JOIN api_call a USING (process_id, "
              "correlation) JOIN process p ON p.id = k.process_id JOIN device d ON d.id = k.device_id ORDER BY 1"),
      (Rows{{"500", "600", "500", "0"}, {"600", "700", "600", "1"}}));
}

TEST_F(NsysImportTest, NamesOfCallsAreTheRecordersOwn) {
  api("cudaStreamGetCaptureInfo_v2_ptsz_v11030", 1, 2, 1);
  api("cuGetProcAddress_v2", 3, 4, 2, 500, 501, 1, 100);
  api("cuInit", 5, 6, 3, 500, 501, 26);
  api("cudaMalloc_v3020", 7, 8, 4, 500, 501, 26);
  const Database& db = imported();
  EXPECT_EQ(db.rows("SELECT name, layer, result FROM api_calls ORDER BY start_ns"),
            (Rows{{"cudaStreamGetCaptureInfo", "runtime", "0"},
                  {"cuGetProcAddress", "driver", "100"},
                  {"cuInit", "driver", "0"},
                  {"cudaMalloc", "runtime", "0"}}));
}

TEST_F(NsysImportTest, KindsOfMemoryAndCopiesAreCuptis) {
  api("cudaMemcpy_v3020", 1, 2, 1);
  api("cudaMemcpyAsync_v3020", 3, 4, 2);
  nsys.execute(R"sql(
    CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER,
      correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER);
    CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET(start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER,
      correlationId INTEGER, globalPid INTEGER, value INTEGER, bytes INTEGER, memKind INTEGER);)sql");
  const std::string process = std::to_string(globalTid(500, 0));
  nsys.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES(10, 20, 0, 1, 7, 1, " + process +
               ", 640, 1, 0, 2),"
               "(30, 50, 0, 1, 7, 2, " +
               process + ", 64, 2, 2, 1), (60, 70, 0, 1, 7, 3, " + process +
               ", 4096, 11, 4, 4),"
               "(80, 90, 0, 1, 7, 4, " +
               process +
               ", 8, 10, 7, NULL);"
               "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES(95, 97, 0, 1, 7, 5, " +
               process + ", 255, 16, 2)");
  const Database& db = imported();
  EXPECT_EQ(
      db.rows("SELECT name, source_kind, target_kind, bytes, duration_ns, is_async FROM copies ORDER BY start_ns"),
      (Rows{{"copy HtoD", "pageable", "device", "640", "10", "0"},
            {"copy DtoH", "device", "pinned", "64", "20", "1"},
            {"copy HtoD", "managed", "managed", "4096", "10", "1"},
            {"copy PtoP", "unknown", "unknown", "8", "10", "1"}}));
  EXPECT_EQ(db.rows("SELECT bytes, value, memory_kind FROM memory_set"), (Rows{{"16", "255", "3"}}));
}

TEST_F(NsysImportTest, WholeGraphsStandForTheirWorkUnlessItWasRecordedSingly) {
  api("cudaGraphLaunch_v10000", 1, 2, 5);
  api("cudaGraphLaunch_v10000", 3, 4, 6);
  kernel("node", 120, 130, 6, 500, 0, "4294967297");
  nsys.execute(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,"
      " streamId INTEGER, correlationId INTEGER, globalPid INTEGER, graphId INTEGER, graphExecId INTEGER);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES(10, 110, 0, 1, 7, 5, " +
      std::to_string(globalTid(500, 0)) + ", 3, 4), (115, 140, 0, 1, 7, 6, " + std::to_string(globalTid(500, 0)) +
      ", 3, 4)");
  const Database& db = imported();
  EXPECT_EQ(
      db.rows("SELECT name, start_ns, duration_ns, graph_id, graph_node_id, flags FROM kernels ORDER BY start_ns"),
      (Rows{{"CUDA graph 3", "10", "100", "4", "NULL", "6"}, {"node", "120", "10", "NULL", "4294967297", "2"}}));
  EXPECT_EQ(db.number("SELECT count FROM diagnostic WHERE code = 'graph_covered'"), 1);
}

TEST_F(NsysImportTest, WaitsKnowTheirStreamAndTheRecordedEvent) {
  // The device of a wait's record is wrong in some versions; its context is right.
  kernel("k", 100, 200, 1, 500, 1);
  const std::string process = std::to_string(globalTid(500, 0));
  nsys.execute(R"sql(
    CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT(timestamp INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER,
      correlationId INTEGER, globalPid INTEGER, eventId INTEGER, eventSyncId INTEGER);
    CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION(start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
      streamId INTEGER, correlationId INTEGER, globalPid INTEGER, deprecatedSyncType INTEGER, syncType INTEGER, eventId INTEGER,
      eventSyncId INTEGER);)sql");
  nsys.execute("INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES(205, 0, 1, 7, 11, " + process +
               ", 3, 77);"
               "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES(210, 220, 0, 1, 7, 12, " +
               process +
               ", NULL, 2, 3, 77),"
               "(230, 260, 0, 1, 4294967295, 13, " +
               process + ", 4, NULL, 4294967295, 0)");
  const Database& db = imported();
  EXPECT_EQ(db.rows("SELECT name, stream, event_id, duration_ns FROM synchronizations ORDER BY start_ns"),
            (Rows{{"stream wait event", "7", "3", "10"}, {"context synchronize", "NULL", "NULL", "30"}}));
  EXPECT_EQ(db.rows("SELECT recorded_correlation FROM synchronization_event"), (Rows{{"11"}}));
  EXPECT_EQ(db.rows("SELECT start_ns, event_id, sync_id, correlation FROM event_record"),
            (Rows{{"205", "3", "77", "11"}}));
  EXPECT_EQ(db.number("SELECT count(*) FROM stream"), 1);
  EXPECT_EQ(db.number("SELECT ordinal FROM device"), 1);
}

TEST_F(NsysImportTest, DevicesAreFoundAsTheProcessSawThem) {
  kernel("a", 10, 20, 1, 500, 0);
  kernel("b", 10, 20, 1, 600, 0);
  nsys.execute(R"sql(
    CREATE TABLE TARGET_INFO_GPU(vmId INTEGER, id INTEGER, name TEXT, totalMemory INTEGER, memoryBandwidth INTEGER, clockRate INTEGER,
      smCount INTEGER, uuid TEXT, cuDevice INTEGER, maxWarpsPerSm INTEGER, threadsPerWarp INTEGER, computeMajor INTEGER, computeMinor INTEGER);
    INSERT INTO TARGET_INFO_GPU VALUES(0, 0, 'first', 1000, 2000, 3000, 108, '00112233-4455-6677-8899-aabbccddeeff', 0, 64, 32, 8, 0),
      (0, 1, 'second', 1000, 2000, 3000, 132, 'GPU-ffeeddcc-bbaa-9988-7766-554433221100', 1, 64, 32, 9, 0);
    CREATE TABLE TARGET_INFO_CUDA_DEVICE(gpuId INTEGER, cudaId INTEGER, pid INTEGER, uuid TEXT, numMultiprocessors INTEGER);
    INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES(1, 0, 600, NULL, 132);
    CREATE TABLE TARGET_INFO_CUDA_STREAM(streamId INTEGER, hwId INTEGER, vmId INTEGER, processId INTEGER, contextId INTEGER,
      priority INTEGER, flag INTEGER);
    INSERT INTO TARGET_INFO_CUDA_STREAM VALUES(7, 0, 1, 500, 1, 4294967291, 2), (7, 0, 1, 600, 1, 0, 3);
    CREATE TABLE TARGET_INFO_NVTX_CUDA_STREAM(name TEXT, hwId INTEGER, vmId INTEGER, processId INTEGER, deviceId INTEGER,
      contextId INTEGER, streamId INTEGER);
    INSERT INTO TARGET_INFO_NVTX_CUDA_STREAM VALUES('side', 0, 1, 600, 0, 1, 7);
    CREATE TABLE PROCESSES(globalPid INTEGER, pid INTEGER, name TEXT);
    CREATE TABLE ThreadNames(nameId INTEGER, priority INTEGER, globalTid INTEGER);)sql");
  api("cudaLaunchKernel_v7000", 1, 2, 1, 600, 605);
  nsys.execute("INSERT INTO PROCESSES VALUES(" + std::to_string(globalTid(600, 0)) +
               ", 600, '/usr/bin/python3'), (5, 5, 'init');"
               "INSERT INTO ThreadNames VALUES(" +
               std::to_string(nsys.text("loader")) + ", 20, " + std::to_string(globalTid(600, 605)) + ")");
  const Database& db = imported();
  EXPECT_EQ(
      db.rows("SELECT p.pid, s.text, d.uuid, d.multiprocessor_count, d.compute_major, d.memory_bytes, "
              "d.memory_bandwidth_bytes_per_s, d.core_clock_hz, d.max_threads_per_multiprocessor FROM device d JOIN "
              "process p ON p.id = d.process_id JOIN string s ON s.id = d.name_id ORDER BY 1"),
      (Rows{{"500", "first", "00112233445566778899aabbccddeeff", "108", "8", "1000", "2000", "3000", "2048"},
            {"600", "second", "ffeeddccbbaa99887766554433221100", "132", "9", "1000", "2000", "3000", "2048"}}));
  EXPECT_EQ(
      db.rows(
          "SELECT p.pid, s.name, s.priority, s.kind FROM streams s JOIN process p ON p.id = s.process_id ORDER BY 1"),
      (Rows{{"500", "stream 7", "-5", "non-blocking"}, {"600", "side", "0", "default"}}));
  EXPECT_EQ(db.rows("SELECT pid, name FROM processes ORDER BY pid"),
            (Rows{{"500", "process 500"}, {"600", "python3"}}));
  EXPECT_EQ(db.rows("SELECT tid, text FROM thread JOIN string s ON s.id = name_id"), (Rows{{"605", "loader"}}));
}

TEST_F(NsysImportTest, MemoryEventsAreAllocationsAndWhatFreedThem) {
  const std::string process = std::to_string(globalTid(500, 0));
  nsys.execute(
      "CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS(start INTEGER, globalPid INTEGER, deviceId INTEGER, contextId INTEGER,"
      " address INTEGER, pc INTEGER, bytes INTEGER, memKind INTEGER, memoryOperationType INTEGER, name TEXT, "
      "correlationId"
      " INTEGER, streamId INTEGER, localMemoryPoolAddress INTEGER, localMemoryPoolSize INTEGER,"
      " localMemoryPoolUtilizedSize INTEGER);"
      "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES"
      "(50, " +
      process +
      ", 0, 1, 4096, 0, 512, 2, 1, NULL, 12, NULL, NULL, NULL, NULL),"  // not in order
      "(10, " +
      process +
      ", 0, 1, 4096, 0, 512, 2, 0, NULL, 11, NULL, NULL, NULL, NULL),"
      "(20, " +
      process +
      ", 0, 1, 8192, 0, 64, 2, 0, NULL, 13, 7, 99, 1000, 64),"
      "(30, " +
      process +
      ", 0, 1, 4096, 0, 32, 1, 0, NULL, 14, NULL, NULL, NULL, NULL),"
      "(60, " +
      process +
      ", 0, 1, 123, 0, 32, 2, 1, NULL, 15, NULL, NULL, NULL, NULL),"
      "(70, " +
      process + ", 0, 1, 8192, 0, 16, 2, 0, 'table', 16, NULL, NULL, NULL, NULL)");
  const Database& db = imported();
  EXPECT_EQ(db.rows("SELECT start_ns, freed_ns, address, bytes, space, from_pool, name, correlation FROM allocations "
                    "ORDER BY start_ns"),
            (Rows{{"10", "50", "4096", "512", "device", "0", "", "11"},
                  {"20", "70", "8192", "64", "device", "1", "", "13"},
                  {"30", "NULL", "4096", "32", "pinned", "0", "", "14"},
                  {"70", "NULL", "8192", "16", "device", "0", "table", "16"}}));
  EXPECT_EQ(db.rows("SELECT text, value FROM counter_sample JOIN string ON id = name_id ORDER BY text"),
            (Rows{{"memory pool reserved bytes, device 0", "1000.0"}, {"memory pool used bytes, device 0", "64.0"}}));
  EXPECT_EQ(db.rows("SELECT code, count FROM diagnostic ORDER BY code"),
            (Rows{{"allocation_replaced", "1"}, {"free_without_allocation", "1"}}));
}

TEST_F(NsysImportTest, MetricsAreCountersOfTheProcessThatUsesTheirGpu) {
  kernel("a", 10, 20, 1, 500, 0);
  kernel("b", 10, 20, 1, 600, 1);
  nsys.execute(R"sql(
    CREATE TABLE TARGET_INFO_GPU_METRICS(typeId INTEGER, sourceId INTEGER, typeName TEXT, metricId INTEGER, metricName TEXT);
    INSERT INTO TARGET_INFO_GPU_METRICS VALUES(2561, 1, 'GPU Metrics [1]', 4, 'SMs Active [Throughput %]');
    CREATE TABLE GPU_METRICS(rawTimestamp INTEGER, timestamp INTEGER, typeId INTEGER, metricId INTEGER, value INTEGER);
    INSERT INTO GPU_METRICS VALUES(1, 15, 2561, 4, 87), (2, 25, 2561, 9, 1);)sql");
  const Database& db = imported();
  EXPECT_EQ(
      db.rows(
          "SELECT p.pid, c.start_ns, s.text, c.value FROM counter_sample c JOIN process p ON p.id = c.process_id JOIN "
          "string s ON s.id = c.name_id"),
      (Rows{{"600", "15", "SMs Active [Throughput %], GPU 1", "87.0"}}));
  EXPECT_EQ(db.number("SELECT count FROM diagnostic WHERE code = 'not_understood'"), 1);
}

// As 2021.5 writes it: every column has a value, 0 and '' where there is none; no enum tables, no graph nodes, no
// mangled names.
TEST_F(NsysImportTest, SchemasBefore3HaveNoNulls) {
  const std::string process = std::to_string(globalTid(500, 0)), thread = std::to_string(globalTid(500, 501));
  const std::string name = std::to_string(nsys.text("void cutlass::Kernel2<cutlass_80_gemm>(P)")),
                    shortName = std::to_string(nsys.text("Kernel2"));
  nsys.execute(R"sql(
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INT NOT NULL, end INT NOT NULL, deviceId INT NOT NULL, contextId INT NOT NULL,
      streamId INT NOT NULL, correlationId INT NOT NULL, globalPid INT NOT NULL, demangledName INT NOT NULL, shortName INT NOT NULL,
      launchType INT NOT NULL, cacheConfig INT NOT NULL, registersPerThread INT NOT NULL, gridX INT NOT NULL, gridY INT NOT NULL,
      gridZ INT NOT NULL, blockX INT NOT NULL, blockY INT NOT NULL, blockZ INT NOT NULL, staticSharedMemory INT NOT NULL,
      dynamicSharedMemory INT NOT NULL, localMemoryPerThread INT NOT NULL, localMemoryTotal INT NOT NULL, gridId INT NOT NULL,
      sharedMemoryExecuted INT NOT NULL, graphNodeId INT NOT NULL, sharedMemoryLimitConfig INT NOT NULL);
    CREATE TABLE NVTX_EVENTS(start INT NOT NULL, end INT NOT NULL, eventType INT NOT NULL, rangeId INT NOT NULL, category INT NOT NULL,
      color INT NOT NULL, text TEXT NOT NULL, globalTid INT NOT NULL, endGlobalTid INT NOT NULL, textId INT NOT NULL, domainId INT NOT NULL,
      uint64Value INT NOT NULL, int64Value INT NOT NULL, doubleValue REAL NOT NULL, uint32Value INT NOT NULL, int32Value INT NOT NULL,
      floatValue REAL NOT NULL, jsonTextId INT NOT NULL, jsonText TEXT NOT NULL, binaryData TEXT NOT NULL);
    CREATE TABLE TARGET_INFO_CUDA_GPU(deviceId INT NOT NULL, name TEXT NOT NULL, totalMemory INT NOT NULL, smCount INT NOT NULL);
    INSERT INTO TARGET_INFO_CUDA_GPU VALUES(0, 'Quadro', 1000, 8);)sql");
  nsys.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(10, 30, 0, 1, 7, 5, " + process + ", " + name + ", " +
               shortName +
               ", 1, 1, 32, 4, 1, 1, 128, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0);"
               "INSERT INTO NVTX_EVENTS VALUES(5, 40, 59, 0, 0, 0, 'outer', " +
               thread +
               ", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, '', ''),"
               "(6, 0, 34, 0, 0, 0, '', " +
               thread + ", 0, " + shortName +
               ", 0, 0, 42, 0, 0, 0, 0, 0, '', ''),"
               "(7, 0, 60, 0, 0, 0, 'open', " +
               thread + ", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, '', '')");
  const Database& db = imported();
  EXPECT_EQ(db.rows("SELECT name, full_name, mangled_name, graph_node_id, flags FROM kernels"),
            (Rows{{"cutlass_80_gemm", "void cutlass::Kernel2<cutlass_80_gemm>(P)",
                   "void cutlass::Kernel2<cutlass_80_gemm>(P)", "NULL", "0"}}))
      << "the short name tells instances of a template apart, as of other sources";
  EXPECT_EQ(db.rows("SELECT name, kind, duration_ns, category, color_argb FROM ranges ORDER BY start_ns"),
            (Rows{{"outer", "push_pop", "35", "NULL", "NULL"},
                  {"Kernel2", "mark", "0", "NULL", "NULL"},
                  {"open", "start_end", "NULL", "NULL", "NULL"}}));
  EXPECT_EQ(db.rows("SELECT value FROM range_payload"), (Rows{{"42"}}));
  EXPECT_EQ(db.rows("SELECT name, memory_bytes, multiprocessor_count FROM devices"), (Rows{{"Quadro", "1000", "8"}}));
}

// What scripts make up: a few columns, no process anywhere, texts that cannot be searched by their number.
TEST_F(NsysImportTest, AFewColumnsAreEnough) {
  nsys.execute(R"sql(
    CREATE TABLE StringIds(id INT, value TEXT);
    INSERT INTO StringIds VALUES(1, 'gemm'), (2, 'cudaLaunchKernel');
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INT, "end" INT, streamId INT, correlationId INT, shortName INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(10, 30, 7, 1, 1), (30, NULL, 7, 2, 9);
    CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME_V2(start INT, "end" INT, correlationId INT, nameId INT, globalTid INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME_V2 VALUES(1, 2, 1, 2, 0);
    CREATE TABLE NVTX_EVENTS(start INT, "end" INT, text TEXT);
    INSERT INTO NVTX_EVENTS VALUES(0, 50, 'step 1'), (3, NULL, 'here');)sql");
  const Database& db = imported();
  EXPECT_EQ(db.rows("SELECT name, full_name, duration_ns, flags FROM kernels ORDER BY start_ns"),
            (Rows{{"gemm", "gemm", "20", "0"}, {"?", "?", "0", "1"}}));
  EXPECT_EQ(db.rows("SELECT name, kind FROM ranges ORDER BY start_ns"),
            (Rows{{"step 1", "push_pop"}, {"here", "mark"}}));
  EXPECT_EQ(db.number("SELECT count(*) FROM kernel k JOIN api_call a USING (process_id, correlation)"), 1);
  EXPECT_EQ(db.number("SELECT count(*) FROM process"), 1);
  EXPECT_EQ(db.rows("SELECT code, count FROM diagnostic ORDER BY code"),
            (Rows{{"bad_time", "1"}, {"text_missing", "1"}}));
}

}  // namespace
}  // namespace plumb::test
