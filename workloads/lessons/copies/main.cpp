// SPDX-License-Identifier: Apache-2.0
// Getting batches to the device: pageable, pinned, on a second stream beside the compute, and the ways to lose that
// again.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>

#include "workloads/lessons/common/lesson.h"
#include "workloads/lessons/common/statistics.h"
#include "workloads/nn/device.h"
#include "workloads/nn/memory.h"
#include "workloads/nn/nvtx.h"
#include "workloads/nn/operations.h"
#include "workloads/nn/stream.h"

namespace plumb::lessons {
namespace {

struct Options {
  int kib = 0;      // of one batch; 0: by the device
  int batches = 0;  // 0: by the device
  int rounds = 12;
  int passes = 3;  // of the compute over a batch
};
Options g_options;

// On the software device a round takes a few milliseconds, which the CPU's scheduler mostly gives without a break.
int kib() { return g_options.kib > 0 ? g_options.kib : (onGpu() ? 32768 : 2048); }
int batches() { return g_options.batches > 0 ? g_options.batches : (onGpu() ? 16 : 4); }

double millisecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

// Two device buffers that take turns, and what is computed on them.
class Training {
 public:
  Training()
      : m_count(static_cast<size_t>(kib()) * 1024 / sizeof(float)),
        m_out(m_ledger, m_compute, nn::Category::kActivation, "result", nn::Dtype::kFloat32, m_count) {
    for (int i = 0; i < 2; ++i)
      m_batch[i] = nn::Buffer(m_ledger, m_compute, nn::Category::kInput, fmt::format("batch {}", i),
                              nn::Dtype::kFloat32, m_count);
    m_compute.synchronize();
  }

  size_t count() const { return m_count; }
  size_t bytes() const { return m_count * sizeof(float); }
  const nn::Stream& computeStream() const { return m_compute; }
  const nn::Stream& copyStream() const { return m_copy; }

  void copy(int slot, const float* from, cudaStream_t stream) {
    nn::check(cudaMemcpyAsync(m_batch[slot].as<float>(), from, bytes(), cudaMemcpyHostToDevice, stream),
              "copying a batch");
  }
  void compute(int slot) {
    for (int pass = 0; pass < g_options.passes; ++pass) nn::triad(m_compute, m_batch[slot], m_out, m_out);
  }

 private:
  size_t m_count;
  nn::Stream m_compute;
  nn::Stream m_copy;
  nn::MemoryLedger m_ledger;
  nn::Buffer m_batch[2];
  nn::Buffer m_out;
};

// One way of feeding the training.
struct Way {
  const char* range;
  const char* data;  // in the table
  std::function<void()> batches;
  double fastest = 1e30;  // ms per batch
};

// In turn, so that what disturbs one way disturbs all: --rounds, and on until none is faster than before by more than
// 3 %, four times as many at most. What else the machine does can only add to the fastest.
void timeInTurn(const Training& training, std::vector<Way>& ways) {
  int improved = 0;  // the last round in which one was
  for (int i = 0; i < g_options.rounds || (i < 4 * g_options.rounds && i - improved < g_options.rounds); ++i) {
    for (Way& way : ways) {
      nn::check(cudaDeviceSynchronize(), "waiting for the device");
      nn::restBeforeTiming();
      const nn::Range range(way.range);
      const auto start = std::chrono::steady_clock::now();
      way.batches();
      training.computeStream().synchronize();
      const double ms = millisecondsSince(start) / batches();
      if (ms < 0.97 * way.fastest) improved = i;
      way.fastest = std::min(way.fastest, ms);
    }
  }
}

// The copy of batch i + 1 runs beside the compute on batch i; events order the two streams.
void overlapped(Training& training, const float* from) {
  nn::Event copied[2], consumed[2];
  for (int i = 0; i < batches(); ++i) {
    const int slot = i % 2;
    if (i >= 2) consumed[slot].makeWait(training.copyStream());
    training.copy(slot, from, training.copyStream());
    copied[slot].record(training.copyStream());
    copied[slot].makeWait(training.computeStream());
    training.compute(slot);
    consumed[slot].record(training.computeStream());
  }
}

// The same on two streams, but the host waits for the whole device where an event would have done.
void synchronizedEachTime(Training& training, const float* from) {
  for (int i = 0; i < batches(); ++i) {
    training.copy(i % 2, from, training.copyStream());
    nn::check(cudaDeviceSynchronize(), "waiting for the device");
    training.compute(i % 2);
    nn::check(cudaDeviceSynchronize(), "waiting for the device");
  }
}

// How long cudaMemcpyAsync itself keeps the host, as a share of the time until the copy is done.
class HostShareOfCopy {
 public:
  HostShareOfCopy(const char* name, Training& training, const float* from)
      : m_name(name), m_training(training), m_from(from) {
    measure();
  }
  void measure() {
    for (int i = 0; i < 5; ++i) {
      m_training.copyStream().synchronize();
      const nn::Range range(m_name);
      const auto start = std::chrono::steady_clock::now();
      m_training.copy(0, m_from, m_training.copyStream());
      const double call = millisecondsSince(start);
      m_training.copyStream().synchronize();
      m_shares.push_back(call / millisecondsSince(start));
    }
  }
  [[nodiscard]] double value() const { return median(m_shares); }
  [[nodiscard]] std::string percent() const { return fmt::format("{:.0f} %", 100.0 * value()); }

