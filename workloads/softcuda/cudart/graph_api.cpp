// SPDX-License-Identifier: Apache-2.0
// Stream capture, executable graphs and their launches.
#include <algorithm>
#include <memory>

#include "workloads/softcuda/cudart/api_call.h"
#include "workloads/softcuda/cudart/graph.h"
#include "workloads/softcuda/cudart/stream.h"
#include "workloads/softcuda/device.h"

namespace softcuda {
namespace {

void runGraph(const Graph& graph, Stream& stream, uint32_t correlation, uint64_t queuedNs) {
  const bool report = observed();
  SoftcudaEvent event{};
  event.kind = SOFTCUDA_EVENT_GRAPH;
  event.correlation = correlation;
  event.stream = stream.id();
  event.graph_id = graph.id;
  event.start_ns = report ? softcuda_now() : 0;
  GraphLaunch launch{correlation, queuedNs, graph.id, 0};
  for (const auto& node : graph.nodes) {
    launch.nodeId = node->id;
    t_graphLaunch = &launch;
    node->run(stream);
  }
  t_graphLaunch = nullptr;
  if (!report) return;
  event.end_ns = softcuda_now();
  emit(event);
}

cudaError_t instantiate(cudaGraphExec_t* executable, cudaGraph_t graph) {
  if (!executable) return cudaErrorInvalidValue;
  const auto found = graphs().find(graph);
  if (!found) return cudaErrorInvalidValue;
  auto made = std::make_shared<Graph>();
  {
    std::lock_guard lock(found->mutex);
    made->nodes = found->ordered();
    if (made->nodes.size() != found->nodes.size()) return cudaErrorInvalidValue;  // a cycle
  }
  for (const auto& node : made->nodes) emitGraphNode(SOFTCUDA_EVENT_GRAPH_NODE_CLONED, *node);
  *executable = static_cast<cudaGraphExec_t>(executables().add(std::move(made)));
  return cudaSuccess;
}

}  // namespace

GraphTable& graphs() {
  static auto* instance = new GraphTable;
  return *instance;
}
GraphTable& executables() {
  static auto* instance = new GraphTable;
  return *instance;
}

}  // namespace softcuda

using namespace softcuda;

