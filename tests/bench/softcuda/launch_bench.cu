// SPDX-License-Identifier: Apache-2.0
// What a launch costs on the software device, against handing a function to a thread by a plain queue; and whether two
// streams overlap as two threads do. Least times of many short tries, so that other load does not count as long as it
// leaves gaps.
#include "workloads/softcuda/kernels/softcuda_kernel.h"

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

__global__ void empty() {}
SOFTCUDA_KERNEL(empty)

void work(unsigned rounds, unsigned* result) {
  unsigned value = *result + 1;
  for (unsigned i = 0; i < rounds; ++i) value = value * 1664525u + 1013904223u;
  *result = value;
}
__global__ void spin(unsigned rounds, unsigned* result) { work(rounds, result); }
SOFTCUDA_KERNEL(spin)

namespace {

constexpr int kTries = 60;
constexpr int kLaunches = 500;  // fewer than a stream queues before the host has to wait

// A queue, a lock, a condition: what one would write first.
class PlainQueue {
 public:
  PlainQueue()
      : m_worker([this] {
          std::unique_lock lock(m_mutex);
          for (;;) {
            m_filled.wait(lock, [&] { return !m_functions.empty(); });
            const std::function<void()> function = std::move(m_functions.front());
            m_functions.pop_front();
            lock.unlock();
            if (!function) return;
            function();
            lock.lock();
          }
        }) {}
  ~PlainQueue() {
    push({});
    m_worker.join();
  }
  void push(std::function<void()> function) {
    {
      std::lock_guard lock(m_mutex);
      m_functions.push_back(std::move(function));
    }
    m_filled.notify_one();
  }

 private:
  std::mutex m_mutex;
  std::condition_variable m_filled;
  std::deque<std::function<void()>> m_functions;
  std::thread m_worker;
};

template <class Body>
double leastSeconds(Body&& body) {
  double least = 1e9;
  for (int i = 0; i < kTries; ++i) {
    const auto start = std::chrono::steady_clock::now();
    body();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    if (taken.count() < least) least = taken.count();
  }
  return least;
}

void launch(const void* kernel, void** arguments, cudaStream_t stream) {
  if (cudaLaunchKernel(kernel, 1, 1, arguments, 0, stream) != cudaSuccess) std::exit(1);
}

void compareLaunches(cudaStream_t stream) {
  const double device = leastSeconds([&] {
    for (int i = 0; i < kLaunches; ++i) launch(reinterpret_cast<const void*>(&empty), nullptr, stream);
    cudaStreamSynchronize(stream);
  });
  PlainQueue queue;
  const double plain = leastSeconds([&] {
    std::mutex mutex;
    std::condition_variable done;
    int count = 0;
    for (int i = 0; i < kLaunches; ++i) {
      queue.push([&] {
        std::lock_guard lock(mutex);
        if (++count == kLaunches) done.notify_one();
      });
    }
    std::unique_lock lock(mutex);
    done.wait(lock, [&] { return count == kLaunches; });
  });
  std::printf("  empty kernel, launched and run: %.2f us, %.2f x a round through a plain queue\n",
              device / kLaunches * 1e6, device / plain);
}

void compareStreams(cudaStream_t first, cudaStream_t second) {
  constexpr int kKernels = 4;
  unsigned rounds = 500'000;
  unsigned* results = nullptr;
  if (cudaMalloc(reinterpret_cast<void**>(&results), 4096) != cudaSuccess) std::exit(1);
  const auto spend = [&](cudaStream_t even, cudaStream_t odd) {
    return leastSeconds([&] {
      for (int i = 0; i < kKernels; ++i) {
        unsigned* result = results + (i % 2) * 512;  // on lines of their own
        void* arguments[] = {&rounds, &result};
        launch(reinterpret_cast<const void*>(&spin), arguments, i % 2 ? odd : even);
      }
      cudaDeviceSynchronize();
    });
  };
  const double serial = spend(first, first);
  const double overlapped = spend(first, second);
  const double threads = leastSeconds([&] {
    const auto half = [&](unsigned* result) {
      for (int i = 0; i < kKernels / 2; ++i) work(rounds, result);
    };
    std::thread other([&] { half(results + 512); });
    half(results);
    other.join();
  });
  std::printf("  kernels on two streams: %.2f of the time on one stream; on two bare threads %.2f\n",
              overlapped / serial, threads / serial);
  cudaFree(results);
}

}  // namespace

int main() {
  std::printf("software device: launches and streams\n");
  cudaStream_t first = nullptr;
  cudaStream_t second = nullptr;
  if (cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking) != cudaSuccess ||
      cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking) != cudaSuccess) {
    return 1;
  }
  compareLaunches(first);
  compareStreams(first, second);
  return 0;
}
