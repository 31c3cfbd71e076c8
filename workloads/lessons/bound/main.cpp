// SPDX-License-Identifier: Apache-2.0
// What bounds a kernel: memory for LayerNorm, softmax and a decode GEMV, compute for a large GEMM; against roofs that
// are measured in the same run, on data that the caches do not hold.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "workloads/lessons/bound/kernels.h"
#include "workloads/lessons/common/lesson.h"
#include "workloads/nn/device.h"
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
  int repeats = 2;
};
Options g_options;

// Of all kernels, when a verdict is not the known one; each takes a second or more.
constexpr int kMoreRounds = 6;

// The rule of plumb's roofline report for one kernel.
const char* verdictOf(double compute, double memory) {
  if (memory > 0.75 && compute < 0.25) return "memory";
  if (compute > 0.75 && memory < 0.50) return "compute";
  if (std::max(compute, memory) > 0.60) return compute > memory ? "compute" : "memory";
  return "latency";
}

// One kind of work, run once for every set in every round; the fastest run counts: what the device can do, not what
// else the machine did.
struct Kernel {
  const char* name;
  const char* bound;  // what is known to bound it; null: a benchmark of a roof
  double flops, bytes;
  std::function<void(size_t set)> work;
  double seconds = 1e30;
  [[nodiscard]] double intensity() const { return flops / bytes; }
  [[nodiscard]] double flopsPerSecond() const { return flops / seconds; }
  [[nodiscard]] double bytesPerSecond() const { return bytes / seconds; }
};

