// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/unit/workloads/softcuda/cublas/reference.h"

namespace softcuda_test {
namespace {

class GemmErrors : public testing::Test {
 protected:
  cublasStatus_t sgemm(int m, int n, int k, int lda, int ldb, int ldc) {
    return cublasSgemm(m_cublas.handle, m_transpose, CUBLAS_OP_N, m, n, k, m_alpha, m_data, lda, m_data, ldb, &m_zero,
                       m_data, ldc);
  }
  cublasStatus_t gemmEx(cudaDataType a, cudaDataType b, cudaDataType c, cublasComputeType_t compute) {
    return cublasGemmEx(m_cublas.handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &m_one, m_data, a, 1, m_data, b, 1, &m_zero,
                        m_data, c, 1, compute, CUBLAS_GEMM_DEFAULT);
  }

  Cublas m_cublas;
  float m_one = 1, m_zero = 0;
  const float* m_alpha = &m_one;
  float m_data[64] = {};
  cublasOperation_t m_transpose = CUBLAS_OP_N;
};

TEST_F(GemmErrors, NegativeSizesAreInvalid) {
  EXPECT_EQ(sgemm(-1, 1, 1, 1, 1, 1), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(sgemm(1, -1, 1, 1, 1, 1), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(sgemm(1, 1, -1, 1, 1, 1), CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(GemmErrors, LeadingDimensionsMustCoverARow) {
  EXPECT_EQ(sgemm(4, 2, 3, 3, 3, 4), CUBLAS_STATUS_INVALID_VALUE) << "lda < m";
  EXPECT_EQ(sgemm(4, 2, 3, 4, 2, 4), CUBLAS_STATUS_INVALID_VALUE) << "ldb < k";
  EXPECT_EQ(sgemm(4, 2, 3, 4, 3, 3), CUBLAS_STATUS_INVALID_VALUE) << "ldc < m";
  EXPECT_EQ(sgemm(0, 0, 0, 0, 1, 1), CUBLAS_STATUS_INVALID_VALUE) << "at least 1, even for nothing";
  m_transpose = CUBLAS_OP_T;
  EXPECT_EQ(sgemm(4, 2, 3, 3, 3, 4), CUBLAS_STATUS_SUCCESS) << "transposed, A has k rows";
}

TEST_F(GemmErrors, NullScalarsAndUnknownOperationsAreInvalid) {
  m_alpha = nullptr;
  EXPECT_EQ(sgemm(1, 1, 1, 1, 1, 1), CUBLAS_STATUS_INVALID_VALUE);
  m_alpha = &m_one;
  m_transpose = static_cast<cublasOperation_t>(9);
  EXPECT_EQ(sgemm(1, 1, 1, 1, 1, 1), CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(GemmErrors, ANullHandleIsNotInitialized) {
  EXPECT_EQ(cublasSgemm(nullptr, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &m_one, m_data, 1, m_data, 1, &m_zero, m_data, 1),
            CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(cublasSetStream(nullptr, nullptr), CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(cublasDestroy(nullptr), CUBLAS_STATUS_NOT_INITIALIZED);
}

TEST_F(GemmErrors, UnsupportedTypesAreNamedOnce) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(gemmEx(CUDA_R_8I, CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(gemmEx(CUDA_R_16F, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(gemmEx(CUDA_R_32F, CUDA_R_32F, CUDA_R_16F, CUBLAS_COMPUTE_32F), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(gemmEx(CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_32F), CUBLAS_STATUS_NOT_SUPPORTED);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(said.find("softcuda: cublasGemmEx: types A 3"), 0u) << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

TEST_F(GemmErrors, NothingToDoIsSuccess) {
  EXPECT_EQ(sgemm(0, 5, 3, 1, 3, 1), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(sgemm(5, 0, 3, 5, 3, 5), CUBLAS_STATUS_SUCCESS);
}

TEST_F(GemmErrors, CallsThatAreNotThereSaySo) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(cublasStrsm(m_cublas.handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, 1, 1,
                        &m_one, m_data, 1, m_data, 1),
            CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("cublasStrsm_v2"), std::string::npos);
}

}  // namespace
}  // namespace softcuda_test
