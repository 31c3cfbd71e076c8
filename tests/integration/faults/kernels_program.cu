// SPDX-License-Identifier: Apache-2.0
// A program with a known number of kernels, copies and sets, and an exit code of its own.
#include "workloads/softcuda/kernels/softcuda_kernel.h"

#include <cstdio>

__global__ void addOne(int* data) { data[threadIdx.x] += 1; }
SOFTCUDA_KERNEL(addOne)

namespace {

constexpr int kKernels = 200;
constexpr int kInGraph = 10;

bool launch(int** data, int times, cudaStream_t stream) {
  void* arguments[] = {data};
  for (int i = 0; i < times; ++i) {
    if (cudaLaunchKernel(reinterpret_cast<const void*>(&addOne), 1, 32, arguments, 0, stream)) return false;
  }
  return true;
}

bool launchByGraphs(int** data) {
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  if (cudaStreamCreate(&stream) || cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal)) return false;
  if (!launch(data, kInGraph, stream)) return false;
  if (cudaStreamEndCapture(stream, &graph) || cudaGraphInstantiate(&executable, graph, 0)) return false;
  for (int i = 0; i < kKernels / kInGraph; ++i) {
    if (cudaGraphLaunch(executable, stream)) return false;
  }
  return cudaStreamSynchronize(stream) == cudaSuccess;
}

}  // namespace

// With an argument the kernels are launched by a graph.
int main(int argc, char**) {
  int* data = nullptr;
  int result[32] = {};
  if (cudaMalloc(reinterpret_cast<void**>(&data), sizeof(result)) || cudaMemset(data, 0, sizeof(result))) return 1;
  if (!(argc > 1 ? launchByGraphs(&data) : launch(&data, kKernels, nullptr))) return 1;
  if (cudaMemcpy(result, data, sizeof(result), cudaMemcpyDeviceToHost)) return 1;
  std::printf("result %d\n", result[31]);
  return 3;
}
