// SPDX-License-Identifier: Apache-2.0
// Graphs built node by node. A node's work is made by capturing it on a stream that nobody else sees.
#include <algorithm>
#include <memory>

#include "workloads/softcuda/cudart/api_call.h"
#include "workloads/softcuda/cudart/graph.h"
#include "workloads/softcuda/cudart/stream.h"
#include "workloads/softcuda/cudart/work.h"
#include "workloads/softcuda/device.h"

namespace softcuda {
namespace {

struct Recorder {
  std::mutex mutex;
  cudaStream_t stream = createHiddenStream();
};
Recorder& recorder() {
  static auto* instance = new Recorder;
  return *instance;
}

struct Dependencies {
  const cudaGraphNode_t* nodes;
  std::size_t count;
};

// Adds to the graph the one node that work(stream) queues.
template <class Work>
cudaError_t addNode(cudaGraphNode_t* node, cudaGraph_t handle, const Dependencies& after, Work&& work) {
  const auto graph = graphs().find(handle);
  if (!graph || !node || (after.count > 0 && !after.nodes)) return cudaErrorInvalidValue;
  GraphNodes made;
  {
    Recorder& all = recorder();
    std::lock_guard lock(all.mutex);
    const StreamRef stream = findStream(all.stream);
    const auto capture = std::make_shared<Capture>(*stream, cudaStreamCaptureModeRelaxed);
    stream->setCapture(capture);
    const cudaError_t error = work(all.stream);
    const cudaError_t ended = capture->end(*stream, &made);
    stream->setCapture(nullptr);
    if (error != cudaSuccess) return error;
    if (ended != cudaSuccess) return ended;
  }
  if (made.empty()) made.push_back(makeGraphNode(cudaGraphNodeTypeEmpty, [](Stream&) {}));  // a copy of no bytes
  std::lock_guard lock(graph->mutex);
  if (!graph->link(after.nodes, after.count, made[0].get())) return cudaErrorInvalidValue;
  *node = handleOf(made[0].get());
  graph->nodes.push_back(std::move(made[0]));
  return cudaSuccess;
}

}  // namespace

bool Graph::contains(const GraphNode* node) const {
  return std::any_of(nodes.begin(), nodes.end(), [&](const auto& own) { return own.get() == node; });
}

bool Graph::link(const cudaGraphNode_t* from, std::size_t count, const GraphNode* to) {
  for (std::size_t i = 0; i < count; ++i) {
    if (!contains(nodeOf(from[i]))) return false;
  }
  for (std::size_t i = 0; i < count; ++i) edges.emplace_back(nodeOf(from[i]), to);
  return true;
}

GraphNodes Graph::ordered() const {
  std::unordered_map<const GraphNode*, std::size_t> missing;
  for (const auto& [from, to] : edges) ++missing[to];
  GraphNodes result;
  GraphNodes waiting = nodes;
  while (!waiting.empty()) {
    const auto ready = std::stable_partition(waiting.begin(), waiting.end(),
                                             [&](const auto& node) { return missing[node.get()] == 0; });
    if (ready == waiting.begin()) return {};
    for (auto node = waiting.begin(); node != ready; ++node) {
      for (const auto& [from, to] : edges) {
        if (from == node->get()) --missing[to];
      }
      result.push_back(std::move(*node));
    }
    waiting.erase(waiting.begin(), ready);
  }
  return result;
}

}  // namespace softcuda

using namespace softcuda;

