// SPDX-License-Identifier: Apache-2.0
// The communicator's progress thread, as far as a profiler sees it: NCCL reports when a kernel's channels started and
// stopped (KernelCh) from its own thread, never from the one that launches. It is started by the first such event.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace softnccl {

class Proxy {
 public:
  Proxy() = default;
  // Reports what is queued, then ends the thread.
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  // Runs report on the progress thread, in order.
  void post(std::function<void()> report);
  // Waits until everything posted so far has been reported.
  void drain();

 private:
  void run();

  std::mutex m_mutex;
  std::condition_variable m_changed;
  std::deque<std::function<void()>> m_reports;
  bool m_busy = false;
  bool m_stop = false;
  std::thread m_thread;
};

}  // namespace softnccl
