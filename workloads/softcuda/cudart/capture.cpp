// SPDX-License-Identifier: Apache-2.0
#include "workloads/softcuda/cudart/capture.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "workloads/softcuda/cudart/api_call.h"
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

// To tell whether a handle is one.
struct LiveNodes {
  std::mutex mutex;
  std::unordered_map<const void*, uint64_t> ids;
};
LiveNodes& liveNodes() {
  static auto* instance = new LiveNodes;
  return *instance;
}

// The captures that refuses() is true of become void; whether there are any.
template <class Refuses>
bool voidCaptures(Refuses&& refuses) {
  ActiveCaptures& all = active();
  if (all.count.load(std::memory_order_relaxed) == 0) return false;
  std::lock_guard lock(all.mutex);
  bool any = false;
  for (Capture* capture : all.captures) {
    if (!refuses(*capture)) continue;
    capture->invalidate();
    any = true;
  }
  return any;
}

constinit thread_local cudaStreamCaptureMode t_mode = cudaStreamCaptureModeGlobal;

}  // namespace

uint64_t nextGraphId() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1);
}

std::shared_ptr<GraphNode> makeGraphNode(cudaGraphNodeType type, std::function<void(Stream&)> run) {
  const std::shared_ptr<GraphNode> node(new GraphNode{nextGraphId(), type, std::move(run)}, [](GraphNode* dead) {
    {
      std::lock_guard lock(liveNodes().mutex);
      liveNodes().ids.erase(dead);
    }
    delete dead;
  });
  {
    std::lock_guard lock(liveNodes().mutex);
    liveNodes().ids.emplace(node.get(), node->id);
  }
  emitGraphNode(SOFTCUDA_EVENT_GRAPH_NODE_CREATED, *node);
  return node;
}

void emitGraphNode(uint32_t kind, const GraphNode& node) {
  if (!observed()) return;
  SoftcudaEvent event{};
  event.kind = kind;
  event.graph_node_id = node.id;
  event.graph_node.handle = reinterpret_cast<cudaGraphNode_t>(const_cast<GraphNode*>(&node));
  event.graph_node.type = node.type;
  emit(event);
}

Capture::Capture(const Stream& origin, cudaStreamCaptureMode mode)
    : m_origin(&origin), m_mode(mode), m_id(nextGraphId()), m_blocking(origin.blocking()) {
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
  return voidCaptures([](const Capture& capture) { return capture.forbidsUnsafeCalls(); });
}

bool captureForbidsWaitingForTheDevice() {
  return voidCaptures([](const Capture&) { return true; });
}

bool captureBarsLegacyStream(LegacyUse use) {
  if (use == LegacyUse::kWork) return voidCaptures([](const Capture& capture) { return capture.barsLegacyStream(); });
  std::lock_guard lock(active().mutex);
  const auto& all = active().captures;
  return std::any_of(all.begin(), all.end(), [](const Capture* capture) { return capture->barsLegacyStream(); });
}

bool Capture::forbidsUnsafeCalls() const {
  if (t_mode == cudaStreamCaptureModeRelaxed || m_mode == cudaStreamCaptureModeRelaxed) return false;
  if (m_thread == std::this_thread::get_id()) return true;
  return m_mode == cudaStreamCaptureModeGlobal && t_mode == cudaStreamCaptureModeGlobal;
}

void Capture::add(const Stream& stream, cudaGraphNodeType type, std::function<void(Stream&)> run) {
  std::lock_guard lock(m_mutex);
  m_nodes.push_back(makeGraphNode(type, std::move(run)));
  if (&stream != m_origin) m_notJoinedBack.insert(&stream);
}

void Capture::join(Stream& stream) {
  std::lock_guard lock(m_mutex);
  if (&stream == m_origin || std::find(m_streams.begin(), m_streams.end(), &stream) != m_streams.end()) return;
  stream.retain();
  m_streams.push_back(&stream);
  if (stream.blocking()) m_blocking = true;
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

extern "C" cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  using namespace softcuda;
  return SOFTCUDA_CALL(cudaThreadExchangeStreamCaptureMode, v10010, {
    if (!mode || *mode < cudaStreamCaptureModeGlobal || *mode > cudaStreamCaptureModeRelaxed)
      return cudaErrorInvalidValue;
    std::swap(t_mode, *mode);
    return cudaSuccess;
  });
}

extern "C" uint64_t softcuda_graph_node_id(cudaGraphNode_t node) {
  std::lock_guard lock(softcuda::liveNodes().mutex);
  const auto found = softcuda::liveNodes().ids.find(node);
  return found == softcuda::liveNodes().ids.end() ? 0 : found->second;
}
