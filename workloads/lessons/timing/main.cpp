// SPDX-License-Identifier: Apache-2.0
// How to time GPU work: what the first calls pay for, and what a host clock sees without synchronizing.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "workloads/lessons/common/lesson.h"
#include "workloads/lessons/common/statistics.h"
#include "workloads/nn/gemm.h"
#include "workloads/nn/memory.h"
#include "workloads/nn/nvtx.h"
#include "workloads/nn/operations.h"
#include "workloads/nn/stream.h"

namespace plumb::lessons {
namespace {

int g_largest = 0;  // --largest; 0: by the device
int g_repeats = 9;

double millisecondsOf(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

// Timed by events on the stream.
class EventTimer {
 public:
  EventTimer() {
    nn::check(cudaEventCreate(&m_start), "creating an event");
    nn::check(cudaEventCreate(&m_stop), "creating an event");
  }
  ~EventTimer() {
    cudaEventDestroy(m_start);
    cudaEventDestroy(m_stop);
  }
  EventTimer(const EventTimer&) = delete;
  EventTimer& operator=(const EventTimer&) = delete;

  double milliseconds(cudaStream_t stream, const std::function<void()>& work) {
    nn::check(cudaEventRecord(m_start, stream), "recording an event");
    work();
    nn::check(cudaEventRecord(m_stop, stream), "recording an event");
    nn::check(cudaEventSynchronize(m_stop), "waiting for an event");
    float elapsed = 0.0f;
    nn::check(cudaEventElapsedTime(&elapsed, m_start, m_stop), "reading the events");
    return elapsed;
  }

 private:
  cudaEvent_t m_start = nullptr;
  cudaEvent_t m_stop = nullptr;
};

// Square fp32 matrices of one size.
class Product {
 public:
  Product(nn::MemoryLedger& ledger, cudaStream_t stream, int n)
      : m_n(n),
        m_a(ledger, stream, nn::Category::kInput, "a", nn::Dtype::kFloat32, elements(n)),
        m_b(ledger, stream, nn::Category::kInput, "b", nn::Dtype::kFloat32, elements(n)),
        m_c(ledger, stream, nn::Category::kActivation, "c", nn::Dtype::kFloat32, elements(n)) {
    nn::initialize(stream, m_a, 0, 1, 1.0f, 0.0f);
    nn::initialize(stream, m_b, 0, 2, 1.0f, 0.0f);
  }
  void run(nn::Gemm& gemm) const { gemm.multiply(m_n, m_n, m_n, {m_a, m_n}, {m_b, m_n}, {m_c, m_n}); }
  double flops() const { return 2.0 * m_n * m_n * m_n; }

 private:
  static size_t elements(int n) { return static_cast<size_t>(n) * static_cast<size_t>(n); }
  int m_n;
  nn::Buffer m_a, m_b, m_c;
};

// Milliseconds.
struct Timed {
  int n;
  double flops;
  std::vector<double> unsynchronized, synchronized, events;
};

// Large sizes are measured less often: the three ways of a size take no more than this, twice each at least.
constexpr double kMillisecondsPerSize = 5000.0;
// Shorter work cannot be told from the calls around it.
constexpr double kJudgedMilliseconds = 0.2;

class Timing {
 public:
  Timing(nn::Gemm& gemm, const nn::Stream& stream, nn::MemoryLedger& ledger)
      : m_gemm(gemm), m_stream(stream), m_ledger(ledger) {}

  Timed measure(int n) {
    Timed timed{n, 0.0, {}, {}, {}};
    const Product product(m_ledger, m_stream, n);
    timed.flops = product.flops();
    const double warmUp = millisecondsOf([&] {
      product.run(m_gemm);
      m_stream.synchronize();
    });
    const int affordable = static_cast<int>(std::min(kMillisecondsPerSize / (3.0 * warmUp), 1e6));
    add(product, timed, std::clamp(affordable, 2, std::max(2, g_repeats)));
    return timed;
  }
  // As often again.
  void measureMore(Timed& timed) {
    const nn::Range range(fmt::format("n = {}", timed.n));
    const Product product(m_ledger, m_stream, timed.n);
    product.run(m_gemm);
    m_stream.synchronize();
    add(product, timed, static_cast<int>(timed.events.size()));
  }

 private:
  void add(const Product& product, Timed& timed, int times) {
    for (int i = 0; i < times; ++i) {
      {
        const nn::Range range("without synchronize");
        timed.unsynchronized.push_back(millisecondsOf([&] { product.run(m_gemm); }));
      }
      m_stream.synchronize();
      {
        const nn::Range range("with synchronize");
        timed.synchronized.push_back(millisecondsOf([&] {
          product.run(m_gemm);
          m_stream.synchronize();
        }));
      }
      const nn::Range range("with events");
      timed.events.push_back(m_timer.milliseconds(m_stream, [&] { product.run(m_gemm); }));
    }
  }

  nn::Gemm& m_gemm;
  const nn::Stream& m_stream;
  nn::MemoryLedger& m_ledger;
  EventTimer m_timer;
};

double fastest(const std::vector<double>& milliseconds) { return quantile(milliseconds, 0.0); }

void firstCalls(nn::MemoryLedger& ledger, std::optional<nn::Stream>& stream, std::optional<nn::Gemm>& gemm,
                Checks& checks) {
  const double context = millisecondsOf([&] { nn::check(cudaFree(nullptr), "creating the context"); });
  stream.emplace();
  const nn::Range range("first calls");
  const Product product(ledger, *stream, 256);
  stream->synchronize();
  const auto once = [&] {
    if (!gemm) gemm.emplace(ledger, *stream);
    product.run(*gemm);
    stream->synchronize();
  };
  const double first = millisecondsOf(once), second = millisecondsOf(once);
  std::vector<double> steady;
  const auto more = [&] {
    for (int i = 0; i < 20; ++i) steady.push_back(millisecondsOf(once));
  };
  more();
  checks.expectTimes(
      "the first matmul costs more than the fastest after it",
      [&] {
        return TimeClaim{first > fastest(steady), fmt::format("{:.3f} against {:.3f} ms", first, fastest(steady))};
      },
      more);
  Table calls({"call", "ms"});
  calls.add({"first call: the context", fmt::format("{:.3f}", context)});
  calls.add({"first matmul, n = 256: the library", fmt::format("{:.3f}", first)});
  calls.add({"second matmul", fmt::format("{:.3f}", second)});
  calls.add({fmt::format("steady state, median of {}", steady.size()), fmt::format("{:.3f}", median(steady))});
  calls.print();
}

void judge(Timing& timing, Timed& timed, Checks& checks) {
  const auto again = [&] { timing.measureMore(timed); };
  checks.expectTimes(
      "without synchronize the clock sees the launch, not the work",
      [&] {
        const double launch = fastest(timed.unsynchronized), work = fastest(timed.synchronized);
        return TimeClaim{launch < 0.5 * work,
                         fmt::format("{:.4f} against {:.4f} ms at n = {}, the fastest of each", launch, work, timed.n)};
      },
      again);
  checks.expectTimes(
      "events agree with synchronize on large work",
      [&] {
        const double events = fastest(timed.events), work = fastest(timed.synchronized);
        return TimeClaim{std::abs(events - work) < 0.4 * work,
                         fmt::format("{:.4f} against {:.4f} ms at n = {}, the fastest of each", events, work, timed.n)};
      },
      again);
}

void teach(Checks& checks) {
  const int largest = g_largest > 0 ? g_largest : 4096;
  nn::MemoryLedger ledger;
  std::optional<nn::Stream> stream;
  std::optional<nn::Gemm> gemm;
  firstCalls(ledger, stream, gemm, checks);

  Timing timing(*gemm, *stream, ledger);
  std::vector<Timed> sizes;
  for (int n = 64; n <= largest; n *= 2) {
    const nn::Range range(fmt::format("n = {}", n));
    sizes.push_back(timing.measure(n));
  }
  // The largest that was measured as often as asked for: claims need more than two samples.
  Timed* judged = nullptr;
  for (Timed& timed : sizes) {
    const bool often = timed.events.size() >= static_cast<size_t>(g_repeats);
    if (fastest(timed.synchronized) >= kJudgedMilliseconds && (often || !judged)) judged = &timed;
  }
  if (judged) judge(timing, *judged, checks);

  fmt::print("\nmatmul n x n x n in fp32, medians after one warm-up (p10 … p90 in brackets), ms:\n");
  Table table({"n", "runs", "without synchronize", "with synchronize", "with events", "p10 … p90", "TFLOP/s"});
  for (const Timed& timed : sizes)
    table.add({std::to_string(timed.n), std::to_string(timed.events.size()),
               fmt::format("{:.4f}", median(timed.unsynchronized)), fmt::format("{:.4f}", median(timed.synchronized)),
               fmt::format("{:.4f}", median(timed.events)),
               fmt::format("[{:.4f} … {:.4f}]", quantile(timed.events, 0.1), quantile(timed.events, 0.9)),
               fmt::format("{:.4f}", timed.flops / median(timed.events) / 1e9)});
  table.print();
  if (!judged)
    fmt::print(
        "\nThe largest product takes {:.4f} ms, no longer than the calls around it: too short to compare the three "
        "ways.\n",
        fastest(sizes.back().synchronized));
}

}  // namespace
}  // namespace plumb::lessons

int main(int argc, char** argv) {
  using plumb::lessons::g_largest;
  using plumb::lessons::g_repeats;
  return plumb::lessons::runLesson(
      argc, argv,
      {"timing",
       "Timing GPU work: first calls, and a matmul timed without synchronize, with synchronize, and with events.",
       [](plumb::lessons::OptionList& options) {
         options.integerByDevice("--largest", g_largest, 64, 16384, "largest n (default: 4096)");
         options.integer("--repeats", g_repeats, 3, 1000,
                         "measurements per size; fewer, two at least, where they would take more than five seconds");
       },
       plumb::lessons::teach});
}