extern "C" {

cudaError_t cudaGraphCreate(cudaGraph_t* pGraph, unsigned int flags) {
  return SOFTCUDA_CALL(cudaGraphCreate, v10000, {
    if (!pGraph || flags != 0) return cudaErrorInvalidValue;
    *pGraph = static_cast<cudaGraph_t>(graphs().add(std::make_shared<Graph>()));
    return cudaSuccess;
  });
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph, const cudaGraphNode_t* pDependencies,
                                   size_t numDependencies, const cudaKernelNodeParams* pNodeParams) {
  return SOFTCUDA_CALL(cudaGraphAddKernelNode, v10000, {
    if (!pNodeParams) return cudaErrorInvalidValue;
    const cudaKernelNodeParams& p = *pNodeParams;
    if (p.extra) return cudaErrorNotSupported;
    return addNode(pGraphNode, graph, {pDependencies, numDependencies}, [&](cudaStream_t stream) {
      return queueKernel(call, p.func, p.gridDim, p.blockDim, p.kernelParams, p.sharedMemBytes, stream);
    });
  });
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* pGraphNode, cudaGraph_t graph,
                                     const cudaGraphNode_t* pDependencies, size_t numDependencies, void* dst,
                                     const void* src, size_t count, cudaMemcpyKind kind) {
  return SOFTCUDA_CALL(cudaGraphAddMemcpyNode1D, v11010, {
    return addNode(pGraphNode, graph, {pDependencies, numDependencies}, [&](cudaStream_t stream) {
      return queueCopy(call, {dst, count, count, 1}, {const_cast<void*>(src), count, count, 1}, count, 1, kind, stream);
    });
  });
}

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph, const cudaGraphNode_t* pDependencies,
                                   size_t numDependencies, const cudaMemcpy3DParms* pCopyParams) {
  return SOFTCUDA_CALL(cudaGraphAddMemcpyNode, v10000, {
    if (!pCopyParams) return cudaErrorInvalidValue;
    const cudaMemcpy3DParms& p = *pCopyParams;
    const bool shifted = p.srcPos.x || p.srcPos.y || p.srcPos.z || p.dstPos.x || p.dstPos.y || p.dstPos.z;
    if (p.srcArray || p.dstArray || shifted || p.extent.depth > 1) {
      return softcuda_unsupported("cudaGraphAddMemcpyNode with arrays, positions or depth");
    }
    return addNode(pGraphNode, graph, {pDependencies, numDependencies}, [&](cudaStream_t stream) {
      return queueCopy(call, p.dstPtr, p.srcPtr, p.extent.width, p.extent.height, p.kind, stream);
    });
  });
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph, const cudaGraphNode_t* pDependencies,
                                   size_t numDependencies, const cudaMemsetParams* pMemsetParams) {
  return SOFTCUDA_CALL(cudaGraphAddMemsetNode, v10000, {
    if (!pMemsetParams) return cudaErrorInvalidValue;
    return addNode(pGraphNode, graph, {pDependencies, numDependencies},
                   [&](cudaStream_t stream) { return queueSet(call, *pMemsetParams, stream); });
  });
}

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph, const cudaGraphNode_t* pDependencies,
                                 size_t numDependencies, const cudaHostNodeParams* pNodeParams) {
  return SOFTCUDA_CALL(cudaGraphAddHostNode, v10000, {
    if (!pNodeParams || !pNodeParams->fn) return cudaErrorInvalidValue;
    return addNode(pGraphNode, graph, {pDependencies, numDependencies}, [&](cudaStream_t handle) {
      submit(*findStream(handle), cudaGraphNodeTypeHost,
             [function = pNodeParams->fn, data = pNodeParams->userData](Stream&) { runHostFunction(function, data); });
      return cudaSuccess;
    });
  });
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph, const cudaGraphNode_t* pDependencies,
                                  size_t numDependencies) {
  return SOFTCUDA_CALL(cudaGraphAddEmptyNode, v10000, {
    return addNode(pGraphNode, graph, {pDependencies, numDependencies}, [](cudaStream_t) { return cudaSuccess; });
  });
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                     const cudaGraphEdgeData*, size_t numDependencies) {
  return SOFTCUDA_CALL(cudaGraphAddDependencies, v12030, {
    const auto found = graphs().find(graph);
    if (!found || (numDependencies > 0 && (!from || !to))) return cudaErrorInvalidValue;
    std::lock_guard lock(found->mutex);
    for (std::size_t i = 0; i < numDependencies; ++i) {
      if (from[i] == to[i] || !found->contains(nodeOf(to[i])) || !found->link(&from[i], 1, nodeOf(to[i]))) {
        return cudaErrorInvalidValue;
      }
    }
    return cudaSuccess;
  });
}
}
