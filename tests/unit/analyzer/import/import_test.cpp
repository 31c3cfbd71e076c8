// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <zstd.h>

#include <filesystem>

#include "tests/unit/analyzer/import/support.h"

namespace plumb::test {
namespace {

using testing::HasSubstr;

TEST_F(ImportTest, KernelsKeepNameTimePlaceAndShape) {
  const Database& db = imported(
      traceOf({hostEvent("cuda_runtime", "cudaLaunchKernel", "1712195495519689.047", "2.5", R"({"correlation": 9})"),
               kernelEvent("void ns::add<float>(float*)", "1712195495519700.050", "3.001", 9)}));
  EXPECT_EQ(db.rows("SELECT name, full_name, start_ns, duration_ns, device, stream, correlation, grid_x, grid_y, "
                    "block_x FROM kernels"),
            (std::vector<Database::Row>{
                {"add", "void ns::add<float>(float*)", "11003", "3001", "0", "7", "9", "4", "2", "128"}}));
  EXPECT_EQ(db.rows("SELECT name, start_ns, duration_ns, layer, tid FROM api_calls"),
            (std::vector<Database::Row>{{"cudaLaunchKernel", "0", "2500", "runtime", "501"}}));
  EXPECT_EQ(db.text("SELECT value FROM meta WHERE key = 'session_start_realtime_ns'"), "1712195495519689047");
  EXPECT_EQ(db.number("SELECT pid FROM process"), 500);
}

TEST_F(ImportTest, OldGenerationsAreBareArraysWithOtherNames) {
  const Database& db = imported(R"json([
    {"ph": "X", "cat": "Operator", "name": "aten::add", "pid": 9, "tid": "9", "ts": 100, "dur": 50, "args": {"Input dims": [[2, 3]]}},
    {"ph": "X", "cat": "Runtime", "name": "cudaMemcpy", "pid": 9, "tid": "9", "ts": 110, "dur": 5, "args": {"correlation": 4}},
    {"ph": "X", "cat": "Kernel", "name": "k", "pid": 0, "tid": "stream 7", "ts": 120, "dur": 10, "args": {"correlation": 3}},
    {"ph": "X", "cat": "Memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "pid": 0, "tid": "stream 7", "ts": 140, "dur": 1, "args": {
  "device" : 0, "stream" : 7, "correlation" : 4, "bytes" : 640}},
    {"ph": "X", "cat": "Memset", "name": "Memset (Device)", "pid": 0, "tid": "stream 7", "ts": 150, "dur": 1, "args": {"bytes": 64}},
    {"ph": "i", "s": "t", "name": "[memory]", "pid": 9, "tid": 9, "ts": 160, "args": {"Device Type": 0, "Device Id": -1, "Bytes": 4}}
  ])json");
  EXPECT_EQ(db.number("SELECT count(*) FROM process"), 1);
  EXPECT_EQ(db.rows("SELECT stream, device FROM kernels"), (std::vector<Database::Row>{{"7", "0"}}));
  EXPECT_EQ(db.rows("SELECT name, source_kind, target_kind, bytes, is_async FROM copies"),
            (std::vector<Database::Row>{{"copy HtoD", "pageable", "device", "640", "0"}}));
  EXPECT_EQ(db.number("SELECT bytes FROM memory_set"), 64);
  EXPECT_EQ(db.rows("SELECT name, duration_ns, input_dims FROM operators"),
            (std::vector<Database::Row>{{"aten::add", "50000", "[[2, 3]]"}}));
  EXPECT_EQ(db.rows("SELECT text, value FROM counter_sample JOIN string ON id = name_id"),
            (std::vector<Database::Row>{{"torch allocated bytes since the trace's start, CPU", "4.0"}}));
}

TEST_F(ImportTest, RangesNestByTimeWhateverTheOrderInTheFile) {
  const Database& db =
      imported(traceOf({hostEvent("user_annotation", "inner", "120", "10"), hostEvent("other", "outer", "100", "100"),
                        hostEvent("user_annotation", "ProfilerStep#3", "110", "50"),
                        hostEvent("gpu_user_annotation", "ProfilerStep#3", "115", "60")}));
  EXPECT_EQ(db.rows("SELECT r.name, r.domain, r.depth, coalesce(p.name, '-') FROM ranges r LEFT JOIN ranges p ON p.id "
                    "= r.parent_id "
                    "WHERE r.kind = 'push_pop' ORDER BY r.depth"),
            (std::vector<Database::Row>{{"outer", "other", "0", "-"},
                                        {"ProfilerStep#3", "user_annotation", "1", "outer"},
                                        {"inner", "user_annotation", "2", "ProfilerStep#3"}}));
  EXPECT_EQ(db.number("SELECT count(*) FROM steps"), 1) << "the copy on the GPU is no step";
}

