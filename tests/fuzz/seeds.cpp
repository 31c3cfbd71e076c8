// SPDX-License-Identifier: Apache-2.0
// Writes the corpora that the fuzzers start from: a folder per importer below the folder that is named.
#include <sqlite3.h>
#include <zlib.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/unit/analyzer/import/pickle_writer.h"

namespace {

namespace fs = std::filesystem;
using plumb::test::pickledText;

class Corpora {
 public:
  explicit Corpora(fs::path root) : m_root(std::move(root)) {}
  void add(const std::string& importer, const std::string& content) {
    fs::create_directories(m_root / importer);
    std::ofstream(path(importer), std::ios::binary) << content;
  }
  // For formats that another library writes.
  [[nodiscard]] fs::path path(const std::string& importer) {
    fs::create_directories(m_root / importer);
    return m_root / importer / ("seed-" + std::to_string(++m_count));
  }

 private:
  fs::path m_root;
  int m_count = 0;
};

std::string gzip(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(compressBound(text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

const char* const kTorch =
    R"json({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H100", "computeMajor": 9,
"numSms": 132, "totalGlobalMem": 85000000000}], "distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 2,
"pg_config": [{"pg_name": "0", "pg_desc": "default_pg", "ranks": [0, 1]}]}, "baseTimeNanoseconds": 1700000000000000000,
"traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 500, "tid": 501, "ts": 10.5, "dur": 20, "args": {"External id": 4,
"Sequence number": 3, "Fwd thread id": 0, "Input Dims": [[64, 3], []], "Input type": ["float", "Scalar"], "Ev Idx": 1}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 500, "tid": 501, "ts": 12, "dur": 5.25, "args": {"correlation": 7, "External id": 4}},
{"ph": "X", "cat": "kernel", "name": "void gemm<float>(int)", "pid": 0, "tid": 7, "ts": 20, "dur": 8, "args": {"device": 0,
"context": 1, "stream": 7, "correlation": 7, "grid": [4, 2, 1], "block": [128, 1, 1], "registers per thread": 32, "shared memory": 1024}},
{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32", "pid": 0, "tid": 8, "ts": 30, "dur": 8, "args": {"device": 0,
"stream": 8, "correlation": 9, "Collective name": "allreduce", "In msg nelems": 1024, "Out msg nelems": 1024, "dtype": "Float",
"Group size": 2, "Process Group Name": "0", "Process Group Ranks": "[0, 1]", "In split size": "[]"}},
{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pinned -> Device)", "pid": 0, "tid": 7, "ts": 40, "dur": 3, "args": {"device": 0, "stream": 7, "correlation": 11, "bytes": 4096, "memory bandwidth (GB/s)": 1.2}},
{"ph": "X", "cat": "gpu_memset", "name": "Memset (Device)", "pid": 0, "tid": 7, "ts": 50, "dur": 1, "args": {"device": 0, "stream": 7, "correlation": 12, "bytes": 16}},
{"ph": "X", "cat": "cuda_sync", "name": "Stream Wait Event", "pid": 0, "tid": 7, "ts": 52, "dur": 1, "args": {"stream": 7, "wait_on_stream": 8, "wait_on_cuda_event_record_corr_id": 9, "cuda_sync_kind": "Stream Wait Event"}},
{"ph": "i", "s": "t", "name": "[memory]", "cat": "cpu_instant_event", "pid": 500, "tid": 501, "ts": 15, "args": {"Addr": 140037408686080, "Bytes": -512, "Device Type": 1, "Device Id": 0, "Total Allocated": 0, "Total Reserved": 2097152}},
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 500, "tid": 501, "ts": 1, "dur": 60},
{"ph": "X", "cat": "python_function", "name": "train.py(12): step", "pid": 500, "tid": 501, "ts": 2, "dur": 50, "args": {"Python id": 1, "Python parent id": null}},
{"ph": "s", "id": 7, "cat": "ac2g", "name": "ac2g", "pid": 500, "tid": 501, "ts": 12}, {"ph": "f", "id": 7, "cat": "ac2g", "name": "ac2g", "pid": 0, "tid": 7, "ts": 20, "bp": "e"},
{"ph": "C", "name": "GPU util", "pid": 0, "ts": 3, "args": {"a": 1.5, "b": NaN}},
{"ph": "B", "name": "open", "pid": "x", "tid": "y", "ts": "1.5"}, {"ph": "E", "pid": "x", "tid": "y", "ts": 9},
{"ph": "M", "name": "process_name", "pid": 500, "args": {"name": "python"}}, {"ph": "b", "cat": "a", "id": "0x1", "name": "n", "pid": 1, "ts": 1}
]
})json";