// Matrices that the caches do not hold together, so that each is out of them when its turn comes again, as the
// activations of a model's layers and the weights of a decoder are.
class Bench {
 public:
  Bench(int rows, int columns, int n)
      : m_rows(rows), m_columns(columns), m_n(n), m_gemm(m_ledger, m_stream), m_vector(zeros("vector", columns)) {
    nn::check(cudaEventCreate(&m_start), "creating an event");
    nn::check(cudaEventCreate(&m_stop), "creating an event");
    const size_t count = static_cast<size_t>(rows) * static_cast<size_t>(columns);
    const size_t sets = nn::bytesBeyondCaches() / (2 * sizeof(float) * count) + 1;
    for (size_t i = 0; i < sets; ++i) m_sets.push_back({zeros("in", count), zeros("out", count)});
    m_sums = zeros("sums", nn::readSums(count));
    const size_t square = static_cast<size_t>(n) * static_cast<size_t>(n);
    for (nn::Buffer* matrix : {&m_a, &m_b, &m_c}) *matrix = zeros("matrix", square);
    nn::initialize(m_stream, m_a, 0, 1, 1.0f, 0.0f);
    nn::initialize(m_stream, m_b, 0, 2, 1.0f, 0.0f);
    for (Set& set : m_sets) nn::initialize(m_stream, set.in, 0, 3, 1.0f, 0.0f);
    m_stream.synchronize();
  }
  ~Bench() {
    cudaEventDestroy(m_start);
    cudaEventDestroy(m_stop);
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  [[nodiscard]] size_t sets() const { return m_sets.size(); }

  std::vector<Kernel> kernels() {
    const double elements = static_cast<double>(m_rows) * m_columns, n = m_n;
    const auto in = [this](size_t set) { return m_sets[set].in.as<float>(); };
    const auto out = [this](size_t set) { return m_sets[set].out.as<float>(); };
    const auto gemm = [this](size_t) { m_gemm.multiply(m_n, m_n, m_n, {m_a, m_n}, {m_b, m_n}, {m_c, m_n}); };
    return {
        {"roof: copy", nullptr, 0, 8 * elements,
         [=, this](size_t set) {
           nn::check(
               cudaMemcpyAsync(out(set), in(set), m_sets[set].in.tensor().bytes(), cudaMemcpyDeviceToDevice, m_stream),
               "copying on the device");
         }},
        {"roof: read", nullptr, elements, 4 * elements,
         [=, this](size_t set) { nn::read(m_stream, m_sets[set].in, m_sums); }},
        {"roof: GEMM", nullptr, 2 * n * n * n, 12 * n * n, gemm},
        {"LayerNorm", "memory", 6 * elements, 8 * elements,
         [=, this](size_t set) { layerNorm(m_stream, in(set), out(set), m_rows, m_columns); }},
        {"softmax", "memory", 5 * elements, 8 * elements,
         [=, this](size_t set) { softmax(m_stream, in(set), out(set), m_rows, m_columns); }},
        {"decode GEMV", "memory", 2 * elements, 4 * elements,
         [=, this](size_t set) { decodeGemv(m_stream, in(set), m_vector.as<float>(), out(set), m_rows, m_columns); }},
        {"large GEMM", "compute", 2 * n * n * n, 12 * n * n, gemm},
    };
  }

  // One run for every set.
  void round(Kernel& kernel) {
    const nn::Range range(kernel.name);
    for (size_t set = 0; set < sets(); ++set) {
      nn::restBeforeTiming();
      nn::check(cudaEventRecord(m_start, m_stream), "recording an event");
      kernel.work(set);
      nn::check(cudaEventRecord(m_stop, m_stream), "recording an event");
      nn::check(cudaEventSynchronize(m_stop), "waiting for an event");
      float milliseconds = 0.0f;
      nn::check(cudaEventElapsedTime(&milliseconds, m_start, m_stop), "reading the events");
      kernel.seconds = std::min(kernel.seconds, static_cast<double>(milliseconds) * 1e-3);
    }
  }

 private:
  struct Set {
    nn::Buffer in, out;
  };
  nn::Buffer zeros(const char* name, size_t count) {
    nn::Buffer made(m_ledger, m_stream, nn::Category::kActivation, name, nn::Dtype::kFloat32, count);
    nn::check(cudaMemsetAsync(made.tensor().data, 0, made.tensor().bytes(), m_stream), "clearing a buffer");
    return made;
  }

  int m_rows, m_columns, m_n;
  nn::Stream m_stream;
  nn::MemoryLedger m_ledger;
  nn::Gemm m_gemm;
  nn::Buffer m_vector, m_sums, m_a, m_b, m_c;
  std::vector<Set> m_sets;
  cudaEvent_t m_start = nullptr;
  cudaEvent_t m_stop = nullptr;
};

// Over all kernels in turn, so that what disturbs one disturbs all. Whether one was faster than before by more than 3
// %.
bool measureOnce(Bench& bench, std::vector<Kernel>& kernels) {
  bool improved = false;
  for (Kernel& kernel : kernels) {
    const double before = kernel.seconds;
    bench.round(kernel);
    improved |= kernel.seconds < 0.97 * before;
  }
  return improved;
}

// --repeats rounds, and on until none improves, four times as many at most.
int measure(Bench& bench, std::vector<Kernel>& kernels) {
  int rounds = 0;
  for (bool improved = true; rounds < g_options.repeats || (improved && rounds < 4 * g_options.repeats); ++rounds)
    improved = measureOnce(bench, kernels);
  return rounds;
}

// A measured roof is the best that was seen, and no kernel is faster than its device.
struct Roofs {
  double compute = 0, memory = 0;
  explicit Roofs(const std::vector<Kernel>& kernels) {
    for (const Kernel& kernel : kernels) {
      compute = std::max(compute, kernel.flopsPerSecond());
      memory = std::max(memory, kernel.bytesPerSecond());
    }
  }
  [[nodiscard]] double ridge() const { return compute / memory; }
  [[nodiscard]] double computeShare(const Kernel& kernel) const { return kernel.flopsPerSecond() / compute; }
  [[nodiscard]] double memoryShare(const Kernel& kernel) const { return kernel.bytesPerSecond() / memory; }
  [[nodiscard]] std::string verdict(const Kernel& kernel) const {
    return verdictOf(computeShare(kernel), memoryShare(kernel));
  }
};

void judge(const std::vector<Kernel>& kernels, const Kernel& kernel, const std::function<void()>& again,
           Checks& checks) {
  const bool byMemory = kernel.bound == std::string("memory");
  checks.expectTimes(
      fmt::format("{} is bound by {}", kernel.name, kernel.bound),
      [&] {
        const Roofs roofs(kernels);
        return TimeClaim{roofs.verdict(kernel) == kernel.bound,
                         fmt::format("{:.0f} % of that roof",
                                     100 * (byMemory ? roofs.memoryShare(kernel) : roofs.computeShare(kernel)))};
      },
      again);
  checks.expectTimes(
      fmt::format("{} lies on the {} side of the ridge", kernel.name, kernel.bound),
      [&] {
        const double ridge = Roofs(kernels).ridge();
        return TimeClaim{(kernel.intensity() < ridge) == byMemory,
                         fmt::format("{:.2f} against {:.1f} FLOP/byte", kernel.intensity(), ridge)};
      },
      again);
}

void show(const std::vector<Kernel>& kernels) {
  const Roofs roofs(kernels);
  Table table({"kernel", "FLOP/byte", "GFLOP/s", "GB/s", "of compute roof", "of memory roof", "bound by"});
  for (const Kernel& kernel : kernels)
    table.add({kernel.name, fmt::format("{:.2f}", kernel.intensity()),
               fmt::format("{:.1f}", kernel.flopsPerSecond() / 1e9),
               fmt::format("{:.2f}", kernel.bytesPerSecond() / 1e9),
               fmt::format("{:.0f} %", 100 * roofs.computeShare(kernel)),
               fmt::format("{:.0f} %", 100 * roofs.memoryShare(kernel)), roofs.verdict(kernel)});
  table.print();
}

void teach(Checks& checks) {
  const int rows = g_options.rows > 0 ? g_options.rows : (onGpu() ? 16384 : 256);
  const int n = g_options.gemm > 0 ? g_options.gemm : (onGpu() ? 4096 : 384);
  Bench bench(rows, g_options.columns, n);
  std::vector<Kernel> kernels = bench.kernels();
  int rounds = measure(bench, kernels);
  const int most = rounds + kMoreRounds;
  const auto again = [&] {
    if (rounds == most) return;
    measureOnce(bench, kernels);
    ++rounds;
  };
  for (const Kernel& kernel : kernels) {
    if (kernel.bound) judge(kernels, kernel, again, checks);
  }
  const Roofs roofs(kernels);
  fmt::print(
      "roofs measured here: {:.1f} GFLOP/s in fp32, {:.1f} GB/s; they meet at {:.1f} FLOP/byte\n"
      "{} sets of {} x {} floats, {:.0f} MiB in all, more than the caches; fastest of {} rounds\n\n",
      roofs.compute / 1e9, roofs.memory / 1e9, roofs.ridge(), bench.sets(), rows, g_options.columns,
      8.0 * static_cast<double>(bench.sets()) * rows * g_options.columns / 1048576, rounds);
  show(kernels);
}

}  // namespace
}  // namespace plumb::lessons

int main(int argc, char** argv) {
  using plumb::lessons::g_options;
  return plumb::lessons::runLesson(
      argc, argv,
      {"bound", "What bounds a kernel: memory-bound LayerNorm, softmax and decode GEMV, and a compute-bound GEMM.",
       [](plumb::lessons::OptionList& options) {
         options.integerByDevice("--rows", g_options.rows, 1, 1 << 24,
                                 "rows of a matrix (default: 16384 on a GPU, 256 on the software device)");
         options.integer("--columns", g_options.columns, 8, 1 << 20, "width of a row");
         options.integerByDevice("--gemm", g_options.gemm, 8, 16384,
                                 "n of the GEMM (default: 4096 on a GPU, 384 on the software device)");
         options.integer("--repeats", g_options.repeats, 1, 1000, "rounds at least, the fastest run counts");
       },
       plumb::lessons::teach});
}
