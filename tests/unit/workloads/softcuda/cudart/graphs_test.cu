// SPDX-License-Identifier: Apache-2.0
// Graphs built node by node, and memory allocated within a capture.
#include "workloads/softcuda/kernels/softcuda_kernel.h"

#include <gtest/gtest.h>

namespace graphs_test {
__global__ void twiceAndMore(int* data, int more) { data[threadIdx.x] = 2 * data[threadIdx.x] + more; }
}  // namespace graphs_test
SOFTCUDA_KERNEL(graphs_test::twiceAndMore)

namespace {

class Graphs : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
    ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
    ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&data), kBytes), cudaSuccess);
  }
  void TearDown() override {
    EXPECT_EQ(cudaFree(data), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  }
  cudaGraphNode_t addKernel(int more, std::initializer_list<cudaGraphNode_t> after) {
    void* arguments[] = {&data, &more};
    cudaKernelNodeParams parameters{};
    parameters.func = reinterpret_cast<void*>(&graphs_test::twiceAndMore);
    parameters.gridDim = 1;
    parameters.blockDim = kCount;
    parameters.kernelParams = arguments;
    cudaGraphNode_t node = nullptr;
    EXPECT_EQ(cudaGraphAddKernelNode(&node, graph, after.begin(), after.size(), &parameters), cudaSuccess);
    return node;
  }
  void launch(int times) {
    cudaGraphExec_t executable = nullptr;
    ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
    for (int i = 0; i < times; ++i) ASSERT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
    ASSERT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  }

  static constexpr unsigned kCount = 4;
  static constexpr std::size_t kBytes = kCount * sizeof(int);
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  int* data = nullptr;
};

TEST_F(Graphs, RunTheirNodesInTheOrderOfTheirDependencies) {
  int result[kCount] = {};
  int hostCalls = 0;
  cudaGraphNode_t copy = nullptr;
  ASSERT_EQ(cudaGraphAddMemcpyNode1D(&copy, graph, nullptr, 0, result, data, kBytes, cudaMemcpyDeviceToHost),
            cudaSuccess);
  const cudaGraphNode_t last = addKernel(1, {});
  cudaMemsetParams zero{};
  zero.dst = data;
  zero.elementSize = 4;
  zero.width = kCount;
  zero.height = 1;
  cudaGraphNode_t set = nullptr;
  ASSERT_EQ(cudaGraphAddMemsetNode(&set, graph, nullptr, 0, &zero), cudaSuccess);
  const cudaGraphNode_t first = addKernel(5, {set});
  cudaHostNodeParams host{[](void* calls) { ++*static_cast<int*>(calls); }, &hostCalls};
  cudaGraphNode_t hostNode = nullptr;
  ASSERT_EQ(cudaGraphAddHostNode(&hostNode, graph, &copy, 1, &host), cudaSuccess);
  const cudaGraphNode_t from[] = {first, last};
  const cudaGraphNode_t to[] = {last, copy};
  ASSERT_EQ(cudaGraphAddDependencies(graph, from, to, nullptr, 2), cudaSuccess);
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  ASSERT_EQ(cudaGraphNodeGetType(set, &type), cudaSuccess);
  EXPECT_EQ(type, cudaGraphNodeTypeMemset);
  ASSERT_EQ(cudaGraphNodeGetType(hostNode, &type), cudaSuccess);
  EXPECT_EQ(type, cudaGraphNodeTypeHost);
  launch(2);
  EXPECT_EQ(result[kCount - 1], 11);  // 2 * (2 * 0 + 5) + 1
  EXPECT_EQ(hostCalls, 2);
}

TEST_F(Graphs, KeepTheArgumentsOfTheirKernels) {
  ASSERT_EQ(cudaMemset(data, 0, kBytes), cudaSuccess);
  addKernel(3, {});
  launch(3);
  int result[kCount] = {};
  ASSERT_EQ(cudaMemcpy(result, data, kBytes, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(result[0], 21);
}

TEST_F(Graphs, CyclesAndForeignNodesAreRefused) {
  const cudaGraphNode_t a = addKernel(1, {});
  const cudaGraphNode_t b = addKernel(1, {a});
  ASSERT_EQ(cudaGraphAddDependencies(graph, &b, &a, nullptr, 1), cudaSuccess);
  cudaGraphExec_t executable = nullptr;
  EXPECT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaErrorInvalidValue);
  cudaGraph_t other = nullptr;
  cudaGraphNode_t node = nullptr;
  ASSERT_EQ(cudaGraphCreate(&other, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphAddEmptyNode(&node, other, &a, 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphAddDependencies(graph, &a, &a, nullptr, 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphAddMemcpyNode1D(&node, graph, nullptr, 0, data, data, 100 * kBytes, cudaMemcpyDeviceToDevice),
            cudaErrorInvalidValue);
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  EXPECT_EQ(cudaGraphNodeGetType(reinterpret_cast<cudaGraphNode_t>(&type), &type), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphDestroy(other), cudaSuccess);
}

TEST_F(Graphs, MemoryAllocatedInACaptureLivesAsLongAsTheGraph) {
  std::size_t before = 0, during = 0, after = 0, total = 0;
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  ASSERT_EQ(cudaMemGetInfo(&before, &total), cudaSuccess);
  int* scratch = nullptr;
  int result = 0;
  cudaGraph_t captured = nullptr;
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  ASSERT_EQ(cudaMallocAsync(reinterpret_cast<void**>(&scratch), 1 << 20, stream), cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(scratch, 1, sizeof(int), stream), cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(&result, scratch, sizeof(int), cudaMemcpyDeviceToHost, stream), cudaSuccess);
  ASSERT_EQ(cudaFreeAsync(scratch, stream), cudaSuccess);
  EXPECT_EQ(cudaFreeAsync(data, stream), cudaErrorInvalidValue) << "not allocated by the graph";
  ASSERT_EQ(cudaStreamEndCapture(stream, &captured), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&executable, captured, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphDestroy(captured), cudaSuccess);
  for (int i = 0; i < 2; ++i) {
    result = 0;
    ASSERT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(result, 0x01010101);
  }
  ASSERT_EQ(cudaMemGetInfo(&during, &total), cudaSuccess);
  ASSERT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
  ASSERT_EQ(cudaMemGetInfo(&after, &total), cudaSuccess);
  EXPECT_EQ(before - during, std::size_t{1} << 20);
  EXPECT_EQ(after, before);
}

}  // namespace