TEST_F(ImportTest, NcclMetadataBecomesCollectivesOfTheirKernels) {
  const std::string metadata =
      R"(, "Collective name": "_allgather_base", "In msg nelems": 100, "Out msg nelems": 200, "Group size": 2, "dtype": "Half", "Process Group Name": "0", "Seq": 5)";
  const Database& db = imported(traceOf(
      {hostEvent("cuda_runtime", "cudaLaunchKernel", "1", "2", R"({"correlation": 11})"),
       kernelEvent("ncclDevKernel_AllGather(args)", "10", "5", 11, metadata), kernelEvent("gemm", "20", "5", 12)}));
  EXPECT_EQ(db.rows("SELECT operation, datatype, bytes, element_count, sequence, n_ranks, start_ns, device_start_ns "
                    "FROM collectives"),
            (std::vector<Database::Row>{{"AllGather", "ncclFloat16", "400", "100", "5", "2", "0", "9000"}}));
}

TEST_F(ImportTest, CollectivesStayUnlinkedWhereRecordsWouldMislead) {
  const std::string metadata = R"(, "Collective name": "allreduce", "In msg nelems": 1, "dtype": "Float")";
  // One graph launch: its correlation id is that of the other kernels too.
  const Database& db = imported(traceOf(
      {kernelEvent("ncclDevKernel_AllReduce(args)", "10", "5", 11, metadata), kernelEvent("gemm", "20", "5", 11)}));
  EXPECT_EQ(db.number("SELECT count(*) FROM collectives WHERE kernel_id IS NULL"), 1);
  EXPECT_EQ(db.number("SELECT count FROM diagnostic WHERE code = 'collectives_not_linked'"), 1);
}

TEST_F(ImportTest, SeveralFilesAreRanksOnOneClock) {
  const auto fromContent =
      write("a.json", traceOf({kernelEvent("k", "100", "1", 1)}, R"("distributedInfo": {"rank": 1, "world_size": 4})"));
  const auto fromName =
      write("host_rank3.json", traceOf({kernelEvent("k", "40", "1", 1)}, R"("baseTimeNanoseconds": 50000)"));
  const auto result = import({fromContent, fromName});
  ASSERT_TRUE(result.ok()) << result.error().message;
  const Database db(output());
  EXPECT_EQ(db.rows("SELECT rank, start_ns FROM kernels ORDER BY rank"),
            (std::vector<Database::Row>{{"1", "10000"}, {"3", "0"}}));
  EXPECT_EQ(db.number("SELECT count FROM diagnostic WHERE code = 'rank_missing'"), 2);
}

TEST_F(ImportTest, FilesOfOneRankAreNamedWithWhatHelps) {
  const auto trace = [](const char* kernel) {
    return traceOf({kernelEvent(kernel, "100", "1", 1)}, R"("distributedInfo": {"rank": 0, "world_size": 1})");
  };
  const auto result = import({write("a.json", trace("k")), write("b.json", trace("l"))});
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_THAT(result.value().warnings, testing::ElementsAre(testing::AllOf(
                                           HasSubstr("a.json and b.json are all of rank 0"), HasSubstr("--rank 0,1"))));
  EXPECT_EQ(Database(output()).number("SELECT count FROM diagnostic WHERE code = 'rank_repeated'"), 2);
}

TEST_F(ImportTest, RanksCanBeGiven) {
  const auto file = write("a.json", traceOf({kernelEvent("k", "100", "1", 1)}, R"("distributedInfo": {"rank": 1})"));
  EXPECT_THAT(import({file}, {1, 2}).error().message, HasSubstr("2 ranks for 1 files"));
  ASSERT_TRUE(import({file}, {7}).ok());
  EXPECT_EQ(Database(output()).number("SELECT rank FROM process"), 7);
}