extern "C" {

uint64_t softcuda_graph_id(const void* handle) {
  for (GraphTable* table : {&graphs(), &executables()}) {
    if (const auto found = table->find(handle)) return found->id;
  }
  return 0;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return SOFTCUDA_CALL(cudaStreamBeginCapture, v10000, {
    const StreamRef found = findStream(stream);
    if (!found) return cudaErrorInvalidResourceHandle;
    if (isLegacy(*found)) return cudaErrorStreamCaptureUnsupported;
    if (found->capture()) return cudaErrorIllegalState;
    if (mode < cudaStreamCaptureModeGlobal || mode > cudaStreamCaptureModeRelaxed) return cudaErrorInvalidValue;
    found->setCapture(std::make_shared<Capture>(*found, mode));
    return cudaSuccess;
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* pGraph) {
  return SOFTCUDA_CALL(cudaStreamEndCapture, v10000, {
    const StreamRef found = findStream(stream);
    if (!found) return cudaErrorInvalidResourceHandle;
    if (!pGraph) return cudaErrorInvalidValue;
    *pGraph = nullptr;
    const auto capture = found->capture();
    if (!capture) return cudaErrorIllegalState;
    auto graph = std::make_shared<Graph>();
    const cudaError_t error = capture->end(*found, &graph->nodes);
    if (error == cudaErrorStreamCaptureUnmatched || error == cudaErrorStreamCaptureWrongThread) return error;
    found->setCapture(nullptr);
    if (error == cudaSuccess) *pGraph = static_cast<cudaGraph_t>(graphs().add(std::move(graph)));
    return error;
  });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* pCaptureStatus) {
  return SOFTCUDA_CALL(cudaStreamIsCapturing, v10000, {
    const StreamRef found = findStream(stream);
    if (!found) return cudaErrorInvalidResourceHandle;
    if (!pCaptureStatus) return cudaErrorInvalidValue;
    if (isLegacy(*found) && captureBarsLegacyStream(LegacyUse::kQuestion)) return cudaErrorStreamCaptureImplicit;
    const auto capture = found->capture();
    *pCaptureStatus = !capture             ? cudaStreamCaptureStatusNone
                      : capture->invalid() ? cudaStreamCaptureStatusInvalidated
                                           : cudaStreamCaptureStatusActive;
    return cudaSuccess;
  });
}

// The graph under construction cannot be changed or looked at: its handle and dependencies are null.
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* captureStatus_out,
                                     unsigned long long* id_out, cudaGraph_t* graph_out,
                                     const cudaGraphNode_t** dependencies_out, const cudaGraphEdgeData** edgeData_out,
                                     size_t* numDependencies_out) {
  return SOFTCUDA_CALL(cudaStreamGetCaptureInfo, v12030, {
    const StreamRef found = findStream(stream);
    if (!found) return cudaErrorInvalidResourceHandle;
    if (!captureStatus_out) return cudaErrorInvalidValue;
    if (isLegacy(*found) && captureBarsLegacyStream(LegacyUse::kQuestion)) return cudaErrorStreamCaptureImplicit;
    const auto capture = found->capture();
    *captureStatus_out = !capture             ? cudaStreamCaptureStatusNone
                         : capture->invalid() ? cudaStreamCaptureStatusInvalidated
                                              : cudaStreamCaptureStatusActive;
    if (id_out) *id_out = capture ? capture->id() : 0;
    if (graph_out) *graph_out = nullptr;
    if (dependencies_out) *dependencies_out = nullptr;
    if (edgeData_out) *edgeData_out = nullptr;
    if (numDependencies_out) *numDependencies_out = 0;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* pGraphExec, cudaGraph_t graph, unsigned long long) {
  return SOFTCUDA_CALL(cudaGraphInstantiate, v12000, { return instantiate(pGraphExec, graph); });
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* pGraphExec, cudaGraph_t graph, unsigned long long) {
  return SOFTCUDA_CALL(cudaGraphInstantiateWithFlags, v11040, { return instantiate(pGraphExec, graph); });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graphExec, cudaStream_t stream) {
  return SOFTCUDA_CALL(cudaGraphLaunch, v10000, {
    auto graph = executables().find(graphExec);
    const StreamRef found = findStream(stream);
    if (!graph) return cudaErrorInvalidValue;
    if (const cudaError_t error = refuseWork(found)) return error;
    if (found->capture()) return softcuda_unsupported("cudaGraphLaunch into a stream capture");
    submit(*found, [graph = std::move(graph), correlation = call.correlation(), queued = call.startNs()](Stream& self) {
      runGraph(*graph, self, correlation, queued);
    });
    return cudaSuccess;
  });
}

cudaError_t cudaGraphUpload(cudaGraphExec_t graphExec, cudaStream_t stream) {
  return SOFTCUDA_CALL(cudaGraphUpload, v10000, {
    if (!executables().find(graphExec)) return cudaErrorInvalidValue;
    return refuseWork(findStream(stream));
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return SOFTCUDA_CALL(cudaGraphDestroy, v10000,
                       { return graphs().remove(graph) ? cudaSuccess : cudaErrorInvalidValue; });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graphExec) {
  return SOFTCUDA_CALL(cudaGraphExecDestroy, v10000,
                       { return executables().remove(graphExec) ? cudaSuccess : cudaErrorInvalidValue; });
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* numNodes) {
  return SOFTCUDA_CALL(cudaGraphGetNodes, v10000, {
    const auto found = graphs().find(graph);
    if (!found || !numNodes) return cudaErrorInvalidValue;
    std::lock_guard lock(found->mutex);
    const std::size_t count = found->nodes.size();
    for (std::size_t i = 0; nodes && i < *numNodes; ++i) {
      nodes[i] = i < count ? handleOf(found->nodes[i].get()) : nullptr;
    }
    *numNodes = nodes ? std::min(*numNodes, count) : count;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* pType) {
  return SOFTCUDA_CALL(cudaGraphNodeGetType, v10000, {
    if (softcuda_graph_node_id(node) == 0 || !pType) return cudaErrorInvalidValue;
    *pType = nodeOf(node)->type;
    return cudaSuccess;
  });
}
}
