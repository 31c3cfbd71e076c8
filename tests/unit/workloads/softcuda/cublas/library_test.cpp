// SPDX-License-Identifier: Apache-2.0
// What the library looks like from outside: settings, texts, and that its OpenBLAS is its own business.
#include <cublasLt.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/unit/workloads/softcuda/cublas/reference.h"

namespace softcuda_test {
namespace {

TEST(Library, SettingsAreKept) {
  const Cublas cublas;
  cudaStream_t stream = nullptr;
  EXPECT_EQ(cublasGetStream(cublas.handle, &stream), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(stream, cublas.stream);
  cublasMath_t math;
  cublasSetMathMode(cublas.handle, CUBLAS_TF32_TENSOR_OP_MATH);
  cublasGetMathMode(cublas.handle, &math);
  EXPECT_EQ(math, CUBLAS_TF32_TENSOR_OP_MATH);
  cublasPointerMode_t mode;
  cublasGetPointerMode(cublas.handle, &mode);
  EXPECT_EQ(mode, CUBLAS_POINTER_MODE_HOST);
  EXPECT_EQ(cublasSetPointerMode(cublas.handle, static_cast<cublasPointerMode_t>(5)), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasSetWorkspace(cublas.handle, nullptr, 0), CUBLAS_STATUS_SUCCESS);
}

TEST(Library, SaysItsVersion) {
  int version = 0;
  cublasGetVersion(nullptr, &version);
  EXPECT_EQ(version, CUBLAS_VERSION);
  EXPECT_EQ(cublasLtGetVersion(), static_cast<size_t>(CUBLAS_VERSION));
  EXPECT_STREQ(cublasGetStatusName(CUBLAS_STATUS_NOT_SUPPORTED), "CUBLAS_STATUS_NOT_SUPPORTED");
  EXPECT_STREQ(cublasLtGetStatusName(CUBLAS_STATUS_SUCCESS), "CUBLAS_STATUS_SUCCESS");
  EXPECT_STRNE(cublasGetStatusString(CUBLAS_STATUS_ALLOC_FAILED), "");
}

TEST(Library, SymbolsCarryNvidiasVersionNode) {
  EXPECT_NE(dlvsym(RTLD_DEFAULT, "cublasGemmEx", "libcublas.so.13"), nullptr);
  EXPECT_NE(dlvsym(RTLD_DEFAULT, "cublasLtMatmul", "libcublasLt.so.13"), nullptr);
}

TEST(Library, ShowsTheProgramNothingOfOpenBlas) {
  EXPECT_EQ(dlsym(RTLD_DEFAULT, "cblas_sgemm"), nullptr);
  EXPECT_EQ(dlsym(RTLD_DEFAULT, "openblas_set_num_threads"), nullptr);
}

TEST(Library, MatricesTravelWithTheirLeadingDimensions) {
  const Cublas cublas;
  const float host[6] = {1, 2, -1, 3, 4, -1};  // 2 × 2 with a leading dimension of 3
  float back[4] = {};
  const Array device(CUDA_R_32F, 4);
  ASSERT_EQ(cublasSetMatrix(2, 2, sizeof(float), host, 3, device.data(), 2), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(device.get(2), 3);
  ASSERT_EQ(cublasGetMatrix(2, 2, sizeof(float), device.data(), 2, back, 2), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(back[3], 4);
  EXPECT_EQ(cublasSetMatrix(2, 2, 0, host, 3, device.data(), 2), CUBLAS_STATUS_INVALID_VALUE);
}

}  // namespace
}  // namespace softcuda_test
