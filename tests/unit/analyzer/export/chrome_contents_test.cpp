// SPDX-License-Identifier: Apache-2.0
// Every table of the trace format goes into a Chrome trace, or is named as left out; what is in comes back.
#include "analyzer/export/chrome_contents.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/export/chrome.h"
#include "tests/unit/analyzer/export/contents_testing.h"

namespace plumb::test {
namespace {

RoundTripped roundTrip(const Folder& folder, const std::vector<std::string>& statements) {
  return roundTrip(folder, statements, [&](Trace& trace) -> Written {
    exports::ChromeOptions options;
    options.output = folder.file("trace.json");
    const auto written = valueOf(exports::exportChrome(trace, options));
    return {written.files, written.leftOut};
  });
}

TEST(ChromeContents, NameEveryTableOfTheSchema) { expectEveryTable(exports::chromeContents()); }

// Of the first call, from which the times of the imported file may count otherwise.
const std::string kZero = "(SELECT min(start_ns) FROM api_call)";

TEST(ChromeContents, CallsOfLibrariesAndOfTheSystemComeBackWithTheirStacks) {
  const Folder folder;
  RoundTripped trip = roundTrip(
      folder, {"INSERT INTO api_call VALUES (1, 1, 1, 100, 50, text('cudaLaunchKernel'), 'runtime', 7, 0)",
               "INSERT INTO library_call VALUES (1, 1, 1, 90, 80, text('cublasGemmEx'), 64, 32, 16, 2, 1, 0,"
               " text('fp16'), text('bf16'), text('fp32'), text('tf32'), 131072.0, 5000.0, 9)",
               "INSERT INTO correlation_link VALUES (1, 9, 7)", "INSERT INTO stack VALUES (1, text('train.py:3 main'))",
               "INSERT INTO stack_frame VALUES (1, 0, text('read'), text('libc.so'), 0)",
               "INSERT INTO stack_frame VALUES (1, 1, text('main'), text('train.py'), 3)",
               "INSERT INTO os_call VALUES (1, 1, 1, 200, 1000, text('poll'), -1, 1)",
               "INSERT INTO api_call_stack VALUES (1, 1)"});
  EXPECT_EQ(trip.leftOut, "");
  expectSame(trip, {"SELECT start_ns - " + kZero +
                        ", duration_ns, n.text, m, n, k, batch, transpose_a, transpose_b, a.text, b.text, c.text,"
                        " u.text, flops, bytes, l.correlation FROM library_call JOIN string n ON n.id = name_id"
                        " JOIN string a ON a.id = datatype_a_id JOIN string b ON b.id = datatype_b_id JOIN string c"
                        " ON c.id = datatype_c_id JOIN string u ON u.id = compute_type_id"
                        " JOIN correlation_link l ON l.external_id = library_call.external_id",
                    "SELECT o.start_ns - " + kZero +
                        ", o.duration_ns, o.name, o.result, s.function, s.file, s.line, s.name FROM os_calls o"
                        " JOIN stacks s ON s.stack_id = o.stack_id ORDER BY s.depth",
                    "SELECT s.function, s.file FROM api_call_stack a JOIN stacks s ON s.stack_id = a.stack_id"
                    " ORDER BY s.depth"});
}

TEST(ChromeContents, CollectivesWithoutAKernelComeBackWithTheirState) {
  const Folder folder;
  RoundTripped trip = roundTrip(
      folder,
      {"INSERT INTO api_call VALUES (1, 1, 1, 100, 50, text('cudaLaunchKernel'), 'runtime', 7, 0)",
       "INSERT INTO communicator VALUES (1, 1, 77, text('tensor parallel'), 2, 1, 1)",
       "INSERT INTO communicator VALUES (2, 1, 78, text('never used'), 4, 0, 1)",
       "INSERT INTO communicator_member VALUES (2, 0, 0), (2, 1, 2), (2, 2, 4), (2, 3, 6)",
       "INSERT INTO collective VALUES (1, 1, 1, 1, 500, 20, 3, text('Broadcast'), text('ncclFloat32'), 8, 32, 1, NULL,"
       " text('RING'), text('LL128'), 4, NULL, NULL)",
       "INSERT INTO collective VALUES (2, 1, 1, 1, 600, 20, 4, text('Send'), text('ncclBfloat16'), 8, 16, NULL, 1, "
       "NULL,"
       " NULL, NULL, NULL, NULL)",
       "INSERT INTO collective_state VALUES (1, text('nccl:broadcast'), 'started', NULL, 650, NULL, 600000000000,"
       " text('8'), text('8'), NULL)",
       "INSERT INTO collective_timing VALUES (2, 12345, 'cuda_events', 1.5e9, NULL)",
       "INSERT INTO communicator_state VALUES (1, text('1'), text('TP'), 3, 3, 2)"});
  EXPECT_EQ(trip.leftOut, "Not in the file, which has no place for them: states of communicators (1).");
  expectSame(trip, {"SELECT start_ns - " + kZero +
                        ", duration_ns, operation, communicator_name, n_ranks, communicator_rank, sequence, datatype,"
                        " element_count, bytes, root, peer, algorithm, protocol, channels FROM collectives ORDER BY 1",
                    "SELECT name, state, started_ns - " + kZero +
                        ", completed_ns, timeout_ns, input_sizes, output_sizes FROM collective_states",
                    "SELECT duration_ns, source, algbw_bytes_per_s, busbw_bytes_per_s FROM collective_timing",
                    "SELECT s.text, n_ranks, group_concat(m.rank) FROM communicator c JOIN string s ON s.id = c.name_id"
                    " LEFT JOIN communicator_member m ON m.communicator_id = c.id GROUP BY c.id ORDER BY 1"});
}

TEST(ChromeContents, AllCollectivesOfOneLaunchComeBack) {
  const Folder folder;
  RoundTripped trip = roundTrip(
      folder,
      {"INSERT INTO api_call VALUES (1, 1, 1, 100, 50, text('cudaLaunchKernel'), 'runtime', 7, 0)",
       "INSERT INTO kernel SELECT 1, 1, 1, 1, 300, 90, text('ncclDevKernel_SendRecv'),"
       " text('ncclDevKernel_SendRecv'), text('ncclDevKernel_SendRecv'), 7, 1, 1, 1, 32, 1, 1, 8, 0, 0, 0, NULL,"
       " NULL, 0",
       "INSERT INTO communicator VALUES (1, 1, 77, NULL, 2, 1, 1)",
       "INSERT INTO collective VALUES (1, 1, 1, 1, 90, 5, 3, text('Send'), text('ncclInt8'), 8, 8, NULL, 0, NULL,"
       " NULL, NULL, NULL, 5)",
       "INSERT INTO collective VALUES (2, 1, 1, 1, 95, 5, 4, text('Recv'), text('ncclInt8'), 9, 9, NULL, 0, NULL,"
       " NULL, NULL, NULL, 5)",
       "INSERT INTO correlation_link VALUES (1, 5, 7)"});
  expectSame(trip, {"SELECT start_ns - " + kZero +
                    ", duration_ns, operation, peer, bytes, sequence, device_duration_ns FROM collectives ORDER BY 1"});
}

TEST(ChromeContents, MemoryOfEveryKindComesBack) {
  const Folder folder;
  RoundTripped trip =
      roundTrip(folder, {"INSERT INTO api_call VALUES (1, 1, 1, 100, 50, text('cudaMalloc'), 'runtime', 7, 0)",
                         "INSERT INTO allocation VALUES (1, 1, 1, NULL, 200, 4096, 512, 'device', 1, NULL)",
                         "INSERT INTO allocation VALUES (2, 1, NULL, NULL, 210, 8192, 256, 'pinned', 0, NULL)",
                         "INSERT INTO allocation VALUES (3, 1, 1, NULL, 220, 4096, 1024, 'reserved', 0, NULL)",
                         "INSERT INTO deallocation VALUES (2, 900, NULL)",
                         "INSERT INTO stack VALUES (4, text('model.py:9 forward'))",
                         "INSERT INTO stack_frame VALUES (4, 0, text('forward'), text('/home/a/model.py'), 9)",
                         "INSERT INTO allocation_detail VALUES (1, 500, 4)",
                         "INSERT INTO memory_region VALUES (1, 1, 205, 4096, 128, text('gradient/w1'), 'gradient')",
                         "INSERT INTO memory_region VALUES (2, 1, 207, 4224, 128, text('w2'), 'unattributed')",
                         "INSERT INTO memory_region_end VALUES (1, 800)"});
  expectSame(trip, {"SELECT start_ns - " + kZero + ", bytes, address, space, freed_ns - " + kZero +
                        ", requested_bytes, from_pool, name, category, device FROM allocations ORDER BY 1",
                    "SELECT r.start_ns - " + kZero + ", r.address, r.bytes, s.text, r.category, e.start_ns - " + kZero +
                        " FROM memory_region r JOIN string s ON s.id = r.name_id LEFT JOIN memory_region_end e"
                        " ON e.region_id = r.id ORDER BY 1"});
}

// Ranges of NVTX's default domain are torch.profiler's user_annotation in the file, and memory has totals in it that
// nobody counted.
TEST(ChromeContents, WhatTorchsWordsStandForComesBack) {
  for (const std::string domain : {"''", "'user_annotation'"}) {
    const Folder folder;
    RoundTripped trip =
        roundTrip(folder, {"INSERT INTO range VALUES (1, 1, 1, NULL, 10, 5, 'push_pop', 0, NULL, text(" + domain +
                               "), text('forward'), NULL, NULL)",
                           "INSERT INTO allocation VALUES (1, 1, 1, NULL, 200, 4096, 512, 'device', 1, NULL)"});
    expectSame(trip, {"SELECT s.text, domain_id = 0 FROM range JOIN string s ON s.id = domain_id"});
    EXPECT_THAT(rowsOf(trip.after, "SELECT * FROM counter_sample"), testing::IsEmpty());
  }
}

TEST(ChromeContents, DevicesRoofsEventRecordsAndDiagnosticsComeBack) {
  const Folder folder;
  RoundTripped trip = roundTrip(
      folder, {"INSERT INTO api_call VALUES (1, 1, 1, 100, 50, text('cudaEventRecord'), 'runtime', 7, 0)",
               "UPDATE device SET kind = 'software', uuid = '0123456789abcdef0123456789abcdef',"
               " memory_bandwidth_bytes_per_s = 900000000000, core_clock_hz = 1980000000,"
               " max_threads_per_multiprocessor = 2048, compute_major = 9, compute_minor = 0",
               "INSERT INTO device_roof SELECT process_id, ordinal, 'bf16', 9.5e14, 'measured' FROM device",
               "INSERT INTO event_record VALUES (1, 1, 1, 400, 11, 3, 7)",
               "INSERT INTO diagnostic VALUES (1, 1, 120, 'error', 'cupti', 'ring_full', 300, 'Lost \"300\" events.')",
               "INSERT INTO process_variable VALUES (1, text('trace.with_stack'), text('1'))"});
  expectSame(
      trip,
      {"SELECT name, ordinal, kind, uuid, compute_major, compute_minor, multiprocessor_count, memory_bytes,"
       " memory_bandwidth_bytes_per_s, core_clock_hz, max_threads_per_multiprocessor FROM devices",
       "SELECT ordinal, resource, per_second, source FROM device_roof",
       "SELECT e.start_ns - " + kZero +
           ", event_id, sync_id, correlation, st.number FROM event_record e JOIN stream st"
           " ON st.id = e.stream_id",
       "SELECT start_ns - " + kZero + ", severity, lane, name, count, message FROM diagnostics WHERE lane <> 'import'",
       "SELECT v.text FROM process_variable JOIN string n ON n.id = name_id JOIN string v ON v.id = value_id"
       " WHERE n.text = 'trace.with_stack'"});
}

TEST(ChromeContents, WhatIsLeftOutIsSaid) {
  const Folder folder;
  RoundTripped trip =
      roundTrip(folder, {"INSERT INTO api_call VALUES (1, 1, 1, 100, 50, text('cudaEventRecord'), 'runtime', 7, 0)",
                         "INSERT INTO process_variable VALUES (1, text('WORLD_SIZE'), text('1'))",
                         "INSERT INTO clock_pair VALUES (1, 5, 6, NULL), (1, 7, 8, NULL)",
                         "INSERT INTO event_record VALUES (1, 1, 1, NULL, 11, 3, 7)"});
  EXPECT_EQ(trip.leftOut,
            "Not in the file, which has no place for them: environment variables (1), pairs of clock readings (2), "
            "records of events whose time is not known (1).");
}

TEST(ChromeContents, ATraceWithoutProcessesIsRefused) {
  const Folder folder;
  { const TraceBuilder builder(folder.file("a.sqlite")); }
  Trace trace = valueOf(Trace::open(folder.file("a.sqlite")));
  exports::ChromeOptions options;
  options.output = folder.file("ranks");
  options.isFolder = true;
  EXPECT_THAT(errorOf(exports::exportChrome(trace, options)), testing::HasSubstr("has no process"));
  EXPECT_FALSE(std::filesystem::exists(options.output));
}

}  // namespace
}  // namespace plumb::test
