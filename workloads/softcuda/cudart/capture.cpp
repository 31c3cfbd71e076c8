// SPDX-License-Identifier: Apache-2.0
#include "workloads/softcuda/cudart/capture.h"

#include <algorithm>
#include <utility>

#include "workloads/softcuda/cudart/stream.h"

namespace softcuda {
namespace {

struct ActiveCaptures {
  std::mutex mutex;
  std::vector<Capture*> captures;
  std::atomic<std::size_t> count{0};
};
ActiveCaptures& active() {
  static auto* instance = new ActiveCaptures;
  return *instance;
}

}  // namespace

uint64_t nextGraphId() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1);
}

Capture::Capture(const Stream& origin, cudaStreamCaptureMode mode)
    : m_origin(&origin), m_mode(mode), m_id(nextGraphId()) {
  std::lock_guard lock(active().mutex);
  active().captures.push_back(this);
  active().count = active().captures.size();
}

Capture::~Capture() {
  std::lock_guard lock(active().mutex);
  std::erase(active().captures, this);
  active().count = active().captures.size();
}

bool captureForbidsThisCall() {
  ActiveCaptures& all = active();
  if (all.count.load(std::memory_order_relaxed) == 0) return false;
  std::lock_guard lock(all.mutex);
  bool forbidden = false;
  for (Capture* capture : all.captures) {
    if (!capture->forbidsUnsafeCalls()) continue;
    capture->invalidate();
    forbidden = true;
  }
  return forbidden;
}

bool Capture::forbidsUnsafeCalls() const {
  return m_mode == cudaStreamCaptureModeGlobal ||
         (m_mode == cudaStreamCaptureModeThreadLocal && m_thread == std::this_thread::get_id());
}

void Capture::add(const Stream& stream, cudaGraphNodeType type, std::function<void(Stream&)> run) {
  std::lock_guard lock(m_mutex);
  m_nodes.push_back({nextGraphId(), type, std::move(run)});
  if (&stream != m_origin) m_notJoinedBack.insert(&stream);
}

void Capture::join(Stream& stream) {
  std::lock_guard lock(m_mutex);
  if (&stream == m_origin || std::find(m_streams.begin(), m_streams.end(), &stream) != m_streams.end()) return;
  stream.retain();
  m_streams.push_back(&stream);
  m_notJoinedBack.insert(&stream);
}

void Capture::joinedBack(const Stream& stream) {
  std::lock_guard lock(m_mutex);
  m_notJoinedBack.erase(&stream);
}

cudaError_t Capture::end(const Stream& stream, GraphNodes* nodes) {
  if (&stream != m_origin) return cudaErrorStreamCaptureUnmatched;
  if (m_mode != cudaStreamCaptureModeRelaxed && m_thread != std::this_thread::get_id()) {
    return cudaErrorStreamCaptureWrongThread;
  }
  std::lock_guard lock(m_mutex);
  for (Stream* joined : std::exchange(m_streams, {})) {
    joined->setCapture(nullptr);
    joined->release();
  }
  if (m_invalid) return cudaErrorStreamCaptureInvalidated;
  if (!m_notJoinedBack.empty()) return cudaErrorStreamCaptureUnjoined;
  *nodes = std::move(m_nodes);
  return cudaSuccess;
}

}  // namespace softcuda