void addNsys(Corpora& corpora) {
  const fs::path path = corpora.path("nsys");
  fs::remove(path);
  sqlite3* database = nullptr;
  sqlite3_open(path.c_str(), &database);
  sqlite3_exec(database, R"(PRAGMA page_size=512; PRAGMA journal_mode=OFF;
CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT); INSERT INTO StringIds VALUES(1, 'kernel'), (2, 'cudaLaunchKernel'), (3, '_Z1kv'), (4, 'step');
CREATE TABLE META_DATA_EXPORT(name TEXT, value TEXT); INSERT INTO META_DATA_EXPORT VALUES('EXPORT_SCHEMA_VERSION', '3.16');
CREATE TABLE TARGET_INFO_GPU(vmId INTEGER, id INTEGER, name TEXT, busLocation TEXT, totalMemory INTEGER, smCount INTEGER); INSERT INTO TARGET_INFO_GPU VALUES(0, 0, 'GPU', '', 100, 10);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER, mangledName INTEGER, registersPerThread INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER, staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, localMemoryPerThread INTEGER, graphNodeId INTEGER, graphId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(100, 200, 0, 1, 7, 5, 72057594037927936 + 16777216 * 5, 1, 1, 3, 32, 1, 1, 1, 32, 1, 1, 0, 0, 0, NULL, NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER, callchainId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(50, 60, 0, 72057594037927936 + 16777216 * 5 + 9, 5, 2, 0, NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES(300, 310, 0, 1, 7, 6, 72057594037927936 + 16777216 * 5, 64, 1, 0, 2);
CREATE TABLE NVTX_EVENTS(start INTEGER, end INTEGER, eventType INTEGER, rangeId INTEGER, category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, uint64Value INTEGER, int64Value INTEGER, doubleValue REAL, jsonText TEXT);
INSERT INTO NVTX_EVENTS VALUES(10, 400, 59, NULL, NULL, NULL, NULL, 72057594037927936 + 16777216 * 5 + 9, NULL, 4, 0, NULL, NULL, NULL, '{"a": 1}');
)",
               nullptr, nullptr, nullptr);
  sqlite3_close(database);
}

void addPickles(Corpora& corpora) {
  const char* const snapshot = R"({"segments": [{"device": 0, "address": 4096, "total_size": 8192, "stream": 0,
"segment_type": "large", "frames": [], "blocks": [{"address": 4096, "size": 2048, "requested_size": 2000, "state":
"active_allocated", "frames": [{"name": "f", "filename": "a.py", "line": 3}]}, {"address": 6144, "size": 6144, "state":
"inactive"}]}], "device_traces": [[{"action": "segment_alloc", "addr": 4096, "size": 8192, "stream": 0, "time_us": 1700000000000000},
{"action": "alloc", "addr": 4096, "size": 2048, "stream": 0, "time_us": 1700000000000001}, {"action": "free_requested", "addr": 9,
"size": 5, "stream": 0, "time_us": 1700000000000002}, {"action": "oom", "device_free": 5, "size": 9, "stream": 0, "time_us":
1700000000000003}, {"action": "segment_unmap", "addr": 4100, "size": 64, "time_us": 1700000000000004}]],
"external_annotations": [{"stage": "START", "name": "s", "time_us": 1700000000000002}]})";
  const char* const old = R"([{"device": 0, "address": 4096, "total_size": 2048, "stream": 0, "blocks": [{"size": 2048,
