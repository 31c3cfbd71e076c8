// SPDX-License-Identifier: Apache-2.0
// Hidden synchronization: reading the loss in every step, and making data on the host that the device could make
// itself.
#include <fmt/format.h>

#include <chrono>
#include <random>

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
  int width = 128;
  int batch = 32;
  int layers = 4;
  int steps = 90;
};
Options g_options;

double millisecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

// A stack of matrix products with SiLU between them and a loss at the end.
class Network {
 public:
  Network() : m_gemm(m_ledger, m_stream) {
    for (int i = 0; i < g_options.layers; ++i) {
      m_weights.push_back(
          buffer(nn::Category::kParameter, fmt::format("layer {}/weight", i), g_options.width, g_options.width));
      nn::initialize(m_stream, m_weights.back(), 0, static_cast<uint64_t>(i), 0.1f, 0.0f);
    }
    for (const char* name : {"even", "odd", "activated"})
      m_activations.push_back(buffer(nn::Category::kActivation, name, g_options.batch, g_options.width));
    m_target = buffer(nn::Category::kInput, "target", g_options.batch, g_options.width);
    m_losses = buffer(nn::Category::kActivation, "losses", g_options.batch, g_options.width);
    m_loss = buffer(nn::Category::kActivation, "loss", 1, 1);
    nn::initialize(m_stream, m_activations[0], 0, 99, 1.0f, 0.0f);
    nn::initialize(m_stream, m_target, 0, 98, 1.0f, 0.0f);
    m_stream.synchronize();
  }

  void step(int number) {
    const nn::Range range("step", static_cast<uint64_t>(number));
    const nn::Tensor* in = &m_activations[0].tensor();
    for (int i = 0; i < g_options.layers; ++i) {
      const nn::Tensor& out = m_activations[1];
      m_gemm.multiply(g_options.batch, g_options.width, g_options.width, {*in, g_options.width},
                      {m_weights[static_cast<size_t>(i)], g_options.width}, {out, g_options.width});
      nn::siluForward(m_stream, out, m_activations[2]);
      in = &m_activations[2].tensor();
    }
    nn::squaredErrorForward(m_stream, *in, m_target, m_losses);
    nn::sum(m_stream, m_losses, m_loss, 1.0f / static_cast<float>(g_options.batch * g_options.width));
  }

  // As loss.item(): a copy that the host waits for.
  float readLoss() const {
    float loss = 0.0f;
    nn::check(cudaMemcpyAsync(&loss, m_loss.as<float>(), sizeof loss, cudaMemcpyDeviceToHost, m_stream),
              "reading the loss");
    m_stream.synchronize();
    return loss;
  }
  const nn::Stream& stream() const { return m_stream; }

 private:
  nn::Buffer buffer(nn::Category category, const std::string& name, int rows, int columns) {
    return {m_ledger,
            m_stream,
            category,
            name,
            nn::Dtype::kFloat32,
            static_cast<size_t>(rows) * static_cast<size_t>(columns)};
  }

  nn::Stream m_stream;
  nn::MemoryLedger m_ledger;
  nn::Gemm m_gemm;
  std::vector<nn::Buffer> m_weights, m_activations;
  nn::Buffer m_target, m_losses, m_loss;
};

struct Loop {
  double total;   // ms until the device is done
  double issued;  // ms until the host has issued everything
  float loss;
};

Loop train(const char* name, Network& network, bool readEveryStep) {
  network.stream().synchronize();
  const nn::Range range(name);
  const auto start = std::chrono::steady_clock::now();
  Loop loop{};
  for (int i = 0; i < g_options.steps; ++i) {
    network.step(i);
    if (readEveryStep) loop.loss = network.readLoss();
  }
  loop.issued = millisecondsSince(start);
  loop.loss = network.readLoss();
  loop.total = millisecondsSince(start);
  return loop;
}

