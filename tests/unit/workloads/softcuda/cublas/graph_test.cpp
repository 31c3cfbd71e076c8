// SPDX-License-Identifier: Apache-2.0
// Library calls in a stream capture.
#include <gtest/gtest.h>

#include "tests/unit/workloads/softcuda/cublas/reference.h"

namespace softcuda_test {
namespace {

TEST(CapturedCalls, RunAsOftenAsTheGraphIsLaunched) {
  const Cublas cublas;
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_EQ(cublasSetStream(cublas.handle, stream), CUBLAS_STATUS_SUCCESS);
  float a[4] = {1, 0, 0, 1}, b[4] = {1, 2, 3, 4}, c[4] = {};
  const float one = 1;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  {
    float factor = 2;  // gone when the graph is launched
    ASSERT_EQ(cublasSgemm(cublas.handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, a, 2, b, 2, &one, c, 2),
              CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(cublasSscal(cublas.handle, 4, &factor, c, 1), CUBLAS_STATUS_SUCCESS);
    factor = 0;
  }
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  EXPECT_EQ(c[3], 0.0f) << "capturing runs nothing";
  std::size_t nodes = 0;
  ASSERT_EQ(cudaGraphGetNodes(graph, nullptr, &nodes), cudaSuccess);
  EXPECT_EQ(nodes, 2u);
  ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
  ASSERT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(c[3], 56.0f);  // c = 2 (b + c), three times: 14 b
  ASSERT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

// The result would have to be in host memory when the call returns.
TEST(CapturedCalls, ThatReturnAResultToTheHostMakeTheCaptureVoid) {
  const Cublas cublas;
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_EQ(cublasSetStream(cublas.handle, stream), CUBLAS_STATUS_SUCCESS);
  const float x[2] = {3, 4};
  float norm = 0;
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  EXPECT_EQ(cublasSnrm2(cublas.handle, 2, x, 1, &norm), CUBLAS_STATUS_EXECUTION_FAILED);
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
  ASSERT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

}  // namespace
}  // namespace softcuda_test
