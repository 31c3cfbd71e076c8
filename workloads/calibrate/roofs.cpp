// SPDX-License-Identifier: Apache-2.0
#include "workloads/calibrate/roofs.h"

#include <algorithm>
#include <chrono>
#include <functional>

#include "workloads/nn/error.h"
#include "workloads/nn/memory.h"
#include "workloads/nn/operations.h"
#include "workloads/nn/stream.h"

namespace plumb::calibrate {
namespace {

using nn::Buffer;
using nn::Category;
using nn::Dtype;

constexpr int kBatches = 3;

double secondsOf(const nn::Stream& stream, int repetitions, const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < repetitions; ++i) work();
  stream.synchronize();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  return took.count() / repetitions;
}

// Seconds of one piece of work: the best of a few batches, each long enough for launches and clocks not to matter.
double bestSeconds(const nn::Stream& stream, double atLeast, const std::function<void()>& work) {
  const double once = std::min(secondsOf(stream, 1, work), secondsOf(stream, 1, work));  // the first one warms up
  const int repetitions = std::clamp(static_cast<int>(atLeast / kBatches / once), 1, 10000);
  double best = once;
  for (int batch = 0; batch < kBatches; ++batch) best = std::min(best, secondsOf(stream, repetitions, work));
  return best;
}

Buffer uniform(nn::MemoryLedger& ledger, const nn::Stream& stream, const char* name, Dtype dtype, size_t count) {
  const Buffer values(ledger, stream, Category::kWorkspace, "values", Dtype::kFloat32, count);
  nn::initialize(stream, values, 0, 1, 1.0f, 0.0f);
  Buffer made(ledger, stream, Category::kWorkspace, name, dtype, count);
  nn::cast(stream, values, made);
  return made;
}

}  // namespace

Effort effortFor(bool gpu, double seconds) {
  if (gpu) return {{4096, 8192}, {size_t{1} << 28}, seconds};
  return {{256, 512, 768}, {size_t{1} << 14, size_t{1} << 16, size_t{1} << 18, size_t{1} << 22}, seconds};
}

double measureGemm(const Effort& effort, Dtype dtype, nn::Float32Multiply multiply) {
  nn::MemoryLedger ledger;
  const nn::Stream stream;
  nn::Gemm gemm(ledger, stream, multiply);
  double best = 0;
  for (const int n : effort.matrixSizes) {
    const size_t count = static_cast<size_t>(n) * static_cast<size_t>(n);
    const Buffer a = uniform(ledger, stream, "a", dtype, count);
    const Buffer b = uniform(ledger, stream, "b", dtype, count);
    const Buffer c(ledger, stream, Category::kWorkspace, "c", dtype, count);
    const double seconds = bestSeconds(stream, effort.seconds, [&] { gemm.multiply(n, n, n, {a, n}, {b, n}, {c, n}); });
    best = std::max(best, 2.0 * n * n * n / seconds);
  }
  return best;
}

double measureMemory(const Effort& effort) {
  nn::MemoryLedger ledger;
  const nn::Stream stream;
  double best = 0;
  for (const size_t count : effort.memoryElements) {
    const Buffer a = uniform(ledger, stream, "a", Dtype::kFloat32, count);
    const Buffer b = uniform(ledger, stream, "b", Dtype::kFloat32, count);
    const Buffer c(ledger, stream, Category::kWorkspace, "c", Dtype::kFloat32, count);
    const double bytes = static_cast<double>(a.tensor().bytes());
    const double triad = bestSeconds(stream, effort.seconds, [&] { nn::triad(stream, a, b, c); });
    const double copy = bestSeconds(stream, effort.seconds, [&] {
      nn::check(cudaMemcpyAsync(c.tensor().data, a.tensor().data, a.tensor().bytes(), cudaMemcpyDeviceToDevice, stream),
                "copying on the device");
    });
    best = std::max({best, 3 * bytes / triad, 2 * bytes / copy});
  }
  return best;
}

}  // namespace plumb::calibrate
