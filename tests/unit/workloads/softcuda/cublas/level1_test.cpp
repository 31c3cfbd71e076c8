// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/workloads/softcuda/cublas/reference.h"

namespace softcuda_test {
namespace {

TEST(Level1, AxpyAddsAMultiple) {
  const Cublas cublas;
  float x[3] = {1, 2, 3}, y[3] = {10, 20, 30};
  const float two = 2;
  ASSERT_EQ(cublasSaxpy(cublas.handle, 3, &two, x, 1, y, 1), CUBLAS_STATUS_SUCCESS);
  cublas.wait();
  EXPECT_EQ(y[0], 12);
  EXPECT_EQ(y[2], 36);
}

TEST(Level1, ANegativeIncrementWalksBackwards) {
  const Cublas cublas;
  double x[3] = {1, 2, 3}, y[3] = {0, 0, 0};
  const double one = 1;
  cublasDaxpy_64(cublas.handle, 3, &one, x, -1, y, 1);
  cublas.wait();
  EXPECT_EQ(y[0], 3);
  EXPECT_EQ(y[2], 1);
}

TEST(Level1, ScalKeepsWhatLiesBetween) {
  const Cublas cublas;
  float x[4] = {1, 2, 3, 4};
  const float ten = 10;
  cublasSscal(cublas.handle, 2, &ten, x, 2);
  cublas.wait();
  EXPECT_EQ(x[0], 10);
  EXPECT_EQ(x[1], 2);
  EXPECT_EQ(x[2], 30);
}

TEST(Level1, ReductionsIntoHostMemoryBlock) {
  const Cublas cublas;
  float x[2] = {3, 4}, norm = 0, dot = 0;
  ASSERT_EQ(cublasSnrm2(cublas.handle, 2, x, 1, &norm), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(norm, 5);
  ASSERT_EQ(cublasSdot(cublas.handle, 2, x, 1, x, 1, &dot), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(dot, 25);
}

TEST(Level1, NormsNeitherOverflowNorHideNan) {
  const Cublas cublas;
  float huge[2] = {3e30f, 4e30f}, nan[2] = {std::nanf(""), std::nanf("")}, norm = 0;
  cublasSnrm2(cublas.handle, 2, huge, 1, &norm);
  EXPECT_FLOAT_EQ(norm, 5e30f);
  cublasSnrm2(cublas.handle, 2, nan, 1, &norm);
  EXPECT_TRUE(std::isnan(norm));
}

TEST(Level1, EmptyVectorsGiveZero) {
  const Cublas cublas;
  double norm = 7;
  ASSERT_EQ(cublasDnrm2(cublas.handle, 0, nullptr, 1, &norm), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(norm, 0);
}

}  // namespace
}  // namespace softcuda_test
