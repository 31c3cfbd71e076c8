// SPDX-License-Identifier: Apache-2.0
// Small kernels: an eager chain against one fused kernel, a small batch against a large one, and the chain as a graph.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "workloads/lessons/common/lesson.h"
#include "workloads/lessons/small_kernels/kernels.h"
#include "workloads/nn/device.h"
#include "workloads/nn/memory.h"
#include "workloads/nn/nvtx.h"
#include "workloads/nn/operations.h"
#include "workloads/nn/stream.h"

namespace plumb::lessons {
namespace {

struct Options {
  int columns = 0;  // by the device
  int smallBatch = 64;
  int largeBatch = 8192;
  int layers = 4;  // times the chain runs in one step
  int steps = 10;
};
Options g_options;

int columns() { return g_options.columns > 0 ? g_options.columns : (onGpu() ? 1024 : 64); }

// The operands for one batch size, and the three ways to run a step.
class Step {
 public:
  explicit Step(int rows)
      : m_shape{rows, columns()},
        m_in(matrix("in")),
        m_scratchMatrix(matrix("scratch")),
        m_out(matrix("out")),
        m_bias(vector("bias", columns())),
        m_mean(vector("mean", rows)),
        m_inverse(vector("inverse deviation", rows)) {
    nn::initialize(m_stream, m_in, 0, 1, 2.0f, 0.0f);
    nn::initialize(m_stream, m_bias, 0, 2, 0.5f, 0.0f);
    m_stream.synchronize();
  }
  ~Step() {
    if (m_graph != nullptr) cudaGraphExecDestroy(m_graph);
  }
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  void eager() {
    const ChainScratch scratch{m_scratchMatrix.as<float>(), m_mean.as<float>(), m_inverse.as<float>()};
    for (int layer = 0; layer < g_options.layers; ++layer)
      chained(m_stream, m_shape, m_in.as<float>(), m_bias.as<float>(), scratch, m_out.as<float>());
  }
  void fusedStep() {
    for (int layer = 0; layer < g_options.layers; ++layer)
      fused(m_stream, m_shape, m_in.as<float>(), m_bias.as<float>(), m_out.as<float>());
  }
  void capture() {
    cudaGraph_t graph = nullptr;
    nn::check(cudaStreamBeginCapture(m_stream, cudaStreamCaptureModeThreadLocal), "beginning a capture");
    eager();
    nn::check(cudaStreamEndCapture(m_stream, &graph), "ending a capture");
    nn::check(cudaGraphInstantiate(&m_graph, graph, 0), "instantiating a graph");
    nn::check(cudaGraphDestroy(graph), "destroying a graph");
  }
  void replay() { nn::check(cudaGraphLaunch(m_graph, m_stream), "launching a graph"); }

  const nn::Stream& stream() const { return m_stream; }
  std::vector<float> result() const {
    std::vector<float> values(m_out.tensor().count);
    nn::check(cudaMemcpy(values.data(), m_out.as<float>(), values.size() * sizeof(float), cudaMemcpyDeviceToHost),
              "copying the result");
    return values;
  }

 private:
  nn::Buffer vector(const char* name, int count) {
    return {m_ledger, m_stream, nn::Category::kActivation, name, nn::Dtype::kFloat32, static_cast<size_t>(count)};
  }
  nn::Buffer matrix(const char* name) { return vector(name, m_shape.rows * m_shape.columns); }

  RowsShape m_shape;
  nn::Stream m_stream;
  nn::MemoryLedger m_ledger;
  nn::Buffer m_in, m_scratchMatrix, m_out, m_bias, m_mean, m_inverse;
  cudaGraphExec_t m_graph = nullptr;
};

// Fastest ms of a step, the device synchronized at its end, and of the host's part alone, in CPU time of the thread:
// what else the machine does can only add to the one, and hardly to the other.
struct Times {
  double step;
  double host;
};

double threadCpuMilliseconds() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return 1e3 * static_cast<double>(used.tv_sec) + 1e-6 * static_cast<double>(used.tv_nsec);
}

struct Way {
  std::string name;
  std::string title;  // in the table
  int launches;
  std::function<void()> work;
  Times fastest{1e30, 1e30};
};

// A timing takes as many steps as this many rows need: one step of a small batch is too short for a clock, and ends
// before the launches of its kernels can be told from the wait for them.
constexpr int kTimedRows = 1536;

// `steps` in a row, the device synchronized after the last.
Times timeOnce(const Step& step, const Way& way, int steps) {
  const double cpu = threadCpuMilliseconds();
  const auto start = std::chrono::steady_clock::now();
  double host = 0.0;
  for (int i = 0; i < steps; ++i) {
    const nn::Range range(way.name);
    way.work();
    if (i + 1 < steps) continue;
    host = threadCpuMilliseconds() - cpu;
    step.stream().synchronize();
  }
  const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
  return {elapsed.count() / steps, host / steps};
}

// In turn, so that what disturbs one way disturbs all: --steps times, and on until none is faster than before by more
// than 3 %, four times as many at most.
void timeInTurn(Step& step, std::vector<Way>& ways, int rows) {
  const int steps = std::max(1, kTimedRows / rows);
  int improved = 0;  // the last round in which one was
  for (int i = 0; i < g_options.steps || (i < 4 * g_options.steps && i - improved < g_options.steps); ++i) {
    for (Way& way : ways) {
      const Times before = way.fastest;
      nn::restBeforeTiming();
      const Times now = timeOnce(step, way, steps);
      way.fastest = {std::min(before.step, now.step), std::min(before.host, now.host)};
      if (way.fastest.step < 0.97 * before.step || way.fastest.host < 0.97 * before.host) improved = i;
    }
  }
}

double largestDifference(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = 0.0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, static_cast<double>(std::abs(a[i] - b[i])));
  return largest;
}