TEST_F(ImportTest, RanksAreReadFromNamesThatHaveThem) {
  const std::string trace = traceOf({kernelEvent("k", "100", "1", 1)});
  const std::string other = traceOf({kernelEvent("other", "100", "1", 1)});  // not a copy of one that has a rank
  const auto result = import({write("rank-2.json", trace), write("x_rank_5.json", trace), write("RANK7.json", trace),
                              write("w.11.pt.trace.json", trace), write("w.1712195495519.pt.trace.json", other)});
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(Database(output()).rows("SELECT rank FROM process ORDER BY id"),
            (std::vector<Database::Row>{{"2"}, {"5"}, {"7"}, {"11"}, {"NULL"}}));
}

TEST_F(ImportTest, TheHostIsReadWhereTheFileSaysIt) {
  const auto file = [&](const std::string& name, const std::string& extra = "") {
    return write(name, traceOf({hostEvent("cpu_op", "of " + name, "100", "8")}, extra));  // of process 500
  };
  // As tensorboard_trace_handler names its files: host, pid, time.
  const auto result =
      import({file("node_7_500.1712195495519689047.pt.trace.json"), file("worker_3.1712195495519689047.pt.trace.json"),
              file("localhost_500.1712195495519689047.pt.trace.json"), file("a.json"),
              file("b.json", R"("hostName": "node8")")});
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(Database(output()).rows("SELECT text FROM process JOIN string ON string.id = host_id ORDER BY process.id"),
            (std::vector<Database::Row>{{"node_7"}, {""}, {""}, {""}, {"node8"}}));
}

TEST_F(ImportTest, GenericChromeTracesHaveAProcessPerPid) {
  const Database& db = imported(R"([
    {"ph": "M", "name": "process_name", "pid": 2, "tid": 0, "args": {"name": "browser"}},
    {"ph": "B", "cat": "net", "name": "load", "pid": 2, "tid": 3, "ts": 10},
    {"ph": "B", "cat": "net", "name": "parse", "pid": 2, "tid": 3, "ts": 12},
    {"ph": "E", "pid": 2, "tid": 3, "ts": 15},
    {"ph": "E", "pid": 2, "tid": 3, "ts": 20},
    {"ph": "E", "pid": 2, "tid": 3, "ts": 21},
    {"ph": "b", "cat": "io", "id": "0x1", "name": "read", "pid": 4, "tid": 3, "ts": 11},
    {"ph": "e", "cat": "io", "id": "0x1", "name": "read", "pid": 4, "tid": 5, "ts": 13},
    {"ph": "b", "cat": "io", "id": "0x2", "name": "open", "pid": 4, "tid": 3, "ts": 14},
    {"ph": "C", "name": "load", "pid": 4, "ts": 14, "args": {"cpu": 0.5, "what": "x"}},
    {"ph": "v", "name": "dump", "pid": 4, "ts": 14}
  ])");
  EXPECT_EQ(db.rows("SELECT pid, name FROM processes ORDER BY pid"),
            (std::vector<Database::Row>{{"2", "browser"}, {"4", "4"}}));
  EXPECT_EQ(db.rows("SELECT name, kind, start_ns, duration_ns, depth FROM ranges ORDER BY start_ns"),
            (std::vector<Database::Row>{{"load", "push_pop", "0", "10000", "0"},
                                        {"read", "start_end", "1000", "2000", "0"},
                                        {"parse", "push_pop", "2000", "3000", "1"},
                                        {"open", "start_end", "4000", "NULL", "0"}}));
  EXPECT_EQ(db.rows("SELECT text, value FROM counter_sample JOIN string ON id = name_id"),
            (std::vector<Database::Row>{{"load: cpu", "0.5"}}));
  EXPECT_EQ(db.rows("SELECT code, count FROM diagnostic ORDER BY code"),
            (std::vector<Database::Row>{
                {"end_without_begin", "1"}, {"metadata_event", "1"}, {"never_ended", "1"}, {"other_phase", "1"}}));
}

TEST_F(ImportTest, CompressionIsLookedThrough) {
  const std::string text = traceOf({kernelEvent("k", "100", "1", 1)});
  const auto gz = import({write("one", gzip(text.substr(0, 40)) + gzip(text.substr(40)))});  // two members
  ASSERT_TRUE(gz.ok()) << gz.error().message;
  std::filesystem::remove(output());
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
  const auto zstd = import({write("two", packed)});
  ASSERT_TRUE(zstd.ok()) << zstd.error().message;
  EXPECT_EQ(zstd.value().events, 1u);
  EXPECT_TRUE(zstd.value().warnings.empty());
}

