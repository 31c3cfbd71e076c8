// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>

#include "tests/unit/workloads/softcuda/cublas/reference.h"

namespace softcuda_test {
namespace {

struct Types {
  cudaDataType ab, c;
  cublasComputeType_t compute;
  const char* name;
};

class GemmEx : public testing::TestWithParam<Types> {};

// C = 2AB + 3C on whole numbers: exact before the final rounding, which Array::set repeats.
void checkExact(const Types& types, const Shape& s) {
  const Cublas cublas;
  const Array a(types.ab, wholeNumbers(sizeA(s), 1)), b(types.ab, wholeNumbers(sizeB(s), 2));
  const std::vector<double> before = wholeNumbers(sizeC(s), 3);
  Array c(types.c, before), expected(types.c, before);
  const float alpha32 = 2, beta32 = 3;
  const double alpha64 = 2, beta64 = 3;
  const __half alpha16 = __float2half_rn(2), beta16 = __float2half_rn(3);
  const void* alpha = &alpha32;
  const void* beta = &beta32;
  if (types.compute == CUBLAS_COMPUTE_64F) {
    alpha = &alpha64, beta = &beta64;
  } else if (types.compute == CUBLAS_COMPUTE_16F) {
    alpha = &alpha16, beta = &beta16;
  }
  ASSERT_EQ(
      cublasGemmEx(cublas.handle, operation(s.ta), operation(s.tb), s.m, s.n, s.k, alpha, a.data(), types.ab, s.lda,
                   b.data(), types.ab, s.ldb, beta, c.data(), types.c, s.ldc, types.compute, CUBLAS_GEMM_DEFAULT),
      CUBLAS_STATUS_SUCCESS);
  cublas.wait();
  for (int j = 0; j < s.n; ++j) {
    for (int i = 0; i < s.m; ++i) {
      const auto at = static_cast<size_t>(j * s.ldc + i);
      expected.set(at, 2 * dotProduct(s, a, b, i, j) + 3 * before[at]);
    }
  }
  for (size_t i = 0; i < c.size(); ++i) {  // the padding too: it must be untouched
    ASSERT_EQ(c.get(i), expected.get(i)) << s.m << 'x' << s.n << 'x' << s.k << " ta " << s.ta << " tb " << s.tb
                                         << " at " << i;
  }
}

TEST_P(GemmEx, IsExactOnWholeNumbersForAnyShape) {
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      for (const auto& [m, n, k] :
           {std::array{1, 1, 1}, {3, 5, 7}, {16, 16, 16}, {17, 33, 65}, {64, 1, 31}, {1, 64, 100}, {130, 70, 129}}) {
        checkExact(GetParam(), shape(ta, tb, m, n, k));
        checkExact(GetParam(), shape(ta, tb, m, n, k, 3));
      }
    }
  }
}

// Larger than one block of the conversion in each direction (1024 × 1024 × 512).
TEST_P(GemmEx, CrossesBlockBoundaries) {
  checkExact(GetParam(), shape(false, false, 1030, 3, 520));
  checkExact(GetParam(), shape(true, true, 5, 1027, 515));
}

INSTANTIATE_TEST_SUITE_P(Types, GemmEx,
                         testing::Values(Types{CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, "f32"},
                                         Types{CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, "tf32"},
                                         Types{CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_16F, "f32_as_f16"},
                                         Types{CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_16BF, "f32_as_bf16"},
                                         Types{CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, "f16"},
                                         Types{CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F, "f16_f32"},
                                         Types{CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_16F, "f16_all"},
                                         Types{CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, "bf16"},
                                         Types{CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, "bf16_f32"},
                                         Types{CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, "f64"}),
                         [](const auto& test) { return std::string(test.param.name); });

