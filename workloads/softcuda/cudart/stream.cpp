// SPDX-License-Identifier: Apache-2.0
#include "workloads/softcuda/cudart/stream.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <shared_mutex>
#include <thread>
#include <unordered_set>
#include <vector>

#include "workloads/softcuda/cudart/api_call.h"
#include "workloads/softcuda/cudart/block_pool.h"

namespace softcuda {
namespace {

// As deep as a GPU's launch queue; a host that runs further ahead waits.
constexpr uint64_t kMaxPending = 1024;
constexpr uint32_t kLegacyId = 7;
constexpr uint32_t kFirstCreatedId = 13;
constexpr std::chrono::seconds kExitPatience{5};

struct StreamTable {
  std::shared_mutex mutex;
  std::unordered_set<Stream*> streams;
  std::vector<StreamPoint> destroyed;  // streams that were destroyed while they had work
  Stream* legacy = new Stream(kLegacyId, true, 0, 0);
  std::atomic<uint32_t> nextId{kFirstCreatedId};
  std::mutex legacyOrder;
};

// Leaked: worker threads use it until the process is gone.
StreamTable& table() {
  static auto* instance = new StreamTable;
  return *instance;
}

constinit std::atomic<bool> g_exiting{false};
constinit thread_local Stream* t_workingFor = nullptr;
constinit thread_local bool t_inHostFunction = false;

struct PerThreadStream {
  Stream* stream = nullptr;
  ~PerThreadStream() {
    if (stream) destroyStream(reinterpret_cast<cudaStream_t>(stream));
  }
};
thread_local PerThreadStream t_perThread;

Stream* perThreadStream() {
  if (!t_perThread.stream) t_perThread.stream = reinterpret_cast<Stream*>(createStream(cudaStreamDefault, 0));
  return t_perThread.stream;
}

void emitStream(Stream& stream, SoftcudaEventKind kind) {
  if (!observed()) return;
  SoftcudaEvent event{};
  event.kind = kind;
  event.stream = stream.id();
  event.stream_info.handle = isLegacy(stream) ? nullptr : reinterpret_cast<cudaStream_t>(&stream);
  event.stream_info.priority = stream.priority();
  event.stream_info.cuda_flags = stream.flags();
  emit(event);
}

}  // namespace

StreamPoint::StreamPoint(Stream* stream, uint64_t sequence) : m_stream(stream), m_sequence(sequence) {
  if (m_stream) m_stream->retain();
}
StreamPoint::StreamPoint(const StreamPoint& other) : StreamPoint(other.m_stream, other.m_sequence) {}
StreamPoint::~StreamPoint() {
  if (m_stream) m_stream->release();
}
bool StreamPoint::done() const { return !m_stream || m_stream->completed(m_sequence); }
void StreamPoint::wait() const {
  if (m_stream) m_stream->wait(m_sequence);
}

bool StreamPoint::waitUntil(std::chrono::steady_clock::time_point deadline) const {
  return !m_stream || m_stream->waitUntil(m_sequence, deadline);
}

Stream::Stream(uint32_t id, bool blocking, int priority, unsigned flags)
    : m_id(id), m_blocking(blocking), m_priority(priority), m_flags(flags) {}

Stream::~Stream() {
  while (m_free) delete std::exchange(m_free, m_free->next);
}

void Stream::release() {
  if (m_references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

Operation* Stream::takeNode() {
  const uint64_t queued = submitted();
  if (queued >= kMaxPending && t_workingFor != this) wait(queued - kMaxPending + 1);
  std::lock_guard lock(m_mutex);
  if (!m_free) return new Operation;
  Operation* node = m_free;
  m_free = node->next;
  return node;
}

uint64_t Stream::append(Operation* node) {
  node->next = nullptr;
  uint64_t sequence;
  bool wake;
  {
    std::lock_guard lock(m_mutex);
    (m_tail ? m_tail->next : m_head) = node;
    m_tail = node;
    sequence = m_submitted.load(std::memory_order_relaxed) + 1;
    m_submitted.store(sequence, std::memory_order_release);
    wake = std::exchange(m_sleeping, false);
    if (!m_started) startWorker();
  }
  if (wake) m_wake.notify_one();
  return sequence;
}

void Stream::startWorker() {
  m_started = true;
  retain();
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the program's signals stay with the program's threads
  std::thread([this] {
    t_workingFor = this;
    char name[16];
    std::snprintf(name, sizeof(name), "stream %u", m_id);
    pthread_setname_np(pthread_self(), name);
    setWorkerPriority(m_priority);
    work();
    release();
  }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Stream::work() {
  std::unique_lock lock(m_mutex);
  for (;;) {
    while (!m_head) {
      if (m_closing) return;
      m_sleeping = true;
      m_wake.wait(lock);
    }
    Operation* batch = std::exchange(m_head, nullptr);
    m_tail = nullptr;
    lock.unlock();
    while (batch) {
      Operation* node = batch;
      batch = node->next;
      if (!g_exiting.load(std::memory_order_relaxed)) node->run(*node, *this);
      m_completed.fetch_add(1, std::memory_order_seq_cst);
      if (m_waiters.load(std::memory_order_seq_cst) > 0) {
        std::lock_guard done(m_doneMutex);
        m_done.notify_all();
      }
      std::lock_guard nodes(m_mutex);
      node->next = m_free;
      m_free = node;
    }
    lock.lock();
  }
}

void Stream::wait(uint64_t sequence) const {
  if (completed(sequence)) return;
  m_waiters.fetch_add(1, std::memory_order_seq_cst);
  {
    std::unique_lock lock(m_doneMutex);
    m_done.wait(lock, [&] { return m_completed.load(std::memory_order_seq_cst) >= sequence; });
  }
  m_waiters.fetch_sub(1, std::memory_order_relaxed);
}

bool Stream::waitUntil(uint64_t sequence, std::chrono::steady_clock::time_point deadline) const {
  m_waiters.fetch_add(1, std::memory_order_seq_cst);
  bool done;
  {
    std::unique_lock lock(m_doneMutex);
    done = m_done.wait_until(lock, deadline, [&] { return m_completed.load(std::memory_order_seq_cst) >= sequence; });
  }
  m_waiters.fetch_sub(1, std::memory_order_relaxed);
  return done;
}

std::shared_ptr<Capture> Stream::capture() const {
  if (!m_capturing.load(std::memory_order_acquire)) [[likely]]
    return nullptr;
  std::lock_guard lock(m_mutex);
  return m_capture;
}

void Stream::setCapture(std::shared_ptr<Capture> capture) {
  std::lock_guard lock(m_mutex);
  m_capturing.store(capture != nullptr, std::memory_order_release);
  m_capture.swap(capture);  // the old one goes with the argument, after the lock
}

void Stream::close() {
  {
    std::lock_guard lock(m_mutex);
    m_closing = true;
    m_sleeping = false;
  }
  m_wake.notify_one();
}

bool isLegacy(const Stream& stream) { return &stream == table().legacy; }

StreamRef findStream(cudaStream_t handle) {
  Stream* stream = nullptr;
  if (handle == nullptr || handle == cudaStreamLegacy) {
    stream = table().legacy;
    stream->retain();
    return StreamRef(stream);
  }
  if (handle == cudaStreamPerThread) handle = reinterpret_cast<cudaStream_t>(perThreadStream());
  StreamTable& all = table();
  std::shared_lock lock(all.mutex);
  if (const auto found = all.streams.find(reinterpret_cast<Stream*>(handle)); found != all.streams.end()) {
    stream = *found;
    stream->retain();
  }
  return StreamRef(stream);
}

cudaError_t refuseWork(const StreamRef& stream) {
  if (!stream) return cudaErrorInvalidResourceHandle;
  if (isLegacy(*stream)) {
    return captureBarsLegacyStream(LegacyUse::kWork) ? cudaErrorStreamCaptureImplicit : cudaSuccess;
  }
  const auto capture = stream->capture();
  return capture && capture->invalid() ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
}

static Stream* addStream(unsigned flags, int priority, uint32_t id) {
  StreamTable& all = table();
  auto* stream = new Stream(id, (flags & cudaStreamNonBlocking) == 0, priority, flags);
  std::lock_guard lock(all.mutex);
  all.streams.insert(stream);
  return stream;
}

cudaStream_t createStream(unsigned flags, int priority) {
  Stream* stream = addStream(flags, priority, table().nextId.fetch_add(1));
  emitStream(*stream, SOFTCUDA_EVENT_STREAM_CREATED);
  return reinterpret_cast<cudaStream_t>(stream);
}

cudaStream_t createHiddenStream() { return reinterpret_cast<cudaStream_t>(addStream(cudaStreamNonBlocking, 0, 0)); }

bool destroyStream(cudaStream_t handle) {
  auto* stream = reinterpret_cast<Stream*>(handle);
  StreamTable& all = table();
  {
    std::lock_guard lock(all.mutex);
    if (all.streams.erase(stream) == 0) return false;
    std::erase_if(all.destroyed, [](const StreamPoint& point) { return point.done(); });
    if (StreamPoint tail = stream->tail(); !tail.done()) all.destroyed.push_back(std::move(tail));
  }
  emitStream(*stream, SOFTCUDA_EVENT_STREAM_DESTROYED);
  stream->close();
  stream->release();
  return true;
}

static std::vector<StreamPoint> allTails() {
  StreamTable& all = table();
  std::shared_lock lock(all.mutex);
  std::vector<StreamPoint> tails = all.destroyed;
  tails.push_back(all.legacy->tail());
  for (Stream* stream : all.streams) tails.push_back(stream->tail());
  return tails;
}

void synchronizeAll() {
  for (const StreamPoint& tail : allTails()) tail.wait();
}

// Waits for queued work, but not for ever (a collective may wait for a process that is gone); then lets the workers do
// nothing more, since the program's static objects are about to die.
void drainAtExit() {
  if (!t_workingFor) {
    const auto deadline = std::chrono::steady_clock::now() + kExitPatience;
    for (const StreamPoint& tail : allTails()) {
      if (!tail.waitUntil(deadline)) break;
    }
  }
  g_exiting = true;
}

OrderGuard::OrderGuard(Stream& stream) {
  if (!stream.blocking()) return;
  StreamTable& all = table();
  if (&stream != all.legacy) {
    const uint64_t legacyWork = all.legacy->submitted();
    if (legacyWork <= stream.joinedLegacy.load(std::memory_order_relaxed) || all.legacy->completed(legacyWork)) return;
    stream.push([point = StreamPoint(all.legacy, legacyWork)](Stream&) { point.wait(); });
    stream.joinedLegacy.store(legacyWork, std::memory_order_relaxed);  // only now: another thread may look
    return;
  }
  all.legacyOrder.lock();
  m_locked = true;
  std::vector<StreamPoint> others;
  {
    std::shared_lock lock(all.mutex);
    for (Stream* other : all.streams) {
      if (other->blocking() && !other->completed(other->submitted())) others.push_back(other->tail());
    }
    for (const StreamPoint& point : all.destroyed) {
      if (point.stream()->blocking() && !point.done()) others.push_back(point);
    }
  }
  for (StreamPoint& point : others) {
    stream.push([point = std::move(point)](Stream&) { point.wait(); });
  }
}

OrderGuard::~OrderGuard() {
  if (m_locked) table().legacyOrder.unlock();
}

bool inHostFunction() { return t_inHostFunction; }

void runHostFunction(cudaHostFn_t function, void* data) {
  t_inHostFunction = true;
  function(data);
  t_inHostFunction = false;
}

}  // namespace softcuda

extern "C" uint32_t softcuda_stream_id(cudaStream_t stream) {
  const softcuda::StreamRef found = softcuda::findStream(stream);
  return found ? found->id() : 0;
}
