// SPDX-License-Identifier: Apache-2.0
#include "workloads/calibrate/roofs.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <limits>

#include "workloads/nn/device.h"
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

constexpr int kSingles = 64;

// Device time of the fastest of at least kSingles single pieces of work, started one by one until `atLeast` has passed:
// a piece of about a millisecond that starts on an idle device runs through even where other programs use the CPU.
double bestOfSingles(const nn::Stream& stream, double atLeast, const std::function<void()>& work) {
  cudaEvent_t start = nullptr, stop = nullptr;
  nn::check(cudaEventCreate(&start), "creating an event");
  nn::check(cudaEventCreate(&stop), "creating an event");
  float best = std::numeric_limits<float>::max();
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kSingles || std::chrono::steady_clock::now() - begin < std::chrono::duration<double>(atLeast);
       ++i) {
    nn::check(cudaEventRecord(start, stream), "recording an event");
    work();
    nn::check(cudaEventRecord(stop, stream), "recording an event");
    nn::check(cudaEventSynchronize(stop), "waiting for an event");
    float milliseconds = 0.0f;
    nn::check(cudaEventElapsedTime(&milliseconds, start, stop), "reading the events");
    best = std::min(best, milliseconds);
    nn::restBeforeTiming();
  }
  cudaEventDestroy(start);
  cudaEventDestroy(stop);
  return static_cast<double>(best) * 1e-3;
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
  if (gpu) return {{4096, 8192}, size_t{1} << 28, seconds};
  return {{256, 384, 512, 768}, size_t{1} << 21, seconds};
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
  const size_t count = effort.memoryElements, bytes = count * sizeof(float);
  const size_t sets = nn::bytesBeyondCaches() / (3 * bytes) + 1;
  std::vector<std::array<Buffer, 3>> arrays(sets);
  for (auto& set : arrays) {
    for (Buffer& array : set) {
      array = Buffer(ledger, stream, Category::kWorkspace, "array", Dtype::kFloat32, count);
      nn::check(cudaMemsetAsync(array.tensor().data, 0, bytes, stream), "clearing an array");
    }
  }
  stream.synchronize();
  const Buffer sums(ledger, stream, Category::kWorkspace, "sums", Dtype::kFloat32, nn::readSums(count));
  size_t turn = 0;
  const auto next = [&]() -> const std::array<Buffer, 3>& { return arrays[turn++ % sets]; };
  const auto bytesPerSecond = [&](size_t moved, const std::function<void()>& work) {
    return static_cast<double>(moved) / bestOfSingles(stream, effort.seconds, work);
  };
  const double read = bytesPerSecond(bytes, [&] { nn::read(stream, next()[0], sums); });
  const double copy = bytesPerSecond(2 * bytes, [&] {
    const auto& [from, to, other] = next();
    nn::check(cudaMemcpyAsync(to.tensor().data, from.tensor().data, bytes, cudaMemcpyDeviceToDevice, stream),
              "copying on the device");
  });
  const double triad = bytesPerSecond(3 * bytes, [&] {
    const auto& [a, b, out] = next();
    nn::triad(stream, a, b, out);
  });
  return std::max({read, copy, triad});
}

}  // namespace plumb::calibrate