// One dot product of length k with all elements a and b.
double oneProduct(cudaDataType ab, cudaDataType c_type, cublasComputeType_t compute, double a_value, double b_value,
                  int k, cublasMath_t math = CUBLAS_DEFAULT_MATH) {
  const Cublas cublas;
  cublasSetMathMode(cublas.handle, math);
  const Array a(ab, std::vector<double>(static_cast<size_t>(k), a_value)),
      b(ab, std::vector<double>(static_cast<size_t>(k), b_value));
  const Array c(c_type, 1);
  const float one = 1, zero = 0;
  EXPECT_EQ(cublasGemmEx(cublas.handle, CUBLAS_OP_T, CUBLAS_OP_N, 1, 1, k, &one, a.data(), ab, k, b.data(), ab, k,
                         &zero, c.data(), c_type, 1, compute, CUBLAS_GEMM_DEFAULT),
            CUBLAS_STATUS_SUCCESS);
  cublas.wait();
  return c.get(0);
}

TEST(GemmRounding, HalfOverflowsToInfinity) {
  EXPECT_EQ(oneProduct(CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, 250, 250, 2),
            std::numeric_limits<double>::infinity());
  EXPECT_EQ(oneProduct(CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F, 250, 250, 2), 125000.0)
      << "the accumulator does not";
}

TEST(GemmRounding, SumsInFp32ThenRoundsOnce) {
  // 1 + 300 · 2^-9: in bf16 after every step the small terms would be lost.
  EXPECT_EQ(oneProduct(CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, 0.0625, 0.03125, 512), 1.0);
  EXPECT_EQ(oneProduct(CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, 1, 1, 1001), 1000.0);
  EXPECT_EQ(oneProduct(CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, 1, 1, 257), 256.0) << "ties to even";
  EXPECT_EQ(oneProduct(CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, 1, 1, 259), 260.0) << "ties to even";
  EXPECT_EQ(oneProduct(CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, 1, 1, 2049), 2048.0) << "ties to even";
}

TEST(GemmRounding, Tf32RoundsOperandsOnlyWhenAsked) {
  const double fine = 1 + std::pow(2.0, -12);
  EXPECT_EQ(oneProduct(CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, fine, 1, 1), fine);
  EXPECT_EQ(oneProduct(CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, fine, 1, 1, CUBLAS_TF32_TENSOR_OP_MATH), 1.0);
  EXPECT_EQ(oneProduct(CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, fine, 1, 1), 1.0);
  EXPECT_EQ(oneProduct(CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_PEDANTIC, fine, 1, 1, CUBLAS_TF32_TENSOR_OP_MATH),
            fine);
}

TEST(GemmRounding, SubnormalHalvesCount) {
  EXPECT_EQ(oneProduct(CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, std::pow(2.0, -24), 1, 1), std::pow(2.0, -24));
}

