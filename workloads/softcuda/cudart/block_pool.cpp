// SPDX-License-Identifier: Apache-2.0
#include "workloads/softcuda/cudart/block_pool.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

#include "workloads/softcuda/device.h"

namespace softcuda {
namespace {

using SteadyClock = std::chrono::steady_clock;

// Waking a helper costs some microseconds; a kernel whose rest takes less is faster alone.
constexpr std::chrono::microseconds kWorthHelp{60};

thread_local int t_priority = 0;

struct Job {
  const SoftcudaKernel& kernel;
  const SoftcudaGrid& grid;
  void** arguments;
  uint64_t blocks;
  uint64_t chunk;
  int priority;
  std::atomic<uint64_t> next;
  std::atomic<cudaError_t> error{cudaSuccess};
  int helpers = 0;  // at work on it; under the pool's mutex

  // One chunk of blocks; false when none is left to hand out.
  bool workOnce() {
    if (error.load(std::memory_order_relaxed) != cudaSuccess) return false;
    const uint64_t first = next.fetch_add(chunk, std::memory_order_relaxed);
    if (first >= blocks) return false;
    const cudaError_t result = kernel.run(&grid, first, std::min(chunk, blocks - first), arguments);
    if (result != cudaSuccess) error = result;
    return true;
  }
};

class BlockPool {
 public:
  void run(Job& job) {
    {
      std::lock_guard lock(m_mutex);
      startHelpers();
      m_jobs.push_back(&job);
      findMostUrgent();
    }
    m_wake.notify_all();
    while (job.workOnce()) {
    }
    std::unique_lock lock(m_mutex);
    remove(job);
    m_idle.wait(lock, [&] { return job.helpers == 0; });
  }

 private:
  void startHelpers() {
    if (m_started) return;
    m_started = true;
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (int i = 1; i < softcuda_threads(); ++i) {
      std::thread([this] {
        pthread_setname_np(pthread_self(), "blocks");
        help();
      }).detach();
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  [[noreturn]] void help() {
    std::unique_lock lock(m_mutex);
    for (;;) {
      m_wake.wait(lock, [&] { return !m_jobs.empty(); });
      Job& job = **std::min_element(m_jobs.begin(), m_jobs.end(),
                                    [](const Job* a, const Job* b) { return a->priority < b->priority; });
      ++job.helpers;
      lock.unlock();
      bool more = true;
      while (more && m_mostUrgent.load(std::memory_order_relaxed) >= job.priority) more = job.workOnce();
      lock.lock();
      if (!more) remove(job);
      if (--job.helpers == 0) m_idle.notify_all();
    }
  }

  // Both under the mutex.
  void findMostUrgent() {
    int urgent = std::numeric_limits<int>::max();
    for (const Job* job : m_jobs) urgent = std::min(urgent, job->priority);
    m_mostUrgent.store(urgent, std::memory_order_relaxed);
  }
  void remove(const Job& job) {
    std::erase(m_jobs, &job);
    findMostUrgent();
  }

  std::mutex m_mutex;
  std::condition_variable m_wake;
  std::condition_variable m_idle;
  std::vector<Job*> m_jobs;
  std::atomic<int> m_mostUrgent{std::numeric_limits<int>::max()};  // priority of the most urgent job
  bool m_started = false;
};

// Blocks that end or fail are waited for no longer.
class GridBarrier : public SoftcudaGridBarrier {
 public:
  explicit GridBarrier(uint64_t blocks) : SoftcudaGridBarrier{&waitFor}, m_running(blocks) {}

  void blockEnded(cudaError_t error) {
    std::lock_guard lock(m_mutex);
    --m_running;
    if (error != cudaSuccess && m_error == cudaSuccess) m_error = error;
    releaseIfAllAreThere();
    if (m_error != cudaSuccess) m_released.notify_all();
  }
  cudaError_t error() const { return m_error; }

 private:
  static int waitFor(SoftcudaGridBarrier* self) { return static_cast<GridBarrier*>(self)->wait() ? 1 : 0; }

  bool wait() {
    std::unique_lock lock(m_mutex);
    const uint64_t generation = m_generation;
    ++m_waiting;
    releaseIfAllAreThere();
    m_released.wait(lock, [&] { return m_generation != generation || m_error != cudaSuccess; });
    return m_error == cudaSuccess;
  }

  void releaseIfAllAreThere() {
    if (m_waiting == 0 || m_waiting < m_running) return;
    m_waiting = 0;
    ++m_generation;
    m_released.notify_all();
  }

  std::mutex m_mutex;
  std::condition_variable m_released;
  uint64_t m_running;
  uint64_t m_waiting = 0;
  uint64_t m_generation = 0;
  cudaError_t m_error = cudaSuccess;
};

BlockPool& pool() {
  static auto* instance = new BlockPool;  // leaked: helpers use it until the process is gone
  return *instance;
}

}  // namespace

void setWorkerPriority(int priority) { t_priority = priority; }

cudaError_t runCooperativeGrid(const SoftcudaKernel& kernel, SoftcudaGrid grid, void** arguments) {
  const uint64_t blocks = uint64_t{grid.grid.x} * grid.grid.y * grid.grid.z;
  GridBarrier barrier(blocks);
  grid.barrier = &barrier;
  const auto runBlock = [&](uint64_t block) { barrier.blockEnded(kernel.run(&grid, block, 1, arguments)); };
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::vector<std::thread> others;
  for (uint64_t block = 1; block < blocks; ++block) others.emplace_back(runBlock, block);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  runBlock(0);
  for (std::thread& other : others) other.join();
  return barrier.error();
}

cudaError_t runGrid(const SoftcudaKernel& kernel, const SoftcudaGrid& grid, void** arguments) {
  const uint64_t blocks = uint64_t{grid.grid.x} * grid.grid.y * grid.grid.z;
  const auto threads = static_cast<uint64_t>(softcuda_threads());
  if (threads == 1 || blocks == 1) return kernel.run(&grid, 0, blocks, arguments);

  // Run alone, in growing steps, until it is clear that the rest is worth helpers.
  const auto start = SteadyClock::now();
  uint64_t done = 0;
  for (uint64_t step = 1; done < blocks; step *= 2) {
    const uint64_t count = std::min(step, blocks - done);
    if (const cudaError_t error = kernel.run(&grid, done, count, arguments); error != cudaSuccess) return error;
    done += count;
    const auto perBlock = (SteadyClock::now() - start) / done;
    if (perBlock * (blocks - done) > kWorthHelp) break;
  }
  if (done == blocks) return cudaSuccess;
  Job job{kernel, grid, arguments, blocks, std::max<uint64_t>(1, (blocks - done) / (threads * 8)), t_priority, {done}};
  pool().run(job);
  return job.error;
}

}  // namespace softcuda
