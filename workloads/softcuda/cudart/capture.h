// SPDX-License-Identifier: Apache-2.0
// Stream capture: work submitted to a capturing stream is noted instead of queued. The nodes are kept in the order of
// the calls, which always respects their dependencies; a graph launch runs them one after the other on the launch's
// stream.
#pragma once
#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace softcuda {

class Stream;

struct GraphNode {
  uint64_t id;
  cudaGraphNodeType type;
  std::function<void(Stream&)> run;  // as often as the graph is launched
};
using GraphNodes = std::vector<std::shared_ptr<GraphNode>>;  // a node's address is its handle

// A new node; told to libcupti.
std::shared_ptr<GraphNode> makeGraphNode(cudaGraphNodeType type, std::function<void(Stream&)> run);

void emitGraphNode(uint32_t kind, const GraphNode& node);  // SoftcudaEventKind

class Capture {
 public:
  Capture(const Stream& origin, cudaStreamCaptureMode mode);
  ~Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  void add(const Stream& stream, cudaGraphNodeType type, std::function<void(Stream&)> run);
  void join(Stream& stream);              // captured from now on, because it waits for captured work
  void joinedBack(const Stream& stream);  // another stream waits for what this one has done
  void invalidate() { m_invalid = true; }
  uint64_t id() const { return m_id; }
  bool invalid() const { return m_invalid; }
  bool forbidsUnsafeCalls() const;  // of the calling thread
  bool barsLegacyStream() const { return m_blocking; }

  // Ends it on every stream. Why it cannot become a graph, else success and the nodes.
  cudaError_t end(const Stream& stream, GraphNodes* nodes);

 private:
  const Stream* m_origin;
  const cudaStreamCaptureMode m_mode;
  const std::thread::id m_thread = std::this_thread::get_id();
  const uint64_t m_id;
  std::atomic<bool> m_invalid{false};
  std::atomic<bool> m_blocking;  // one of its streams is not cudaStreamNonBlocking
  std::mutex m_mutex;
  GraphNodes m_nodes;
  std::vector<Stream*> m_streams;  // that joined; counted references
  std::set<const Stream*> m_notJoinedBack;
};

// True, and the captures concerned are void, if a call that must not happen during a capture is made: by any thread
// during a global capture, by the capturing thread during a thread-local one; less of that where
// cudaThreadExchangeStreamCaptureMode says so.
bool captureForbidsThisCall();

// True, and all captures are void: no one can wait for the device while work is captured.
bool captureForbidsWaitingForTheDevice();

enum class LegacyUse { kWork, kQuestion };
// The legacy default stream waits for all blocking streams, which is impossible while one of them is captured, in
// whatever mode: true, and, if work was meant to be queued, those captures are void.
bool captureBarsLegacyStream(LegacyUse use);

// Ids of graphs, executable graphs and nodes are from one sequence.
uint64_t nextGraphId();

// While set, events of the calling worker thread belong to a node of a launched graph.
struct GraphLaunch {
  uint32_t correlation;
  uint64_t queuedNs;
  uint64_t graphId;
  uint64_t nodeId;
};
inline constinit thread_local const GraphLaunch* t_graphLaunch = nullptr;

}  // namespace softcuda