"state": "active_allocated", "history": [{"real_size": 2000, "frames": [{"name": "f", "filename": "a.py", "line": 3}]}]}]}])";
  const char* const dump =
      R"({"version": "2.9", "pg_config": {"7": {"name": "7", "desc": "TP", "ranks": "[0, 1]"}}, "pg_status":
{"1": {"last_enqueued_collective": 5, "last_started_collective": -1, "last_completed_collective": 4}}, "entries": [{"pg_id": 1,
"process_group": ["7", "TP"], "collective_seq_id": 5, "p2p_seq_id": 0, "is_p2p": false, "profiling_name": "nccl:all_reduce",
"input_sizes": [[4, 8]], "output_sizes": [[4, 8]], "input_dtypes": ["BFloat16"], "time_created_ns": 1700000000000000000,
"timeout_ms": 600000, "state": "scheduled", "duration_ms": 1.5, "thread_id": "77", "thread_name": "t", "frames": [{"name": "f",
"filename": "a.py", "line": 3}]}, {"pg_id": 1, "process_group": ["7", "TP"], "is_p2p": true, "p2p_seq_id": 2, "profiling_name":
"nccl:send 0->1", "state": "started", "time_created_ns": 1700000000000000009}]})";
  for (const int protocol : {2, 4}) {
    for (const char* text : {snapshot, old, dump}) corpora.add("pickle", pickledText(text, protocol));
  }
  corpora.add("pickle", "(dp0\nVsegments\np1\n(lp2\n(dp3\nVaddress\nI4096\nsVtotal_size\nL4096L\nsVblocks\n(lsas.");
  corpora.add("flight_recorder", dump);
}

void addTexts(Corpora& corpora) {
  corpora.add("chrome", kTorch);
  corpora.add("chrome", gzip(kTorch));
  corpora.add("chrome", R"([{"ph": "X", "name": "a", "ts": 1, "dur": 2, "pid": 1, "tid": 1},)");
  const std::string timeline =
      "[[-1, 1, 1000, 0], [5000, 2, 300, 4], [7000, 3, -300, 4], [7000, 3, 300, 5], [8000, 4, -300, 5]]";
  corpora.add("memory_timeline", timeline);
  corpora.add("memory_timeline", gzip(timeline));
  corpora.add(
      "nccl_tests",
      "# nThread 1 nGpus 8\n# Using devices\n#   Rank  0 Pid 112424 on host device  0 [0x00] A100-SXM4-40GB\n"
      "#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error\n"
      "        1024           256   float     sum    36.07    0.03    0.05    N/A    35.77    0.03    0.05  4e-07\n"
      "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 68.4048\n");
  corpora.add(
      "inspector",
      R"({"header": {"id": "0x7f8c496ae9f661", "rank": 2, "n_ranks": 8, "nnodes": 1}, "metadata": {"dump_timestamp_us": 1748030377748202, "hostname": "h", "pid": 1639453}, "coll_perf": {"coll": "AllReduce", "coll_sn": 1407, "coll_msg_size_bytes": 17179869184, "coll_exec_time_us": 61974, "coll_algobw_gbs": 277.2, "coll_busbw_gbs": 485.1, "event_trace_ts": {"coll_start_ts": 1748030377748002, "coll_stop_ts": 1748030377748003, "kernel_events": [{"channel_id": 0, "kernel_start_ts": 1748030377748004, "kernel_stop_ts": 1748030377748005}]}}}
{"header": {"id": "0x1"}, "metadata": {}, "dump_stats": {"coll": {"dropped_since_last_dump": 7}}}
)");
  corpora.add("nccl_profiler",
              R"([
{"name": "Send", "cat": "P2P_API", "ph": "b", "id": 0, "pid": 3, "tid": 1, "ts": 0.0, "args": {"datatype": ncclFloat32, "Stream": 0x262ca50}},
{"name": "Send", "cat": "P2P", "ph": "b", "id": 0, "pid": 3, "tid": 1, "ts": 18.5, "args": {"CommHash": 12715772615376301750, "Rank": 0, "Peer": 1, "Count": 26, "Datatype": "ncclFloat32", "nChannels": 16}},
{"name": "Send", "cat": "P2P", "ph": "e", "id": 0, "pid": 3, "tid": 1, "ts": 20.5},
)");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: fuzz_seeds FOLDER\n");
    return 2;
  }
  Corpora corpora(argv[1]);
  addPickles(corpora);
  addTexts(corpora);
  addNsys(corpora);
  return 0;
}