TEST(Gemm, BetaZeroDoesNotReadC) {
  for (const cudaDataType type : {CUDA_R_32F, CUDA_R_16BF, CUDA_R_64F}) {
    const Cublas cublas;
    const Array a(type, {2}), b(type, {3}), c(type, {std::nan("")});
    const float one = 1, zero = 0;
    const double one64 = 1, zero64 = 0;
    const bool wide = type == CUDA_R_64F;
    cublasGemmEx(cublas.handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, wide ? static_cast<const void*>(&one64) : &one,
                 a.data(), type, 1, b.data(), type, 1, wide ? static_cast<const void*>(&zero64) : &zero, c.data(), type,
                 1, wide ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    cublas.wait();
    EXPECT_EQ(c.get(0), 6.0);
  }
}

TEST(Gemm, WithoutDepthOnlyScalesC) {
  const Cublas cublas;
  const Array c(CUDA_R_32F, {5});
  const float one = 1, half = 0.5f;
  ASSERT_EQ(cublasSgemm(cublas.handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 0, &one, nullptr, 1, nullptr, 1, &half,
                        static_cast<float*>(c.data()), 1),
            CUBLAS_STATUS_SUCCESS);
  cublas.wait();
  EXPECT_EQ(c.get(0), 2.5);
}

TEST(Gemm, ReadsDeviceScalarsWhenItRuns) {
  const Cublas cublas;
  cublasSetPointerMode(cublas.handle, CUBLAS_POINTER_MODE_DEVICE);
  const Array a(CUDA_R_32F, {2}), b(CUDA_R_32F, {3}), c(CUDA_R_32F, {1}), scalars(CUDA_R_32F, {0, 0});
  const float values[2] = {10, 100};
  cudaMemcpyAsync(scalars.data(), values, sizeof values, cudaMemcpyHostToDevice, cublas.stream);
  auto* const alpha = static_cast<float*>(scalars.data());
  cublasSgemm(cublas.handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, alpha, static_cast<float*>(a.data()), 1,
              static_cast<float*>(b.data()), 1, alpha + 1, static_cast<float*>(c.data()), 1);
  cublas.wait();
  EXPECT_EQ(c.get(0), 160.0);
}

TEST(Gemm, HostScalarsMayChangeAfterTheCall) {
  const Cublas cublas;
  const Array a(CUDA_R_32F, {2}), b(CUDA_R_32F, {3}), c(CUDA_R_32F, {0});
  float alpha = 1;
  const float zero = 0;
  cublasSgemm(cublas.handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &alpha, static_cast<float*>(a.data()), 1,
              static_cast<float*>(b.data()), 1, &zero, static_cast<float*>(c.data()), 1);
  alpha = 1000;
  cublas.wait();
  EXPECT_EQ(c.get(0), 6.0);
}

TEST(GemmBatched, StridedAndArraysAgreeWithSingleProducts) {
  constexpr int kBatch = 7;
  const Shape s = shape(true, false, 9, 6, 11);
  const Cublas cublas;
  const Array a(CUDA_R_16BF, wholeNumbers(sizeA(s) * kBatch, 1)), b(CUDA_R_16BF, wholeNumbers(sizeB(s), 2));
  const Array strided(CUDA_R_32F, sizeC(s) * kBatch), arrays(CUDA_R_32F, sizeC(s) * kBatch);
  const float one = 1, zero = 0;
  ASSERT_EQ(cublasGemmStridedBatchedEx(
                cublas.handle, CUBLAS_OP_T, CUBLAS_OP_N, s.m, s.n, s.k, &one, a.data(), CUDA_R_16BF, s.lda,
                static_cast<long long>(sizeA(s)), b.data(), CUDA_R_16BF, s.ldb, 0 /* B shared */, &zero, strided.data(),
                CUDA_R_32F, s.ldc, static_cast<long long>(sizeC(s)), kBatch, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
            CUBLAS_STATUS_SUCCESS);
  std::vector<const void*> a_pointers, b_pointers;
  std::vector<void*> c_pointers;
  for (size_t i = 0; i < kBatch; ++i) {
    a_pointers.push_back(static_cast<char*>(a.data()) + i * sizeA(s) * 2);
    b_pointers.push_back(b.data());
    c_pointers.push_back(static_cast<char*>(arrays.data()) + i * sizeC(s) * 4);
  }
  ASSERT_EQ(cublasGemmBatchedEx_64(cublas.handle, CUBLAS_OP_T, CUBLAS_OP_N, s.m, s.n, s.k, &one, a_pointers.data(),
                                   CUDA_R_16BF, s.lda, b_pointers.data(), CUDA_R_16BF, s.ldb, &zero, c_pointers.data(),
                                   CUDA_R_32F, s.ldc, kBatch, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
            CUBLAS_STATUS_SUCCESS);
  cublas.wait();
  for (size_t batch = 0; batch < kBatch; ++batch) {
    for (int j = 0; j < s.n; ++j) {
      for (int i = 0; i < s.m; ++i) {
        const size_t at = batch * sizeC(s) + static_cast<size_t>(j * s.ldc + i);
        const double expected = dotProduct(s, a, b, i, j, batch * sizeA(s));
        ASSERT_EQ(strided.get(at), expected);
        ASSERT_EQ(arrays.get(at), expected);
      }
    }
  }
}

TEST(Gemm, ClassicEntryPointsAgree) {
  const Shape s = shape(false, true, 12, 10, 8);
  const Cublas cublas;
  const float one = 1, zero = 0;
  const double one64 = 1, zero64 = 0;
  const __half one16 = __float2half_rn(1), zero16 = __float2half_rn(0);
  for (const cudaDataType type : {CUDA_R_32F, CUDA_R_64F, CUDA_R_16F}) {
    const Array a(type, wholeNumbers(sizeA(s), 1)), b(type, wholeNumbers(sizeB(s), 2)), c(type, sizeC(s)),
        c64(type, sizeC(s));
    const auto call = [&]<typename T>(auto function, auto function64, const T* alpha, const T* beta) {
      auto* const pa = static_cast<T*>(a.data());
      auto* const pb = static_cast<T*>(b.data());
      ASSERT_EQ(function(cublas.handle, CUBLAS_OP_N, CUBLAS_OP_T, s.m, s.n, s.k, alpha, pa, s.lda, pb, s.ldb, beta,
                         static_cast<T*>(c.data()), s.ldc),
                CUBLAS_STATUS_SUCCESS);
      ASSERT_EQ(function64(cublas.handle, CUBLAS_OP_N, CUBLAS_OP_T, s.m, s.n, s.k, alpha, pa, s.lda, pb, s.ldb, beta,
                           static_cast<T*>(c64.data()), s.ldc),
                CUBLAS_STATUS_SUCCESS);
    };
    if (type == CUDA_R_32F) {
      call(&cublasSgemm_v2, &cublasSgemm_v2_64, &one, &zero);
    } else if (type == CUDA_R_64F) {
      call(&cublasDgemm_v2, &cublasDgemm_v2_64, &one64, &zero64);
    } else {
      call(&cublasHgemm, &cublasHgemm_64, &one16, &zero16);
    }
    cublas.wait();
    for (int j = 0; j < s.n; ++j) {
      for (int i = 0; i < s.m; ++i) {
        ASSERT_EQ(c.get(static_cast<size_t>(j * s.ldc + i)), dotProduct(s, a, b, i, j));
        ASSERT_EQ(c64.get(static_cast<size_t>(j * s.ldc + i)), dotProduct(s, a, b, i, j));
      }
    }
  }
}

// Real numbers: no more error than fp32 sums of this length may have.
TEST(Gemm, StaysWithinFp32AccuracyOnRealNumbers) {
  const Shape s = shape(true, false, 96, 80, 300);
  const Cublas cublas;
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  std::vector<double> av(sizeA(s)), bv(sizeB(s));
  for (double& value : av) value = normal(random);
  for (double& value : bv) value = normal(random);
  const Array a(CUDA_R_32F, av), b(CUDA_R_32F, bv), c(CUDA_R_32F, sizeC(s));
  const float one = 1, zero = 0;
  cublasSgemm(cublas.handle, CUBLAS_OP_T, CUBLAS_OP_N, s.m, s.n, s.k, &one, static_cast<float*>(a.data()), s.lda,
              static_cast<float*>(b.data()), s.ldb, &zero, static_cast<float*>(c.data()), s.ldc);
  cublas.wait();
  for (int j = 0; j < s.n; ++j) {
    for (int i = 0; i < s.m; ++i) {
      ASSERT_NEAR(c.get(static_cast<size_t>(j * s.ldc + i)), dotProduct(s, a, b, i, j), 300 * 1.2e-7 * 20);
    }
  }
}

TEST(Gemm, SeveralStreamsAndThreadsAtOnce) {
  const auto work = [](unsigned seed) {
    const Shape s = shape(false, false, 200, 180, 160);
    const Cublas cublas;
    const Array a(CUDA_R_16F, wholeNumbers(sizeA(s), seed)), b(CUDA_R_16F, wholeNumbers(sizeB(s), seed + 1));
    const Array c(CUDA_R_32F, sizeC(s));
    const float one = 1, zero = 0;
    for (int repeat = 0; repeat < 5; ++repeat) {
      cublasGemmEx(cublas.handle, CUBLAS_OP_N, CUBLAS_OP_N, s.m, s.n, s.k, &one, a.data(), CUDA_R_16F, s.lda, b.data(),
                   CUDA_R_16F, s.ldb, &zero, c.data(), CUDA_R_32F, s.ldc, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    }
    cublas.wait();
    for (int i = 0; i < s.m; i += 7) {
      for (int j = 0; j < s.n; j += 5) {
        ASSERT_EQ(c.get(static_cast<size_t>(j * s.ldc + i)), dotProduct(s, a, b, i, j));
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; ++i) {
    threads.emplace_back(work, i * 10);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

}  // namespace
}  // namespace softcuda_test
