// SPDX-License-Identifier: Apache-2.0
// What bounds a kernel: memory for LayerNorm, softmax and a decode GEMV, compute for a large GEMM; against roofs that
// are measured in the same run.
#include <fmt/format.h>

#include <functional>

#include "workloads/lessons/bound/kernels.h"
#include "workloads/lessons/common/lesson.h"
#include "workloads/lessons/common/statistics.h"
#include "workloads/nn/gemm.h"
#include "workloads/nn/memory.h"
#include "workloads/nn/nvtx.h"
#include "workloads/nn/operations.h"
#include "workloads/nn/stream.h"

namespace plumb::lessons {
namespace {

struct Options {
  int rows = 0;  // 0: by the device
  int columns = 4096;
  int gemm = 0;
  int repeats = 5;
};
Options g_options;

struct Measured {
  double flops;
  double bytes;
  double seconds;
  [[nodiscard]] double intensity() const { return flops / bytes; }
  [[nodiscard]] double flopsPerSecond() const { return flops / seconds; }
  [[nodiscard]] double bytesPerSecond() const { return bytes / seconds; }
};

class Bench {
 public:
  Bench() : m_gemm(m_ledger, m_stream) {
    nn::check(cudaEventCreate(&m_start), "creating an event");
    nn::check(cudaEventCreate(&m_stop), "creating an event");
  }
  ~Bench() {
    cudaEventDestroy(m_start);
    cudaEventDestroy(m_stop);
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  nn::Buffer buffer(const char* name, size_t count) {
    nn::Buffer made(m_ledger, m_stream, nn::Category::kActivation, name, nn::Dtype::kFloat32, count);
    nn::initialize(m_stream, made, 0, count, 1.0f, 0.0f);
    return made;
  }
  // The fastest of the repeats: what the hardware can do, not what else the machine did.
  Measured measure(const char* name, double flops, double bytes, const std::function<void()>& work) {
    const nn::Range range(name);
    work();
    double fastest = 1e30;
    for (int i = 0; i < g_options.repeats; ++i) {
      nn::check(cudaEventRecord(m_start, m_stream), "recording an event");
      work();
      nn::check(cudaEventRecord(m_stop, m_stream), "recording an event");
      nn::check(cudaEventSynchronize(m_stop), "waiting for an event");
      float milliseconds = 0.0f;
      nn::check(cudaEventElapsedTime(&milliseconds, m_start, m_stop), "reading the events");
      fastest = std::min(fastest, static_cast<double>(milliseconds) * 1e-3);
    }
    return {flops, bytes, fastest};
  }
  cudaStream_t stream() const { return m_stream; }
  nn::Gemm& gemm() { return m_gemm; }

 private:
  nn::Stream m_stream;
  nn::MemoryLedger m_ledger;
  nn::Gemm m_gemm;
  cudaEvent_t m_start = nullptr;
  cudaEvent_t m_stop = nullptr;
};

void teach(Checks& checks) {
  const int rows = g_options.rows > 0 ? g_options.rows : (onGpu() ? 16384 : 2048);
  const int n = g_options.gemm > 0 ? g_options.gemm : (onGpu() ? 4096 : 768);
  const int columns = g_options.columns;
  const double elements = static_cast<double>(rows) * columns;
  Bench bench;
  const nn::Buffer in = bench.buffer("in", static_cast<size_t>(rows) * static_cast<size_t>(columns));
  const nn::Buffer out = bench.buffer("out", static_cast<size_t>(rows) * static_cast<size_t>(columns));
  const nn::Buffer vector = bench.buffer("vector", static_cast<size_t>(std::max(rows, columns)));
  const size_t square = static_cast<size_t>(n) * static_cast<size_t>(n);
  const nn::Buffer a = bench.buffer("a", square), b = bench.buffer("b", square), c = bench.buffer("c", square);
  const auto gemm = [&] { bench.gemm().multiply(n, n, n, {a, n}, {b, n}, {c, n}); };
  const double gemmFlops = 2.0 * n * n * n;

  const Measured memoryRoof =
      bench.measure("roof: memory", 2 * elements, 12 * elements, [&] { nn::triad(bench.stream(), in, out, out); });
  const Measured computeRoof = bench.measure("roof: compute", gemmFlops, 12.0 * n * n, gemm);
  const double ridge = computeRoof.flopsPerSecond() / memoryRoof.bytesPerSecond();
  fmt::print("roofs measured here: {:.1f} GFLOP/s in fp32, {:.1f} GB/s; they meet at {:.1f} FLOP/byte\n\n",
             computeRoof.flopsPerSecond() / 1e9, memoryRoof.bytesPerSecond() / 1e9, ridge);

  struct Case {
    const char* name;
    bool memoryBound;
    Measured measured;
  };
  const std::vector<Case> cases = {
      {"LayerNorm", true,
       bench.measure("LayerNorm", 6 * elements, 8 * elements,
                     [&] { layerNorm(bench.stream(), in.as<float>(), out.as<float>(), rows, columns); })},
      {"softmax", true,
       bench.measure("softmax", 5 * elements, 8 * elements,
                     [&] { softmax(bench.stream(), in.as<float>(), out.as<float>(), rows, columns); })},
      {"decode GEMV", true,
       bench.measure(
           "decode GEMV", 2 * elements, 4 * elements,
           [&] { decodeGemv(bench.stream(), in.as<float>(), vector.as<float>(), out.as<float>(), rows, columns); })},
      {"large GEMM", false, bench.measure("large GEMM", gemmFlops, 12.0 * n * n, gemm)},
  };
  Table table({"kernel", "FLOP/byte", "GFLOP/s", "GB/s", "of compute roof", "of memory roof", "bound by"});
  for (const Case& one : cases) {
    const Measured& m = one.measured;
    const bool byMemory = m.intensity() < ridge;
    table.add({one.name, fmt::format("{:.2f}", m.intensity()), fmt::format("{:.1f}", m.flopsPerSecond() / 1e9),
               fmt::format("{:.2f}", m.bytesPerSecond() / 1e9),
               fmt::format("{:.0f} %", 100 * m.flopsPerSecond() / computeRoof.flopsPerSecond()),
               fmt::format("{:.0f} %", 100 * m.bytesPerSecond() / memoryRoof.bytesPerSecond()),
               byMemory ? "memory" : "compute"});
    checks.expect(byMemory == one.memoryBound,
                  fmt::format("{} lies on the {} side of the ridge", one.name, one.memoryBound ? "memory" : "compute"),
                  fmt::format("{:.2f} against {:.1f} FLOP/byte", m.intensity(), ridge));
  }
  table.print();
}

}  // namespace
}  // namespace plumb::lessons

int main(int argc, char** argv) {
  using plumb::lessons::g_options;
  return plumb::lessons::runLesson(
      argc, argv,
      {"bound", "What bounds a kernel: memory-bound LayerNorm, softmax and decode GEMV, and a compute-bound GEMM.",
       [](CLI::App& app) {
         app.add_option("--rows", g_options.rows, "rows (default: 16384 on a GPU, 2048 on the software device)")
             ->check(CLI::Range(1, 1 << 24));
         app.add_option("--columns", g_options.columns, "width of a row")
             ->capture_default_str()
             ->check(CLI::Range(8, 1 << 20));
         app.add_option("--gemm", g_options.gemm, "n of the GEMM (default: 4096 on a GPU, 768 on the software device)")
             ->check(CLI::Range(8, 16384));
         app.add_option("--repeats", g_options.repeats, "measurements, the fastest counts")
             ->capture_default_str()
             ->check(CLI::Range(1, 1000));
       },
       plumb::lessons::teach});
}
