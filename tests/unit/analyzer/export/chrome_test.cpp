// SPDX-License-Identifier: Apache-2.0
// What is written as Chrome JSON and imported again is the same, to the nanosecond.
#include "analyzer/export/chrome.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "analyzer/analyses/hta/hta_trace.h"
#include "analyzer/import/import.h"
#include "tests/unit/analyzer/export/export_testing.h"

namespace plumb::test {
namespace {

// Times as they are not: with all digits, zero and large.
void makeRandomTrace(const std::string& path, uint32_t seed, int64_t ranks) {
  std::mt19937_64 random(seed);
  const auto upTo = [&](int64_t limit) { return static_cast<int64_t>(random() % static_cast<uint64_t>(limit)); };
  const char* const kNames[] = {"gemm",        "a \"quoted\" name", "line\nend", "\xc3\xa4\xc3\xb6",
                                "back\\slash", "ncclDevKernel_x"};
  TraceBuilder trace(path);
  trace.setMeta("session_start_realtime_ns", "1700000000123456789");
  for (int64_t r = 0; r < ranks; ++r) {
    const OneRank rank(trace, r, ranks);
    int64_t host = upTo(1'000'000), gpu = host + 1'000'000;
    for (int i = 0; i < 60; ++i) {
      const int64_t correlation = trace.newCorrelation(), duration = upTo(5'000);
      trace.addApiCall(rank.process, rank.thread, host, duration, "cudaLaunchKernel", correlation);
      host += duration + 1 + upTo(2'000);
      gpu += upTo(3'000);
      const int64_t length = upTo(3) == 0 ? upTo(3) : upTo(4'000'000'000);
      switch (upTo(4)) {
        case 0:
          trace.addCopy(rank.work(gpu, length, correlation), upTo(1 << 30), 1 + upTo(2), 1 + upTo(2), 3);
          break;
        case 1:
          trace.addSet(rank.work(gpu, length, correlation), upTo(1 << 30));
          break;
        default:
          trace.addKernel(rank.work(gpu, length, correlation), kNames[upTo(6)]);
      }
      gpu += length;
      trace.addCounter(rank.process, host, "loss", static_cast<double>(upTo(1000)) / 8);
      if (i % 10 == 0) trace.addRange(rank.process, rank.thread, host, 1 + upTo(100), kNames[upTo(6)]);
    }
  }
}

class RoundTrip : public testing::TestWithParam<int> {};

TEST_P(RoundTrip, KeepsCountsAndExactTimes) {
  const TraceFile original;
  const Folder folder;
  const int64_t ranks = 1 + GetParam() % 2;
  makeRandomTrace(original.path(), static_cast<uint32_t>(GetParam()), ranks);
  Trace before = valueOf(Trace::open(original.path()));
  exports::ChromeOptions options;
  options.output = folder.file("ranks");
  options.isFolder = true;
  const auto written = valueOf(exports::exportChrome(before, options));
  ASSERT_EQ(written.files.size(), static_cast<size_t>(ranks));
  import::ImportOptions again;
  again.files = written.files;
  again.output = folder.file("again.sqlite");
  again.version = "test";
  const auto imported = valueOf(import::importTraces(again));
  EXPECT_EQ(imported.damaged, 0u);
  Trace after = valueOf(Trace::open(again.output));
  // Of each rank, relative to its first call: an importer may choose another zero.
  const std::string zero = " - (SELECT min(z.start_ns) FROM main.api_call z WHERE z.process_id = e.process_id)";
  for (const std::string& sql :
       {"SELECT rank, full_name, start_ns" + zero + ", duration_ns, stream FROM kernels e ORDER BY 1, 3, 4, 2",
        "SELECT rank, copy_kind, source_kind, target_kind, bytes, start_ns" + zero +
            ", duration_ns, stream FROM copies e ORDER BY 1, 6, 7",
        "SELECT rank, bytes, start_ns" + zero + ", duration_ns, stream FROM memory_sets e ORDER BY 1, 3, 4",
        "SELECT rank, name, start_ns" + zero + ", duration_ns, correlation FROM api_calls e ORDER BY 1, 3",
        "SELECT rank, name, start_ns" + zero + ", duration_ns FROM ranges e ORDER BY 1, 3",
        "SELECT p.rank, s.text, e.start_ns" + zero +
            ", e.value FROM main.counter_sample e JOIN main.process p ON p.id = e.process_id JOIN main.string s ON "
            "s.id = e.name_id ORDER BY 1, 3"}) {
    const auto rows = rowsOf(before, sql);
    EXPECT_FALSE(rows.empty()) << sql;
    EXPECT_EQ(rows, rowsOf(after, sql)) << sql;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RoundTrip, testing::Range(1, 7));

TEST(ChromeExport, KeepsCollectives) {
  const TraceFile original;
  const Folder folder;
  makeSampleTrace(original.path(), {.ranks = 2, .layers = 2, .steps = 3});
  Trace before = valueOf(Trace::open(original.path()));
  exports::ChromeOptions options;
  options.output = folder.file("ranks");
  options.isFolder = true;
  import::ImportOptions again;
  again.files = valueOf(exports::exportChrome(before, options)).files;
  again.output = folder.file("again.sqlite");
  again.version = "test";
  valueOf(import::importTraces(again));
  Trace after = valueOf(Trace::open(again.output));
  for (const char* sql : {"SELECT rank, operation, element_count, bytes, device_duration_ns FROM collectives ORDER BY "
                          "rank, start_ns, device_start_ns",
                          "SELECT rank, step FROM steps ORDER BY 1, 2"}) {
    const auto rows = rowsOf(before, sql);
    EXPECT_FALSE(rows.empty());
    EXPECT_EQ(rows, rowsOf(after, sql)) << sql;
  }
}

TEST(ChromeExport, CountsTimesFromAWholeMicrosecond) {
  const TraceFile original;
  const Folder folder;
  {
    TraceBuilder builder(original.path());
    const OneRank rank(builder);
    builder.execute("UPDATE meta SET value = '1700000000000000629' WHERE key = 'session_start_realtime_ns'");
    builder.addApiCall(rank.process, rank.thread, 1000, 2500, "cudaMalloc", 1);
  }
  Trace trace = valueOf(Trace::open(original.path()));
  exports::ChromeOptions options;
  options.output = folder.file("a.json");
  valueOf(exports::exportChrome(trace, options));
  const std::string text = contentOf(options.output);
  EXPECT_THAT(text, testing::HasSubstr("\"baseTimeNanoseconds\": 1700000000000000000,"));
  EXPECT_THAT(text, testing::HasSubstr("\"ts\": 1.629, \"dur\": 2.500"));
}

TEST(ChromeExport, RefusesANameThatIsTaken) {
  const TraceFile original;
  const Folder folder;
  makeSampleTrace(original.path(), {.ranks = 1, .layers = 1, .steps = 1});
  Trace trace = valueOf(Trace::open(original.path()));
  exports::ChromeOptions options;
  options.output = folder.file("a.json");
  valueOf(exports::exportChrome(trace, options));
  EXPECT_THAT(errorOf(exports::exportChrome(trace, options)), testing::HasSubstr("--force"));
  options.replace = true;
  EXPECT_EQ(errorOf(exports::exportChrome(trace, options)), "");
}

TEST(ChromeExport, TheRanksOfAnEarlierExportDoNotStayInTheFolder) {
  const Folder folder;
  makeSampleTrace(folder.file("three.sqlite"), {.ranks = 3, .layers = 1, .steps = 1});
  makeSampleTrace(folder.file("one.sqlite"), {.ranks = 1, .layers = 1, .steps = 1});
  Trace three = valueOf(Trace::open(folder.file("three.sqlite")));
  Trace one = valueOf(Trace::open(folder.file("one.sqlite")));
  exports::ChromeOptions options;
  options.output = folder.file("ranks");
  options.isFolder = true;
  valueOf(exports::exportChrome(three, options));
  std::ofstream(folder.file("ranks/rank1.notes.txt")) << "somebody's";
  std::filesystem::remove(folder.file("ranks/rank0.json.gz"));
  EXPECT_THAT(errorOf(exports::exportChrome(one, options)), testing::HasSubstr("rank1.json.gz exists already"));
  options.replace = true;
  valueOf(exports::exportChrome(one, options));
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(options.output)) {
    names.push_back(entry.path().filename().string());
  }
  EXPECT_THAT(names, testing::UnorderedElementsAre("rank0.json.gz", "rank1.notes.txt"));
}

TEST(ChromeExport, KeepsArrowsMemoryOfTheHostAndTheRankInOneFile) {
  const Folder folder;
  const auto event = [](const std::string& phase, const std::string& more) {
    return R"({"ph": ")" + phase + R"(", "pid": 5, "tid": 6, )" + more + "}";
  };
  const auto memory = [&](int ts, int type, int address, int bytes) {
    return event("i", fmt::format(R"("s": "t", "cat": "cpu_instant_event", "name": "[memory]", "ts": {}, "args": )"
                                  R"({{"Addr": {}, "Bytes": {}, "Device Type": {}, "Device Id": {}}})",
                                  ts, address, bytes, type, type - 1));
  };
  std::ofstream(folder.file("first.json"))
      << "{\"distributedInfo\": {\"rank\": 3, \"world_size\": 8}, \"traceEvents\": ["
      << event("X", R"("cat": "cpu_op", "name": "aten::mm", "ts": 1, "dur": 9)") << ","
      << event("s", R"("cat": "fwdbwd", "name": "fwdbwd", "id": 7, "ts": 2)") << ","
      << event("f", R"("cat": "fwdbwd", "name": "fwdbwd", "id": 7, "ts": 8, "bp": "e")") << "," << memory(3, 0, 100, 64)
      << "," << memory(4, 1, 200, 128) << "," << memory(5, 0, 100, -64) << "," << memory(6, 1, 300, 256) << "]}";
  const auto import = [&](const std::string& from, const std::string& to) {
    import::ImportOptions options;
    options.files = {folder.file(from)};
    options.output = folder.file(to);
    (void)valueOf(import::importTraces(options));
    return valueOf(Trace::open(folder.file(to)));
  };
  Trace before = import("first.json", "before.sqlite");
  exports::ChromeOptions options;
  options.output = folder.file("again.json");
  (void)valueOf(exports::exportChrome(before, options));
  Trace after = import("again.json", "after.sqlite");
  for (const char* sql : {"SELECT rank, world_size FROM process",
                          "SELECT text, source_start_ns, target_start_ns FROM flow JOIN string ON string.id = name_id",
                          "SELECT start_ns, bytes, space, freed_ns FROM allocations ORDER BY start_ns"}) {
    const std::vector<std::string> rows = rowsOf(before, sql);
    EXPECT_FALSE(rows.empty()) << sql;
    EXPECT_EQ(rowsOf(after, sql), rows) << sql;
  }
}

class Again : public testing::Test {
 protected:
  Trace importFiles(const std::vector<std::string>& files, const std::string& to) {
    import::ImportOptions options;
    options.files = files;
    options.output = m_folder.file(to);
    (void)valueOf(import::importTraces(options));
    return valueOf(Trace::open(options.output));
  }
  Trace importText(const std::string& text) {
    std::ofstream(m_folder.file("first.json")) << text;
    return importFiles({m_folder.file("first.json")}, "first.sqlite");
  }
  // What is in the export of a trace, imported again.
  Trace again(Trace& trace) {
    exports::ChromeOptions options;
    options.output = m_folder.file("again.json");
    (void)valueOf(exports::exportChrome(trace, options));
    return importFiles({options.output}, "again.sqlite");
  }
  static void expectSame(Trace& before, Trace& after, const std::vector<std::string>& queries) {
    for (const std::string& sql : queries) {
      const auto rows = rowsOf(before, sql);
      EXPECT_FALSE(rows.empty()) << sql;
      EXPECT_EQ(rowsOf(after, sql), rows) << sql;
    }
  }
  Folder m_folder;
};

std::string hostEvent(const std::string& category, const std::string& name, int ts, int dur,
                      const std::string& args = "{}") {
  return fmt::format(R"({{"ph": "X", "cat": "{}", "name": "{}", "pid": 5, "tid": 6, "ts": {}, "dur": {}, "args": {}}})",
                     category, name, ts, dur, args);
}

std::vector<int64_t> htaSteps(Trace& trace) { return valueOf(hta::load(trace)).ranks.at(0).steps; }

TEST_F(Again, StepsKeepTheirNumbersAndTheCopiesOnTheGpuTheirs) {
  Trace before = importText("[" + hostEvent("user_annotation", "ProfilerStep#5", 10, 10) + "," +
                            hostEvent("user_annotation", "ProfilerStep#6", 20, 10) + "," +
                            hostEvent("gpu_user_annotation", "ProfilerStep#5", 12, 10) + "," +
                            hostEvent("gpu_user_annotation", "ProfilerStep#6", 22, 10) + "," +
                            hostEvent("cpu_op", "aten::mm", 11, 5) + "]");
  Trace after = again(before);
  expectSame(before, after,
             {"SELECT name, step, start_ns, duration_ns FROM steps ORDER BY step",
              "SELECT name, kind, start_ns, duration_ns FROM ranges ORDER BY 1, 2, 3"});
  // The copy of the last step begins after that step, which so is not dropped.
  EXPECT_EQ(htaSteps(after), (std::vector<int64_t>{5, 6}));
  EXPECT_EQ(htaSteps(after), htaSteps(before));
}

TEST_F(Again, TheProgramsOwnNameOfItsStepsComesBack) {
  const TraceFile original;
  makeSampleTrace(original.path(), {.ranks = 1, .layers = 2, .steps = 3});
  Trace before = valueOf(Trace::open(original.path()));
  Trace after = again(before);
  expectSame(before, after,
             {"SELECT name, step, duration_ns FROM steps ORDER BY step",
              "SELECT name, count(*), sum(duration_ns) FROM ranges GROUP BY name ORDER BY 1",
              "SELECT text, value FROM range_payload JOIN string ON string.id = name_id ORDER BY 1, 2"});
  EXPECT_EQ(htaSteps(after), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(htaSteps(after), htaSteps(before));
}

TEST_F(Again, TheRanksOfOneFileStayApart) {
  const TraceFile original;
  makeSampleTrace(original.path(), {.ranks = 3, .layers = 2, .steps = 3});
  Trace before = valueOf(Trace::open(original.path()));
  Trace after = again(before);
  expectSame(before, after,
             {"SELECT rank, world_size, pid FROM process ORDER BY rank", "SELECT rank, step FROM steps ORDER BY 1, 2",
              "SELECT rank, full_name, count(*), sum(duration_ns) FROM kernels GROUP BY 1, 2 ORDER BY 1, 2",
              "SELECT rank, name, count(*), sum(duration_ns) FROM api_calls GROUP BY 1, 2 ORDER BY 1, 2",
              "SELECT rank, operation, bytes, device_duration_ns FROM collectives ORDER BY 1, device_start_ns",
              "SELECT p.rank, d.ordinal FROM device d JOIN process p ON p.id = d.process_id ORDER BY 1, 2"});
}

// The containers of a cluster each call their program 1.
TEST_F(Again, ProcessesThatShareAPidGetItBack) {
  const TraceFile original;
  {
    TraceBuilder builder(original.path());
    for (int64_t rank = 0; rank < 2; ++rank) {
      const int64_t process = builder.addProcess({.rank = rank, .worldSize = 2, .pid = 1});
      builder.addApiCall(process, builder.addThread(process, 1), 1000, 500, "cudaMalloc", 0);
    }
  }
  Trace before = valueOf(Trace::open(original.path()));
  Trace after = again(before);
  EXPECT_EQ(rowsOf(before, "SELECT rank, pid FROM process ORDER BY rank"), (std::vector<std::string>{"0|1", "1|1"}));
  expectSame(before, after,
             {"SELECT rank, pid FROM process ORDER BY rank",
              "SELECT rank, name, count(*) FROM api_calls GROUP BY 1, 2 ORDER BY 1"});
}

// A correlation id of 0 is none, so it joins nothing.
TEST_F(Again, WhatHasNoLaunchGetsNone) {
  const TraceFile original;
  {
    TraceBuilder builder(original.path());
    for (int64_t r = 0; r < 2; ++r) {
      const OneRank rank(builder, r, 2);
      builder.addApiCall(rank.process, rank.thread, 1000, 500, "cudaDeviceSynchronize", 0);
      builder.addKernel(rank.work(3000, 700, 5), "launched before the trace");
    }
    builder.execute("UPDATE kernel SET correlation = 0");
  }
  Trace before = valueOf(Trace::open(original.path()));
  Trace after = again(before);
  EXPECT_THAT(contentOf(m_folder.file("again.json")), testing::Not(testing::HasSubstr("ac2g")));
  expectSame(before, after,
             {"SELECT rank, full_name, correlation FROM kernels ORDER BY 1",
              "SELECT rank, name, correlation FROM api_calls ORDER BY 1"});
  EXPECT_EQ(rowsOf(after, "SELECT DISTINCT correlation FROM main.kernel UNION SELECT correlation FROM main.api_call"),
            std::vector<std::string>{"0"});
}

TEST_F(Again, EachProcessOfAFileBeginsAndEndsWithItsOwnEvents) {
  const TraceFile original;
  {
    TraceBuilder builder(original.path());
    for (int64_t rank = 0; rank < 3; ++rank) {
      const int64_t process = builder.addRank(rank, 3), thread = builder.addThread(process);
      // The second begins after the first has ended, the third ends before the first begins.
      const int64_t start = rank == 0 ? 50'000 : rank == 1 ? 90'000 : 1'000;
      builder.addApiCall(process, thread, start, 500, "cudaMalloc", 0);
      builder.addApiCall(process, thread, start + 4'000, 1'500, "cudaFree", 0);
    }
  }
  Trace before = valueOf(Trace::open(original.path()));
  Trace after = again(before);
  EXPECT_EQ(rowsOf(after, "SELECT rank, start_ns, end_ns FROM process ORDER BY rank"),
            (std::vector<std::string>{"0|50000|55500", "1|90000|95500", "2|1000|6500"}));
}

// As torch.autograd.profiler writes them.
TEST_F(Again, OperatorsWithoutIdsAndCallsKeepTheirWork) {
  const auto event = [](const char* phase, const char* name, const char* pid, int ts, const char* more) {
    return fmt::format(R"({{"ph": "{}", "name": "{}", "pid": "{} functions", "tid": 1, "ts": {}, "args": {{}}, {}}})",
                       phase, name, pid, ts, more);
  };
  const char* const arrow = R"("cat": "cpu_to_cuda", "id": 0)";
  Trace before = importText(fmt::format("[{}, {}, {}, {}]", event("X", "aten::mm", "CPU", 10, R"("dur": 5)"),
                                        event("s", "aten::mm", "CPU", 10, arrow), event("f", "gemm", "CUDA", 30, arrow),
                                        event("X", "gemm", "CUDA", 30, R"("dur": 3)")));
  Trace after = again(before);
  expectSame(before, after,
             {"SELECT o.name, k.name, k.duration_ns FROM operator_launch l JOIN operators o ON o.id = l.operator_id "
              "JOIN kernels k ON k.correlation = l.correlation"});
}

TEST_F(Again, OperatorsKeepAllTheirArguments) {
  Trace before = importText(
      "[" +
      hostEvent("cpu_op", "triton_poi_fused_0", 10, 10,
                R"({"External id": 3, "Input Dims": [[2]], "Input Strides": [[1]], "Concrete Inputs": ["", "2"],)"
                R"( "Input type": ["float", "Scalar"], "Fwd thread id": 2, "stream": 615352160,)"
                R"( "kernel_file": "a\"b.py"})") +
      "]");
  Trace after = again(before);
  expectSame(
      before, after,
      {"SELECT external_id, forward_thread FROM operator",
       "SELECT d.text, t.text, s.text, v.text, o.text FROM operator_argument_set a JOIN string d ON d.id = dims_id"
       " JOIN string t ON t.id = types_id JOIN string s ON s.id = strides_id JOIN string v ON v.id = values_id"
       " JOIN string o ON o.id = other_id"});
}

// Programs that sort by time leave events of the same time in the order of the file.
TEST_F(Again, WorkOfAllKindsComesInTheOrderOfItsLaunches) {
  const auto work = [](const std::string& category, const std::string& name, int correlation) {
    return fmt::format(R"({{"ph": "X", "cat": "{}", "name": "{}", "pid": 0, "tid": 7, "ts": 10, "dur": 1, "args": )"
                       R"({{"device": 0, "stream": 7, "correlation": {}, "bytes": 8}}}})",
                       category, name, correlation);
  };
  const std::vector<std::string> names = {"first", "Memcpy HtoD (Pinned -> Device)", "second", "Memset (Device)",
                                          "third", "first of the next buffer"};
  Trace before = importText("[" + work("kernel", names[0], 1) + "," + work("gpu_memcpy", names[1], 2) + "," +
                            work("kernel", names[2], 3) + "," + work("gpu_memset", names[3], 4) + "," +
                            work("kernel", names[4], 5) + "," + work("kernel", names[5], 1) + "]");
  exports::ChromeOptions options;
  options.output = m_folder.file("again.json");
  (void)valueOf(exports::exportChrome(before, options));
  const std::string text = contentOf(options.output);
  size_t at = 0;
  for (const std::string& name : names) {
    const size_t found = text.find("\"" + name + "\"", at);
    ASSERT_NE(found, std::string::npos) << name << " is not behind the one before";
    at = found;
  }
}

// Who rounds times to microseconds as they stand in the file rounds the same ones.
TEST_F(Again, AnImportedTraceKeepsItsClock) {
  Trace before = importText(R"({"baseTimeNanoseconds": 1711964646000000000, "traceEvents": [)" +
                            hostEvent("cpu_op", "aten::mm", 445867652, 5) + "]}");
  exports::ChromeOptions options;
  options.output = m_folder.file("again.json");
  (void)valueOf(exports::exportChrome(before, options));
  const std::string text = contentOf(options.output);
  EXPECT_THAT(text, testing::HasSubstr("\"baseTimeNanoseconds\": 1711964646000000000,"));
  EXPECT_THAT(text, testing::HasSubstr("\"ts\": 445867652.000, \"dur\": 5.000"));
}

// Its first event need not be at its beginning, and what is told of a recording may be of a time before that.
TEST_F(Again, TimesCountFromTheSameMoment) {
  const TraceFile original;
  {
    TraceBuilder builder(original.path());
    builder.setMeta("session_start_realtime_ns", "1700000000123456789");
    const int64_t process = builder.addProcess({}), thread = builder.addThread(process, 1);
    builder.addApiCall(process, thread, 46'977'437, 500, "cudaMalloc", 0);
    builder.addDiagnostic(process, "info", "cupti", "started", 1, "Started.");
    builder.execute("UPDATE diagnostic SET start_ns = -55592340");
  }
  Trace before = valueOf(Trace::open(original.path()));
  Trace after = again(before);
  expectSame(before, after,
             {"SELECT value FROM meta WHERE key = 'session_start_realtime_ns'", "SELECT start_ns FROM api_calls",
              "SELECT lane, start_ns FROM main.diagnostic WHERE lane = 'cupti'"});
}

TEST_F(Again, CountersAreThoseOfTheTraceNotOfItsAllocations) {
  const auto memory = [](int us, int64_t address, int bytes, int total) {
    return fmt::format(
        R"({{"ph": "i", "s": "t", "name": "[memory]", "pid": 5, "tid": 6, "ts": {}, "args": {{"Addr": {},)"
        R"( "Bytes": {}, "Total Allocated": {}, "Total Reserved": 4000, "Device Type": 1, "Device Id": 0}}}})",
        us, address, bytes, total);
  };
  // 900 bytes are live before it begins.
  Trace before = importText("[" + hostEvent("cpu_op", "aten::mm", 1, 90) + "," + memory(10, 4096, 100, 1000) + "," +
                            memory(20, 8192, -300, 700) + "]");
  const std::vector<std::string> queries = {
      "SELECT start_ns, text, value FROM main.counter_sample JOIN main.string ON id = name_id ORDER BY 1, 2",
      "SELECT start_ns, bytes FROM allocations ORDER BY 1, 2"};
  Trace after = again(before);
  expectSame(before, after, queries);

  // Also when somebody sorts the export's events in another way.
  const std::string text = contentOf(m_folder.file("again.json"));
  const size_t first = text.find("[", text.find("\"traceEvents\"")) + 1, last = text.rfind("\n]}");
  std::vector<std::string> events;
  for (size_t at = first; at < last;) {
    const size_t end = std::min(text.find(",\n", at), last);
    events.insert(events.begin(), text.substr(at, end - at));
    at = end + 2;
  }
  std::ofstream(m_folder.file("turned.json"))
      << text.substr(0, first) << fmt::format("{}", fmt::join(events, ",\n")) << text.substr(last);
  Trace turned = importFiles({m_folder.file("turned.json")}, "turned.sqlite");
  expectSame(before, turned, queries);
}

}  // namespace
}  // namespace plumb::test
