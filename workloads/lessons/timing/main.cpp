// SPDX-License-Identifier: Apache-2.0
// How to time GPU work: what the first calls pay for, and what a host clock sees without synchronizing.
#include <fmt/format.h>

#include <chrono>
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

struct Timed {
  std::vector<double> unsynchronized, synchronized, events;  // milliseconds
};

Timed timeThreeWays(nn::Gemm& gemm, const nn::Stream& stream, const Product& product) {
  Timed timed;
  EventTimer timer;
  product.run(gemm);  // warm-up
  stream.synchronize();
  for (int i = 0; i < g_repeats; ++i) {
    {
      const nn::Range range("without synchronize");
      timed.unsynchronized.push_back(millisecondsOf([&] { product.run(gemm); }));
    }
    stream.synchronize();
    {
      const nn::Range range("with synchronize");
      timed.synchronized.push_back(millisecondsOf([&] {
        product.run(gemm);
        stream.synchronize();
      }));
    }
    const nn::Range range("with events");
    timed.events.push_back(timer.milliseconds(stream, [&] { product.run(gemm); }));
  }
  return timed;
}

void teach(Checks& checks) {
  const int largest = g_largest > 0 ? g_largest : (onGpu() ? 4096 : 1024);
  nn::MemoryLedger ledger;
  std::optional<nn::Stream> stream;
  std::optional<nn::Gemm> gemm;
  const double context = millisecondsOf([&] { nn::check(cudaFree(nullptr), "creating the context"); });
  stream.emplace();
  double first = 0.0, second = 0.0;
  std::vector<double> steady;
  {
    const nn::Range range("first calls");
    const Product product(ledger, *stream, 256);
    stream->synchronize();
    const auto once = [&] {
      if (!gemm) gemm.emplace(ledger, *stream);
      product.run(*gemm);
      stream->synchronize();
    };
    first = millisecondsOf(once);
    second = millisecondsOf(once);
    for (int i = 0; i < 20; ++i) steady.push_back(millisecondsOf(once));
  }
  Table calls({"call", "ms"});
  calls.add({"first call: the context", fmt::format("{:.3f}", context)});
  calls.add({"first matmul, n = 256: the library", fmt::format("{:.3f}", first)});
  calls.add({"second matmul", fmt::format("{:.3f}", second)});
  calls.add({"steady state, median of 20", fmt::format("{:.3f}", median(steady))});
  calls.print();
  checks.expect(first > median(steady), "the first matmul costs more than the steady state",
                fmt::format("{:.3f} against {:.3f} ms", first, median(steady)));

  fmt::print("\nmatmul n x n x n in fp32, median of {} after one warm-up (p10 … p90 in brackets), ms:\n", g_repeats);
  Table sizes({"n", "without synchronize", "with synchronize", "with events", "p10 … p90", "TFLOP/s"});
  std::optional<Timed> last;
  for (int n = 64; n <= largest; n *= 2) {
    const nn::Range range(fmt::format("n = {}", n));
    const Product product(ledger, *stream, n);
    const Timed timed = timeThreeWays(*gemm, *stream, product);
    sizes.add({std::to_string(n), fmt::format("{:.4f}", median(timed.unsynchronized)),
               fmt::format("{:.4f}", median(timed.synchronized)), fmt::format("{:.4f}", median(timed.events)),
               fmt::format("[{:.4f} … {:.4f}]", quantile(timed.events, 0.1), quantile(timed.events, 0.9)),
               fmt::format("{:.4f}", product.flops() / median(timed.events) / 1e9)});
    last = timed;
  }
  sizes.print();
  const double unsynchronized = median(last->unsynchronized), synchronized = median(last->synchronized);
  checks.expect(unsynchronized < 0.5 * synchronized, "without synchronize the clock sees the launch, not the work",
                fmt::format("{:.4f} against {:.4f} ms at n = {}", unsynchronized, synchronized, largest));
  // The fastest of each: a busy machine delays now one, now the other.
  const double fastestEvents = quantile(last->events, 0.0), fastest = quantile(last->synchronized, 0.0);
  checks.expect(std::abs(fastestEvents - fastest) < 0.4 * fastest, "events agree with synchronize on large work",
                fmt::format("{:.4f} against {:.4f} ms, the fastest of each", fastestEvents, fastest));
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
       [](CLI::App& app) {
         app.add_option("--largest", g_largest, "largest n (default: 4096 on a GPU, 1024 on the software device)")
             ->check(CLI::Range(64, 16384));
         app.add_option("--repeats", g_repeats, "measurements per size")
             ->capture_default_str()
             ->check(CLI::Range(3, 1000));
       },
       plumb::lessons::teach});
}