 private:
  const char* m_name;
  Training& m_training;
  const float* m_from;
  std::vector<double> m_shares;
};

// A GPU copies with engines of its own. Here a copy needs a CPU core that the kernels leave free.
std::optional<int> leaveACoreToTheCopies(const nn::DeviceChoice& choice, const std::vector<std::string>&) {
  if (choice.gpu || std::getenv("SOFTCUDA_THREADS") != nullptr) return std::nullopt;
  setenv("SOFTCUDA_THREADS", "1", 1);
  fmt::print("kernels take one CPU core, so that another can copy (SOFTCUDA_THREADS=1)\n");
  return std::nullopt;
}

void judgeWays(const Training& training, std::vector<Way>& ways, Checks& checks) {
  const auto again = [&] { timeInTurn(training, ways); };
  const double &resident = ways[0].fastest, &fromPageable = ways[1].fastest, &fromPinned = ways[2].fastest,
               &beside = ways[3].fastest, &waited = ways[4].fastest;
  checks.expectTimes(
      "copying in the compute stream costs time",
      [&] {
        return TimeClaim{resident < fromPinned && resident < fromPageable,
                         fmt::format("{:.2f} against {:.2f} and {:.2f} ms", resident, fromPinned, fromPageable)};
      },
      again);
  if (!onGpu() && std::thread::hardware_concurrency() < 2) {
    fmt::print("this machine has one CPU core: a copy cannot run beside the compute\n");
    return;
  }
  checks.expectTimes(
      "events between two streams beat synchronizing the device",
      [&] {
        return TimeClaim{beside < waited, fmt::format("{:.2f} against {:.2f} ms", beside, waited)};
      },
      again);
}

void teach(Checks& checks) {
  Training training;
  const std::vector<float> pageable(training.count(), 1.0f);
  const nn::PinnedArray<float> pinned(training.count());
  std::memcpy(pinned.data(), pageable.data(), training.bytes());
  training.copy(0, pinned.data(), training.copyStream());
  training.copy(1, pinned.data(), training.copyStream());
  training.copyStream().synchronize();
  training.compute(0);

  const auto sameStream = [&](const float* from) {
    for (int i = 0; i < batches(); ++i) {
      training.copy(i % 2, from, training.computeStream());
      training.compute(i % 2);
    }
  };
  std::vector<Way> ways = {
      {"resident", "resident on the device",
       [&] {
         for (int i = 0; i < batches(); ++i) training.compute(i % 2);
       }},
      {"pageable", "pageable, same stream", [&] { sameStream(pageable.data()); }},
      {"pinned", "pinned, same stream", [&] { sameStream(pinned.data()); }},
      {"overlapped", "pinned, second stream, events", [&] { overlapped(training, pinned.data()); }},
      {"synchronized", "pinned, second stream, device synchronized",
       [&] { synchronizedEachTime(training, pinned.data()); }},
  };
  timeInTurn(training, ways);
  HostShareOfCopy pageableShare("pageable async", training, pageable.data());
  HostShareOfCopy pinnedShare("pinned async", training, pinned.data());
  judgeWays(training, ways, checks);
  checks.expectTimes(
      "an asynchronous copy from pageable memory is not asynchronous",
      [&] {
        return TimeClaim{pageableShare.value() > 0.5, pageableShare.percent()};
      },
      [&] { pageableShare.measure(); });
  checks.expectTimes(
      "one from pinned memory is",
      [&] {
        return TimeClaim{pinnedShare.value() < 0.5, pinnedShare.percent()};
      },
      [&] { pinnedShare.measure(); });

  fmt::print("{} batches of {} KiB, compute: {} passes over each\n", batches(), kib(), g_options.passes);
  Table table({"data", "ms per batch", "of it for data"});
  for (const Way& way : ways)
    table.add({way.data, fmt::format("{:.2f}", way.fastest), fmt::format("{:.2f}", way.fastest - ways[0].fastest)});
  table.print();
  fmt::print(
      "\nof the time of one \"asynchronous\" copy, the call itself keeps the host {} from pageable memory, {} from "
      "pinned\n",
      pageableShare.percent(), pinnedShare.percent());
}

}  // namespace
}  // namespace plumb::lessons

int main(int argc, char** argv) {
  using plumb::lessons::g_options;
  return plumb::lessons::runLesson(
      argc, argv,
      {"copies", "Copies and streams: resident, pageable and pinned data, overlapped with compute and not.",
       [](plumb::lessons::OptionList& options) {
         options.integerByDevice("--kib", g_options.kib, 128, 1 << 20,
                                 "size of a batch in KiB (default: 32768 on a GPU, 2048 on the software device)");
         options.integerByDevice("--batches", g_options.batches, 2, 1000,
                                 "batches per experiment (default: 16 on a GPU, 4 on the software device)");
         options.integer("--rounds", g_options.rounds, 1, 1000, "rounds at least, the fastest counts");
         options.integer("--passes", g_options.passes, 1, 100, "passes of the compute over a batch");
       },
       plumb::lessons::teach, plumb::lessons::leaveACoreToTheCopies});
}
