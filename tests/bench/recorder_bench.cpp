// SPDX-License-Identifier: Apache-2.0
// What the recorder adds to the cost of the database: rows per second of the whole way (ring, decoding, texts, clocks,
// joins, SQLite) against bare inserts of the same kernels through one prepared statement, on one core.
#include <cstdio>
#include <memory>

#include "collector/recorder/recording.h"
#include "tests/support/process.h"
#include "tests/support/record_writer.h"

namespace plumb::test {
namespace {

using recorder::KernelRow;

constexpr uint32_t kLaunches = 300'000;
constexpr uint32_t kLaunchesPerBatch = 2000;

// Time of this core, so that other programs on the machine do not count.
int64_t cpuNowNs() { return readClockNs(CLOCK_THREAD_CPUTIME_ID); }

double seconds(int64_t ns) { return static_cast<double>(ns) / static_cast<double>(kNanosecondsPerSecond); }

// Rows per second of inserts that nobody had to make.
double measureBareInserts(const std::string& path) {
  auto file = recorder::createTraceFile(path, recorder::NameTaken::kRefuse);
  if (!file.ok()) return 0;
  auto writer = recorder::Writer::create(std::move(file.value().database));
  if (!writer.ok()) return 0;
  const int64_t startNs = cpuNowNs();
  for (uint32_t i = 0; i < kLaunches; ++i) {
    writer.value().insert(KernelRow{.id = i + 1,
                                    .process_id = 1,
                                    .device_id = 1,
                                    .stream_id = 1,
                                    .start_ns = i * 10'000,
                                    .duration_ns = 8'000,
                                    .name_id = 1,
                                    .short_name_id = 2,
                                    .mangled_name_id = 3,
                                    .correlation = i,
                                    .grid_x = 1,
                                    .grid_y = 1,
                                    .grid_z = 1,
                                    .block_x = 256,
                                    .block_y = 1,
                                    .block_z = 1,
                                    .registers_per_thread = 0,
                                    .static_shared_bytes = 0,
                                    .dynamic_shared_bytes = 0,
                                    .local_bytes_per_thread = 0,
                                    .flags = 0});
    writer.value().commitIfDue(monotonicNowNs());
  }
  writer.value().commit();
  return kLaunches / seconds(cpuNowNs() - startNs);
}

struct Whole {
  double rowsPerSecond;
  double finishSeconds;
  double longestDrainMs;
};

// A launch is what a training program does around one: a range, an API call, a link, a kernel on CUPTI's clock.
Whole measureRecorder(const std::string& path) {
  auto file = recorder::createTraceFile(path, recorder::NameTaken::kRefuse);
  if (!file.ok()) return {};
  auto recording = recorder::Recording::start(std::move(file).value(), "bench", {});
  if (!recording.ok()) return {};
  FakeTarget target(1, 0, {.ringCount = 256, .ringBytes = 4u << 20});
  recording.value()->add(1, target.hello(), target.dupSegment());
  RecordWriter thread = target.thread(1);
  RecordWriter worker = target.thread(2);
  const StringId range = thread.text("forward");
  const StringId call = thread.text("cudaLaunchKernel");
  const StringId kernel = worker.text("_ZN2nn7rmsNormIfEEvPKT_PS1_i");
  const int64_t cuptiOffset = 1'000'000'000'000;

  int64_t drainNs = 0;
  int64_t longestNs = 0;
  for (uint32_t done = 0; done < kLaunches; done += kLaunchesPerBatch) {
    for (uint32_t i = done; i < done + kLaunchesPerBatch; ++i) {
      const int64_t t = target.startNs() + int64_t{i} * 10'000;
      thread.push(range, t);
      thread.apiCall(call, t + 100, t + 3000, i);
      CorrelationLinkRecord link{};
      link.external_id = i;
      link.correlation = i;
      thread.write(RecordKind::kCorrelationLink, link);
      thread.pop(t + 4000);
      worker.kernel(kernel, t + cuptiOffset, t + cuptiOffset + 8000, i, 7, Clock::kCupti);
    }
    const int64_t now = target.startNs() + int64_t{done + kLaunchesPerBatch} * 10'000;
    worker.clockPair(now, now + cuptiOffset);
    const int64_t startNs = cpuNowNs();
    while (recording.value()->drain().more) {
    }
    const int64_t tookNs = cpuNowNs() - startNs;
    drainNs += tookNs;
    longestNs = std::max(longestNs, tookNs);
  }
  const int64_t finishNs = cpuNowNs();
  recording.value()->noteGoodbye(1);
  recording.value()->remove(1);
  const auto outcome = recording.value()->finish();
  if (outcome.dropped != 0)
    std::printf("(%llu records were dropped)\n", static_cast<unsigned long long>(outcome.dropped));
  constexpr double kRowsPerLaunch = 4;
  return {kRowsPerLaunch * kLaunches / seconds(drainNs), seconds(cpuNowNs() - finishNs),
          static_cast<double>(longestNs) / 1e6};
}

int measure() {
  const TemporaryFolder folder;
  const double bare = measureBareInserts(folder.file("bare.sqlite"));
  const Whole whole = measureRecorder(folder.file("run.sqlite"));
  std::printf("recorder: %.0f k rows per CPU second from the rings into the file, bare kernel inserts: %.0f k rows/s\n",
              whole.rowsPerSecond / 1000, bare / 1000);
  std::printf("recorder / bare inserts: %.2f   recorder / goal of 300 k rows/s: %.2f\n", whole.rowsPerSecond / bare,
              whole.rowsPerSecond / 300'000);
  std::printf("longest pass over the rings: %.0f ms; indexes and completion of %u k rows: %.2f s\n",
              whole.longestDrainMs, 4 * kLaunches / 1000, whole.finishSeconds);
  return 0;
}

}  // namespace
}  // namespace plumb::test

int main() { return plumb::test::measure(); }
