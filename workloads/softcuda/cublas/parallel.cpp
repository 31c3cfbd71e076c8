// SPDX-License-Identifier: Apache-2.0
#include "workloads/softcuda/cublas/parallel.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

namespace softcublas {
namespace {

struct Job {
  const std::function<void(int)>* body;
  int tasks;
  std::atomic<int> next{0};
  std::atomic<int> done{0};

  // Takes tasks until none is left.
  void work() {
    for (int task = next.fetch_add(1); task < tasks; task = next.fetch_add(1)) {
      (*body)(task);
      if (done.fetch_add(1) + 1 == tasks) {
        done.notify_all();
      }
    }
  }
};

class Helpers {
 public:
  void offer(const std::shared_ptr<Job>& job, int helpers) {
    {
      const std::lock_guard lock(m_mutex);
      for (int i = 0; i < helpers; ++i) {
        m_queue.push_back(job);
      }
      for (; m_threads < helpers; ++m_threads) {
        std::thread([this] { run(); }).detach();
      }
    }
    m_wake.notify_all();
  }

 private:
  [[noreturn]] void run() {
    while (true) {
      std::shared_ptr<Job> job;
      {
        std::unique_lock lock(m_mutex);
        m_wake.wait(lock, [this] { return !m_queue.empty(); });
        job = std::move(m_queue.front());
        m_queue.pop_front();
      }
      job->work();
    }
  }

  std::mutex m_mutex;
  std::condition_variable m_wake;
  std::deque<std::shared_ptr<Job>> m_queue;
  int m_threads = 0;
};

}  // namespace

void parallelFor(int tasks, int threads, const std::function<void(int)>& body) {
  if (tasks <= 1 || threads <= 1) {
    for (int task = 0; task < tasks; ++task) {
      body(task);
    }
    return;
  }
  // Never destroyed: its threads may outlive main.
  static Helpers* const helpers = new Helpers;
  const auto job = std::make_shared<Job>();
  job->body = &body;
  job->tasks = tasks;
  helpers->offer(job, std::min(threads, tasks) - 1);
  job->work();
  for (int done = job->done.load(); done < tasks; done = job->done.load()) {
    job->done.wait(done);
  }
}

}  // namespace softcublas