// ms to get count random numbers onto the device.
double makeOnHost(size_t count, const nn::Stream& stream, float* target) {
  const nn::Range range("made on the host");
  const auto start = std::chrono::steady_clock::now();
  std::vector<float> values(count);
  std::minstd_rand random(1);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  for (float& value : values) value = uniform(random);
  nn::check(cudaMemcpyAsync(target, values.data(), count * sizeof(float), cudaMemcpyHostToDevice, stream),
            "copying the data");
  stream.synchronize();
  return millisecondsSince(start);
}

double makeOnDevice(const nn::Stream& stream, const nn::Tensor& target) {
  const nn::Range range("made on the device");
  const auto start = std::chrono::steady_clock::now();
  nn::initialize(stream, target, 0, 1, 1.0f, 0.0f);
  stream.synchronize();
  return millisecondsSince(start);
}

// The training loop with and without reading the loss in every step.
void compareLoops(Network& network, Checks& checks) {
  train("warm-up", network, false);
  Loop reading = train("loss read every step", network, true), running = train("loss read at the end", network, false);
  checks.expect(reading.loss == running.loss, "both loops compute the same loss",
                fmt::format("{:.5f} and {:.5f}", reading.loss, running.loss));
  const auto again = [&] {  // other names: a recording shows the loops above once
    reading = train("again: loss read every step", network, true);
    running = train("again: loss read at the end", network, false);
  };
  checks.expectTimes(
      "reading every step keeps the host at the device's side",
      [&] {
        return TimeClaim{reading.issued > 0.7 * reading.total,
                         fmt::format("{:.0f} % of the time", 100.0 * reading.issued / reading.total)};
      },
      again);
  checks.expectTimes(
      "without it the host runs ahead",
      [&] {
        return TimeClaim{running.issued < reading.issued,
                         fmt::format("{:.2f} against {:.2f} ms", running.issued, reading.issued)};
      },
      again);
  Table table({"loop", "ms", "ms until the host is through", "waits", "loss"});
  const auto row = [&](const char* name, const Loop& loop, int waits) {
    table.add({name, fmt::format("{:.2f}", loop.total), fmt::format("{:.2f}", loop.issued), std::to_string(waits),
               fmt::format("{:.5f}", loop.loss)});
  };
  row("loss read every step", reading, g_options.steps + 1);
  row("loss read at the end", running, 1);
  table.print();
}

void compareOrigins(const nn::Stream& stream, Checks& checks) {
  nn::MemoryLedger ledger;
  constexpr size_t kCount = 1 << 20;
  const nn::Buffer data(ledger, stream, nn::Category::kInput, "data", nn::Dtype::kFloat32, kCount);
  std::vector<double> host, device;
  makeOnDevice(stream, data);
  const auto measure = [&] {
    for (int i = 0; i < 3; ++i) {
      host.push_back(makeOnHost(kCount, stream, data.as<float>()));
      device.push_back(makeOnDevice(stream, data));
    }
  };
  measure();
  checks.expectTimes(
      "making data on the device is faster than making and copying it",
      [&] {
        return TimeClaim{median(device) < median(host),
                         fmt::format("{:.2f} against {:.2f} ms", median(device), median(host))};
      },
      measure);
  fmt::print("\n{} MiB of random numbers:\n", kCount * sizeof(float) >> 20);
  Table made({"made", "ms"});
  made.add({"on the host, then copied", fmt::format("{:.2f}", median(host))});
  made.add({"on the device", fmt::format("{:.2f}", median(device))});
  made.print();
}

void teach(Checks& checks) {
  Network network;
  compareLoops(network, checks);
  compareOrigins(network.stream(), checks);
}

}  // namespace
}  // namespace plumb::lessons

int main(int argc, char** argv) {
  using plumb::lessons::g_options;
  return plumb::lessons::runLesson(
      argc, argv,
      {"synchronization", "Hidden synchronization: the loss read in every step, and data made on the host.",
       [](plumb::lessons::OptionList& options) {
         options.integer("--width", g_options.width, 8, 16384, "width of the network");
         options.integer("--batch", g_options.batch, 8, 65536, "rows of a batch");
         options.integer("--layers", g_options.layers, 1, 100, "layers");
         options.integer("--steps", g_options.steps, 2, 100000, "steps of each loop");
       },
       plumb::lessons::teach});
}