// The three ways to run a step of one batch size.
class Experiment {
 public:
  Experiment(int rows, Checks& checks) : m_rows(rows), m_step(rows) {
    const auto resultOf = [this](const std::function<void()>& work) {
      work();
      m_step.stream().synchronize();
      return m_step.result();
    };
    const std::vector<float> expected = resultOf([this] { m_step.eager(); });
    const double fused = largestDifference(expected, resultOf([this] { m_step.fusedStep(); }));
    m_step.capture();
    const double replayed = largestDifference(expected, resultOf([this] { m_step.replay(); }));
    checks.expect(fused < 1e-3, fmt::format("batch {}: both give the same result", rows), fmt::format("{:.1e}", fused));
    checks.expect(replayed < 1e-6, fmt::format("batch {}: so does the graph", rows));
    const int layers = g_options.layers;
    m_ways = {
        {fmt::format("eager, batch {}", rows), "eager chain", kChainLaunches * layers, [this] { m_step.eager(); }},
        {fmt::format("fused, batch {}", rows), "fused", layers, [this] { m_step.fusedStep(); }},
        {fmt::format("graph, batch {}", rows), "eager chain as a graph", 1, [this] { m_step.replay(); }}};
    measure();
  }
  Experiment(const Experiment&) = delete;
  Experiment& operator=(const Experiment&) = delete;

  void measure() { timeInTurn(m_step, m_ways, m_rows); }

  void judge(Checks& checks) {
    const auto again = [this] { measure(); };
    checks.expectTimes(
        fmt::format("batch {}: fusing pays", m_rows),
        [this] {
          const double one = m_ways[1].fastest.step, chain = m_ways[0].fastest.step;
          return TimeClaim{one < chain, fmt::format("{:.3f} against {:.3f} ms", one, chain)};
        },
        again);
    checks.expectTimes(
        fmt::format("batch {}: a graph costs the host one launch", m_rows),
        [this] {
          const double graph = m_ways[2].fastest.host, chain = m_ways[0].fastest.host;
          return TimeClaim{graph < chain, fmt::format("{:.3f} against {:.3f} ms of its CPU time", graph, chain)};
        },
        again);
  }

  void show(Table& table) const {
    for (const Way& way : m_ways)
      table.add({std::to_string(m_rows), way.title, std::to_string(way.launches),
                 fmt::format("{:.3f}", way.fastest.step), fmt::format("{:.3f}", way.fastest.host),
                 fmt::format("{:.3f}", 1000.0 * way.fastest.step / m_rows)});
  }

  // Of the eager chain.
  [[nodiscard]] double microsecondsPerRow() const { return 1000.0 * m_ways[0].fastest.step / m_rows; }

 private:
  int m_rows;
  Step m_step;
  std::vector<Way> m_ways;
};

void teach(Checks& checks) {
  if (columns() % 64 != 0) throw nn::UsageError(fmt::format("--columns {} is not a multiple of 64", columns()));
  Experiment small(g_options.smallBatch, checks), large(g_options.largeBatch, checks);
  small.judge(checks);
  large.judge(checks);
  if (4 * g_options.smallBatch <= g_options.largeBatch) {
    checks.expectTimes(
        "a row of the small batch costs more: launches dominate",
        [&] {
          const double ofSmall = small.microsecondsPerRow(), ofLarge = large.microsecondsPerRow();
          return TimeClaim{ofSmall > ofLarge, fmt::format("{:.2f} against {:.2f} us", ofSmall, ofLarge)};
        },
        [&] { large.measure(); });
  }
  Table table({"batch", "way", "launches", "fastest step, ms", "host, CPU ms", "us per row"});
  small.show(table);
  large.show(table);
  table.print();
}

}  // namespace
}  // namespace plumb::lessons

int main(int argc, char** argv) {
  using plumb::lessons::g_options;
  return plumb::lessons::runLesson(
      argc, argv,
      {"small_kernels",
       "Small kernels: bias + GELU + LayerNorm as a chain, fused, and as a CUDA graph, for two batch sizes.",
       [](plumb::lessons::OptionList& options) {
         options.integerByDevice(
             "--columns", g_options.columns, 64, 65536,
             "width of a row, a multiple of 64 (default: 1024 on a GPU, 64 on the software device)");
         options.integer("--small", g_options.smallBatch, 1, 1 << 20, "rows of the small batch");
         options.integer("--large", g_options.largeBatch, 1, 1 << 20, "rows of the large batch");
         options.integer("--layers", g_options.layers, 1, 1000, "chains in a step");
         options.integer("--steps", g_options.steps, 3, 10000, "measured steps, at least");
       },
       plumb::lessons::teach});
}