TEST_F(ImportTest, WhatIsNoTraceIsRefusedInOneSentenceAndLeavesNothing) {
  EXPECT_THAT(errorOf(""), HasSubstr("is empty"));
  EXPECT_THAT(errorOf("hello"), HasSubstr("no trace that can be imported"));
  EXPECT_THAT(errorOf("\"text\""), HasSubstr("no trace that can be imported"));
  EXPECT_THAT(errorOf("{\"a\": 1}"), HasSubstr("no array 'traceEvents'"));
  EXPECT_THAT(errorOf("{\"traceEvents\": 5}"), HasSubstr("no array 'traceEvents'"));
  EXPECT_THAT(errorOf("{\"traceEvents\": []}"), HasSubstr("holds no trace event"));
  EXPECT_THAT(errorOf("[1, 2, \"x\"]"), HasSubstr("holds no trace event"));
  EXPECT_THAT(errorOf(std::string("SQLite format 3\0", 16) + std::string(100, 'x')), HasSubstr("trace.json"));
  EXPECT_THAT(import({m_folder.file("absent")}).error().message, HasSubstr("Cannot open"));
  EXPECT_THAT(import({m_folder.path()}).error().message, HasSubstr("is a folder"));
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(m_folder.path()))
    files += entry.path().filename() != "trace.json";
  EXPECT_EQ(files, 0u);
}

TEST_F(ImportTest, AnExistingFileIsNeverTouched) {
  write("out.sqlite", "precious");
  EXPECT_THAT(errorOf(traceOf({kernelEvent("k", "1", "1", 1)})), HasSubstr("exists already"));
  EXPECT_EQ(std::filesystem::file_size(output()), 8u);
}

std::string rangeEvent(const char* phase, const char* name, int ts, const std::string& more = "") {
  return std::string(R"({"ph": ")") + phase + R"(", "cat": "c", "name": ")" + name +
         R"(", "pid": 1, "tid": 1, "ts": )" + std::to_string(ts) + more + "}";
}
const char* const kRangeTimes =
    "SELECT text, start_ns, duration_ns FROM range JOIN string ON string.id = name_id ORDER BY start_ns";

TEST_F(ImportTest, BeginsAndEndsArePairedByTimeNotByTheirPlaceInTheFile) {
  const Database& db =
      imported(traceOf({rangeEvent("B", "outer", 10), rangeEvent("B", "inner", 20), rangeEvent("E", "outer", 50),
                        rangeEvent("E", "inner", 30), rangeEvent("E", "early", 70), rangeEvent("B", "early", 60)}));
  EXPECT_EQ(
      db.rows(kRangeTimes),
      (std::vector<Database::Row>{{"outer", "0", "40000"}, {"inner", "10000", "10000"}, {"early", "50000", "10000"}}));
  EXPECT_EQ(db.rows("SELECT code FROM diagnostic"), (std::vector<Database::Row>{}));
  EXPECT_EQ(db.text("SELECT o.text FROM range r JOIN range p ON p.id = r.parent_id JOIN string o ON o.id = p.name_id"),
            "outer");
}

TEST_F(ImportTest, AnEndBeforeItsBeginEndsNothing) {
  const Database& db = imported(traceOf({rangeEvent("B", "late", 100), rangeEvent("E", "late", 40)}));
  EXPECT_EQ(db.rows(kRangeTimes), (std::vector<Database::Row>{{"late", "60000", "NULL"}}));
  EXPECT_EQ(db.rows("SELECT code, count FROM diagnostic ORDER BY code"),
            (std::vector<Database::Row>{{"end_without_begin", "1"}, {"never_ended", "1"}}));
}

TEST_F(ImportTest, AsynchronousEventsArePairedByTheIdThatId2Holds) {
  const Database& db = imported(traceOf({rangeEvent("b", "one", 10, R"(, "id2": {"local": "0x1"})"),
                                         rangeEvent("b", "two", 20, R"(, "id2": {"global": "0x1"})"),
                                         rangeEvent("e", "one", 30, R"(, "id2": {"local": "0x1"})"),
                                         rangeEvent("e", "two", 60, R"(, "id2": {"global": "0x1"})")}));
  EXPECT_EQ(db.rows(kRangeTimes), (std::vector<Database::Row>{{"one", "0", "20000"}, {"two", "10000", "40000"}}));
}

}  // namespace
}  // namespace plumb::test
