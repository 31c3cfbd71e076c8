// SPDX-License-Identifier: Apache-2.0
#include "workloads/softcuda/nccl/proxy.h"

namespace softnccl {

Proxy::~Proxy() {
  {
    const std::lock_guard lock(m_mutex);
    m_stop = true;
  }
  m_changed.notify_all();
  if (m_thread.joinable()) {
    m_thread.join();
  }
}

void Proxy::post(std::function<void()> report) {
  {
    const std::lock_guard lock(m_mutex);
    m_reports.push_back(std::move(report));
    if (!m_thread.joinable()) {
      m_thread = std::thread([this] { run(); });
    }
  }
  m_changed.notify_all();
}

void Proxy::drain() {
  std::unique_lock lock(m_mutex);
  m_changed.wait(lock, [this] { return m_reports.empty() && !m_busy; });
}

void Proxy::run() {
  std::unique_lock lock(m_mutex);
  while (true) {
    m_changed.wait(lock, [this] { return m_stop || !m_reports.empty(); });
    if (m_reports.empty()) {
      return;
    }
    std::function<void()> report = std::move(m_reports.front());
    m_reports.pop_front();
    m_busy = true;
    lock.unlock();
    report();
    report = nullptr;  // what it holds must be gone before drain returns
    lock.lock();
    m_busy = false;
    m_changed.notify_all();
  }
}

}  // namespace softnccl
