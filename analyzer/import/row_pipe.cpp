// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/row_pipe.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace plumb::import {
namespace {

constexpr size_t kBatchBytes = 1u << 18;  // stays in the second-level cache
constexpr size_t kBatchesAhead = 32;

}  // namespace

struct RowPipe::Shared {
  explicit Shared(schema::Writer given) : writer(std::move(given)) {}

  schema::Writer writer;  // of the thread below; of the user while nothing is queued and it is idle
  std::mutex mutex;
  std::condition_variable filled, emptied;
  std::deque<Batch> queue;
  std::vector<Batch> spare;
  bool isBusy = false, isEnding = false;
  std::thread thread;

  void run(std::atomic<bool>& failed) {
    std::unique_lock lock(mutex);
    while (true) {
      filled.wait(lock, [&] { return isEnding || !queue.empty(); });
      if (queue.empty()) return;
      Batch batch = std::move(queue.front());
      queue.pop_front();
      isBusy = true;
      lock.unlock();
      for (size_t at = 0; at < batch.used;) {
        const auto* entry = reinterpret_cast<const Entry*>(batch.memory.get() + at);
        entry->run(writer, batch.memory.get() + at + roundUp(sizeof(Entry)));
        at += entry->bytes;
      }
      if (writer.failed()) failed = true;
      lock.lock();
      isBusy = false;
      if (batch.capacity == kBatchBytes) {
        batch.used = 0;
        spare.push_back(std::move(batch));
      }
      emptied.notify_all();
    }
  }
};

RowPipe::RowPipe(schema::Writer writer) : m_shared(std::make_unique<Shared>(std::move(writer))) {
  m_shared->thread = std::thread([this, shared = m_shared.get()] { shared->run(m_failed); });
}

RowPipe::~RowPipe() {
  {
    const std::lock_guard lock(m_shared->mutex);
    m_shared->isEnding = true;
    if (m_failed) m_shared->queue.clear();
  }
  m_shared->filled.notify_all();
  m_shared->thread.join();
}

void RowPipe::flush() {
  if (m_batch.used == 0) return;
  {
    std::unique_lock lock(m_shared->mutex);
    m_shared->emptied.wait(lock, [&] { return m_shared->queue.size() < kBatchesAhead; });
    m_shared->queue.push_back(std::move(m_batch));
  }
  m_shared->filled.notify_all();
  m_batch = {};
}

void RowPipe::nextBatch(size_t atLeast) {
  flush();
  if (atLeast <= kBatchBytes) {
    const std::lock_guard lock(m_shared->mutex);
    if (!m_shared->spare.empty()) {
      m_batch = std::move(m_shared->spare.back());
      m_shared->spare.pop_back();
      return;
    }
  }
  const size_t capacity = std::max(kBatchBytes, atLeast);
  m_batch = {std::unique_ptr<std::byte[]>(new std::byte[capacity]), capacity, 0};
}

void RowPipe::drain() {
  flush();
  std::unique_lock lock(m_shared->mutex);
  m_shared->emptied.wait(lock, [&] { return m_shared->queue.empty() && !m_shared->isBusy; });
}

void RowPipe::commit() {
  drain();
  m_shared->writer.commit();
  if (m_shared->writer.failed()) m_failed = true;
}

const std::string& RowPipe::failure() {
  drain();
  return m_shared->writer.failure();
}

schema::Database& RowPipe::database() {
  drain();
  return m_shared->writer.database();
}

}  // namespace plumb::import
