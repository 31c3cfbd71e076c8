// SPDX-License-Identifier: Apache-2.0
// What a person who sees a trace for the first time reads: the summary's page, folded lists and the exit codes.
#include <fstream>
#include <iterator>

#include "tests/integration/cli/cli.h"

namespace plumb::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

size_t countOf(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST_F(Cli, CollectivesWithoutKernelsHaveNoTimes) {
  {
    TraceBuilder trace(path("dumps.sqlite"));
    for (int64_t rank = 0; rank < 2; ++rank) {
      const int64_t process = trace.addRank(rank, 2);
      const int64_t communicator = trace.addCommunicator(process, 7, 2, rank);
      for (const int64_t bytes : {64, 4096}) {
        trace.addCollective({.process = process,
                             .thread = trace.addThread(process),
                             .communicator = communicator,
                             .startNs = bytes,
                             .operation = "AllReduce",
                             .bytes = bytes});
      }
    }
  }
  const std::string page = plumb({"summary", path("dumps.sqlite")}).output;
  EXPECT_THAT(page, AllOf(HasSubstr("AllReduce"), HasSubstr("64 B to 4.00 KiB"), HasSubstr("cannot say, because")));
  EXPECT_THAT(page, Not(HasSubstr("0 ns")));
}

TEST_F(Cli, WorkWhoseLaunchIsNotThereIsCounted) {
  for (const bool isLaunched : {false, true}) {
    const std::string file = path(isLaunched ? "launched.sqlite" : "unlaunched.sqlite");
    {
      TraceBuilder trace(file);
      const int64_t process = trace.addRank(0, 1), device = trace.addDevice(process);
      const int64_t stream = trace.addStream(process, device, 7);
      trace.addApiCall(process, trace.addThread(process), 0, 5, "cudaLaunchKernel", 1);
      for (const int64_t correlation : {1, isLaunched ? 1 : 2}) {
        trace.addKernel({process, device, stream, correlation * 100, 10, correlation, 0}, "k");
      }
    }
    const std::string page = plumb({"summary", file}).output;
    EXPECT_EQ(countOf(page, "Launch calls of 1 of 2 GPU events"), isLaunched ? 0u : 1u) << page;
  }
}

TEST_F(Cli, RanksThatAreAlikeAreOneRow) {
  {
    TraceBuilder trace(path("many.sqlite"));
    for (int64_t rank = 0; rank < 16; ++rank) {
      const int64_t process = trace.addRank(rank, 16);
      trace.addDevice(process, {.ordinal = rank % 8, .name = "NVIDIA A100", .kind = "gpu"});
      trace.addDiagnostic(process, "info", "import", "x", 1, std::to_string(rank + 5) + " groups have no name.");
    }
    trace.addProcess({.program = "git"});
    trace.addProcess({.program = "git"});
  }
  const std::string page = plumb({"summary", path("many.sqlite")}).output;
  EXPECT_THAT(page, AllOf(HasSubstr("0-15"), HasSubstr("16 processes"), HasSubstr("0-7: NVIDIA A100"),
                          HasSubstr("Besides, 2 processes without GPU and rank: git (2 times).")));
  EXPECT_THAT(page, HasSubstr("info [import, ranks 0-15]: 5 groups have no name. (one of several alike)"));
  EXPECT_EQ(countOf(page, "groups have no name"), 1u);
}

TEST_F(Cli, ADeviceWithoutANameIsItsNumberAndSaysWhy) {
  {
    TraceBuilder trace(path("nameless.sqlite"));
    trace.addDevice(trace.addRank(0), {.ordinal = 3, .name = "", .kind = "gpu"});
  }
  const std::string page = plumb({"summary", path("nameless.sqlite")}).output;
  EXPECT_THAT(page, AllOf(HasSubstr("train    device 3 (its name is not in the file)"), Not(HasSubstr("3:"))));
  {
    TraceBuilder trace(path("named.sqlite"));
    trace.addDevice(trace.addRank(0), {.ordinal = 3, .name = "NVIDIA A100", .kind = "gpu"});
  }
  EXPECT_THAT(plumb({"diff", path("nameless.sqlite"), path("named.sqlite")}).output,
              HasSubstr("The devices differ: device 3 (its name is not in the file) and NVIDIA A100."));
}

TEST_F(Cli, OutOfMemoryIsSaidWithWhatWasLive) {
  {
    TraceBuilder trace(path("oom.sqlite"));
    const int64_t process = trace.addProcess({.program = "PyTorch memory snapshot"});
    const int64_t device = trace.addDevice(process);
    trace.addAllocation({.process = process, .device = device, .startNs = 10, .address = 4096, .bytes = 10 << 20});
    trace.addRange(process, trace.addThread(process), 2'000'000, 0,
                   "out of memory: 3.00 GiB were asked for, 1.00 MiB were free on device 0");
    trace.execute("UPDATE range SET kind = 'mark', domain_id = " + std::to_string(trace.text("PyTorch memory")));
  }
  EXPECT_THAT(plumb({"summary", path("oom.sqlite")}).output,
              AllOf(HasSubstr("Out of memory\n"),
                    HasSubstr("At 2.00 ms, out of memory: 3.00 GiB were asked for, 1.00 MiB were free on device 0;"),
                    HasSubstr("10.00 MiB\n  were live."),
                    HasSubstr("What was live then: plumb report memory_peak FILE --from 2000000 --to 2000001\n")));
  EXPECT_THAT(plumb({"report", "memory_peak", path("oom.sqlite"), "--from", "2000000", "--to", "2000001"}).output,
              HasSubstr("10.00 MiB"));
}

TEST_F(Cli, AFailedAllocationIsSaidAndWhatWasLiveThen) {
  {
    TraceBuilder trace(path("failed.sqlite"));
    const int64_t process = trace.addRank(0), device = trace.addDevice(process);
    trace.addAllocation(
        {.process = process, .device = device, .startNs = 10, .address = 4096, .bytes = 30 << 20, .freedNs = 1000});
    trace.addAllocation(
        {.process = process, .device = device, .startNs = 2000, .address = 4096, .bytes = 10 << 20, .freedNs = 9000});
    trace.addApiCall(process, trace.addThread(process), 5000, 1000, "cudaMalloc", 7);
    trace.execute("UPDATE api_call SET result = 2");
  }
  EXPECT_THAT(plumb({"summary", path("failed.sqlite")}).output,
              HasSubstr("At 6.0 µs, out of memory: cudaMalloc failed (error 2); 10.00 MiB were live."));
  const std::string peak = plumb({"report", "memory_peak", path("failed.sqlite")}).output;
  EXPECT_THAT(peak, AllOf(HasSubstr("The program ran out of memory at 6.0 µs: cudaMalloc failed (error 2)."),
                          HasSubstr("30.00 MiB"), Not(HasSubstr("10.00 MiB"))));
  EXPECT_THAT(plumb({"report", "memory_peak", path("failed.sqlite"), "--by", "out_of_memory"}).output,
              AllOf(HasSubstr("10.00 MiB"), Not(HasSubstr("30.00 MiB"))));
}

TEST_F(Cli, AHungRunsRecordingSaysSoBeforeItsTimes) {
  constexpr int64_t kMs = 1'000'000;
  {
    TraceBuilder trace(path("hang.sqlite"));
    for (int64_t rank = 0; rank < 2; ++rank) {
      const int64_t process = trace.addRank(rank, 2), thread = trace.addThread(process);
      const int64_t device = trace.addDevice(process), stream = trace.addStream(process, device, 7);
      const int64_t communicator = trace.addCommunicator(process, 5, 2, rank, "world");
      for (int64_t call = 0; call < (rank == 0 ? 2 : 1); ++call) {  // rank 1 never calls the second
        const int64_t correlation = trace.newCorrelation(), start = (10 + 40 * call) * kMs;
        trace.addCollective({.process = process,
                             .thread = thread,
                             .communicator = communicator,
                             .startNs = start,
                             .operation = "AllReduce",
                             .sequence = call,
                             .externalId = correlation});
        trace.addLink(process, correlation, correlation);
        trace.addKernel({.process = process,
                         .device = device,
                         .stream = stream,
                         .startNs = start,
                         .durationNs = call == 0 ? kMs : 900 * kMs,
                         .correlation = correlation},
                        "ncclDevKernel_AllReduce");
      }
    }
  }
  const std::string page = plumb({"summary", path("hang.sqlite")}).output;
  EXPECT_THAT(
      page,
      HasSubstr("Stuck collectives  (in what the run hangs)\n"
                "  The run hangs in AllReduce 1 of world, since 50.00 ms after the start of the recording: rank 0\n"
                "  called it and waited 900.0 ms for rank 1, which never called it"));
  EXPECT_THAT(page, HasSubstr("Look at rank 1."));
  EXPECT_LT(page.find("Stuck collectives"), page.find("GPU time per rank"));
}

TEST_F(Cli, WhatIsReservedIsTheAllocatorsCounterWhereThereIsOne) {
  for (const bool isCounted : {true, false}) {
    TraceBuilder trace(path(isCounted ? "counted.sqlite" : "pool.sqlite"));
    const int64_t process = trace.addRank(0), device = trace.addDevice(process);
    trace.addAllocation(
        {.process = process, .device = device, .startNs = 10, .address = 4096, .bytes = 1 << 20, .fromPool = true});
    if (!isCounted) continue;
    trace.addCounter(process, 5, "torch reserved bytes, device 0", 2 << 20);
    trace.addCounter(process, 20, "torch reserved bytes, device 0", 6 << 20);
  }
  EXPECT_THAT(plumb({"summary", path("counted.sqlite")}).output,
              AllOf(HasSubstr("Reserved from the driver: peak 6.00 MiB, the allocator's counter."),
                    Not(HasSubstr("cannot say, because the allocations"))));
  EXPECT_THAT(plumb({"summary", path("pool.sqlite")}).output,
              HasSubstr("What is reserved from the driver: cannot say, because the allocations come from\n  a pool"));
}

TEST_F(Cli, WhatNothingSaysTheUseOfIsListedByTheCodeThatAllocatedIt) {
  {
    TraceBuilder trace(path("places.sqlite"));
    const int64_t process = trace.addRank(0), device = trace.addDevice(process);
    int64_t next = 1;
    for (const char* place : {"model.py:12 init", "model.py:12 init", "loader.py:3 read", "a.py:1 f", "b.py:1 g"}) {
      const std::string id = std::to_string(next);
      trace.addAllocation(
          {.process = process, .device = device, .startNs = 10, .address = next << 24, .bytes = (8 << 20) / next});
      trace.execute("INSERT INTO stack(id, name_id) VALUES(" + id + ", " + std::to_string(trace.text(place)) + ")");
      trace.execute("INSERT INTO allocation_detail(allocation_id, stack_id) SELECT max(id), " + id +
                    " FROM allocation");
      ++next;
    }
  }
  const std::string page = plumb({"summary", path("places.sqlite")}).output;
  EXPECT_THAT(page, AllOf(HasSubstr("12.00 MiB            2  model.py:12 init\n"),
                          HasSubstr(" 2.67 MiB            1  loader.py:3 read\n"), Not(HasSubstr("b.py"))));
}

TEST_F(Cli, TheSummarysSharesAreThoseOfTheReport) {
  {
    TraceBuilder trace(path("shares.sqlite"));
    const int64_t process = trace.addRank(0), device = trace.addDevice(process);
    const int64_t stream = trace.addStream(process, device, 7);
    const auto work = [&](int64_t start, int64_t length) {
      return TraceBuilder::Work{
          .process = process, .device = device, .stream = stream, .startNs = start, .durationNs = length};
    };
    trace.addKernel(work(0, 33'340), "gemm");  // 33.34 %, communication 33.34 %, idle 33.32 %: they add up to 99.9
    trace.addKernel(work(66'660, 33'340), "ncclDevKernel_AllReduce");
  }
  const std::string page = plumb({"summary", path("shares.sqlite")}).output;
  EXPECT_THAT(page, AllOf(HasSubstr("33.3 µs 33.3 %"), Not(HasSubstr("33.4 %"))));
  EXPECT_THAT(page, HasSubstr("1.00 s recorded, from 0 ns to 1.00 s; GPU work from 0 ns to 100 µs."))
      << "the process lived for a second";
}

// Nobody said that what repeats is a step; of few there are no percentiles.
TEST_F(Cli, RepetitionsAreNotCalledSteps) {
  for (const bool isMarked : {false, true}) {
    const std::string file = path(isMarked ? "marked.sqlite" : "unmarked.sqlite");
    {
      TraceBuilder trace(file);
      const int64_t process = trace.addRank(0), device = trace.addDevice(process);
      const int64_t stream = trace.addStream(process, device, 7), thread = trace.addThread(process);
      for (int64_t i = 0; i < (isMarked ? 4 : 12); ++i) {
        const int64_t begin = 700'000'000 + i * 5'000'000;
        if (isMarked) trace.addRange(process, thread, begin, 4'000'000, "ProfilerStep#" + std::to_string(10 + i));
        for (int64_t k = 0; k < 6; ++k) {
          const int64_t start = begin + k * 200'000, correlation = trace.newCorrelation();
          trace.addApiCall(process, thread, start, 1000, "cudaLaunchKernel", correlation);
          trace.addKernel({process, device, stream, start + 2000, 150'000, correlation, 0},
                          "layer " + std::to_string(k));
        }
      }
    }
    const std::string page = plumb({"summary", file}).output, html = file + ".html";
    ASSERT_EQ(plumb({"export", "--format", "html", file, "-o", html}).exitCode, 0);
    std::ifstream stream(html);
    const std::string exported{std::istreambuf_iterator<char>(stream), {}};
    EXPECT_THAT(page, HasSubstr("700 ms (70.0 % of the recording) after its start"));
    EXPECT_THAT(exported, HasSubstr("The first GPU work begins 700 ms"));
    EXPECT_THAT(exported, Not(HasSubstr("warm-up steps are left out")));
    if (isMarked) {
      EXPECT_THAT(page, AllOf(HasSubstr("Time per step\n"), HasSubstr("shortest"), Not(HasSubstr("p90")),
                              Not(HasSubstr("epetition"))));
      EXPECT_THAT(exported, AllOf(HasSubstr("A training step takes <b>5.00 ms</b>"), HasSubstr("; from 5.00 ms to"),
                                  Not(HasSubstr("one in ten"))));
      EXPECT_THAT(plumb({"report", "kernels", file, "--step", "12"}).errors,
                  HasSubstr("it has the steps 0 to 3; they are what the program calls ProfilerStep#10 to "
                            "ProfilerStep#13"));
    } else {
      EXPECT_THAT(page, AllOf(HasSubstr("Time per repetition  (no steps are marked)"),
                              HasSubstr("No steps are marked; the work repeats every 5.00 ms (may be a layer"),
                              HasSubstr("p90"), Not(HasSubstr("Time per step"))));
      EXPECT_THAT(exported, AllOf(HasSubstr("No steps are marked; the work repeats every <b>5.00 ms</b>"),
                                  HasSubstr("one in ten"), Not(HasSubstr("A training step"))));
    }
  }
}

TEST_F(Cli, ADiffSaysWhatDiffersInTheCommandsAndWhatItsIntervalCovers) {
  const auto record = [&](const char* name, const char* command) {
    TraceBuilder trace(path(name));
    trace.setMeta("command", command);
    trace.addDevice(trace.addRank(0));
    return path(name);
  };
  const std::string small = record("small.sqlite", "train --batch 8"),
                    large = record("large.sqlite", "train --batch 16");
  EXPECT_THAT(plumb({"diff", small, large}).output,
              AllOf(HasSubstr("small.sqlite, no steps of 1 rank\n   train --batch 8\n"),
                    HasSubstr("large.sqlite, no steps of 1 rank\n   train --batch 16\n"),
                    HasSubstr("not how one run differs from the next")));
  EXPECT_THAT(plumb({"diff", small, small}).output, Not(HasSubstr("train --batch 8")));
}

TEST_F(Cli, WhatCannotBeComparedIsExplainedOnce) {
  for (const char* name : {"a.sqlite", "b.sqlite"}) {
    TraceBuilder trace(path(name));
    const int64_t process = trace.addRank(0), device = trace.addDevice(process);
    const int64_t stream = trace.addStream(process, device, 7);
    for (int64_t i = 0; i < 5; ++i) {
      trace.addKernel(
          {.process = process, .device = device, .stream = stream, .startNs = 1000 * i, .durationNs = 100 * (i + 1)},
          "kernel" + std::to_string(i));
    }
  }
  const std::string text = plumb({"diff", path("a.sqlite"), path("b.sqlite"), "--all"}).output;
  EXPECT_GT(countOf(text, "cannot say (1)"), 1u) << text;
  EXPECT_EQ(countOf(text, "\n(1) because"), 1u) << text;
}

TEST_F(Cli, TheExitCodesAreThoseOfTheReadme) {
  std::ifstream in(PLUMB_SOURCE_DIR "/README.md");
  const std::string readme((std::istreambuf_iterator<char>(in)), {});
  const std::string help = plumb({"--help"}).output;
  const size_t begin = help.find("Exit codes:");
  ASSERT_NE(begin, std::string::npos);
  int codes = 0;
  for (const std::string& line : linesOf(help.substr(begin))) {
    if (line.size() < 5 || line.find_first_of("0123") != 2) continue;
    ++codes;
    EXPECT_THAT(readme, HasSubstr(line.substr(2)));
  }
  EXPECT_EQ(codes, 4);
  for (const char* command : {"import", "pack", "check", "advise"}) {
    EXPECT_THAT(plumb({command, "--help"}).output, HasSubstr("plumb --help lists all codes")) << command;
  }
}

TEST_F(Cli, HelpSaysWhatARangeSelects) {
  EXPECT_THAT(plumb({"report", "--help"}).output,
              HasSubstr("take with --range the work that was launched\ninside, on any thread, whenever it ran"));
}

}  // namespace
}  // namespace plumb::test
