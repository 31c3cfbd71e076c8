// SPDX-License-Identifier: Apache-2.0
// GEMM of the software device, conversions and launch included, against OpenBLAS's sgemm alone, both on one core.
#include <cblas.h>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tests/bench/softcuda/cpu_time.h"

extern "C" void openblas_set_num_threads(int threads);

namespace {

struct Format {
  const char* name;
  cudaDataType type;
  cublasMath_t math;
  uint32_t one;  // 1.0 in the format
};
constexpr Format kFormats[] = {{"fp32", CUDA_R_32F, CUBLAS_DEFAULT_MATH, 0x3f800000},
                               {"tf32", CUDA_R_32F, CUBLAS_TF32_TENSOR_OP_MATH, 0x3f800000},
                               {"fp16", CUDA_R_16F, CUBLAS_DEFAULT_MATH, 0x3c003c00},
                               {"bf16", CUDA_R_16BF, CUBLAS_DEFAULT_MATH, 0x3f803f80}};

double openBlasSeconds(int n, int repeats) {
  const std::vector<float> a(static_cast<size_t>(n * n), 1.0f), b = a;
  std::vector<float> c(a.size());
  return softcuda_bench::leastCpuSeconds(repeats, [&] {
    cblas_sgemm(CblasColMajor, CblasTrans, CblasNoTrans, n, n, n, 1, a.data(), n, b.data(), n, 0, c.data(), n);
  });
}

double deviceSeconds(const Format& format, int n, int repeats) {
  cublasHandle_t handle = nullptr;
  cublasCreate(&handle);
  cublasSetMathMode(handle, format.math);
  const std::vector<uint32_t> a(static_cast<size_t>(n * n), format.one), b = a;
  std::vector<uint32_t> c(a.size());
  const float one = 1, zero = 0;
  const double seconds = softcuda_bench::leastCpuSeconds(repeats, [&] {
    cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, n, n, n, &one, a.data(), format.type, n, b.data(), format.type, n,
                 &zero, c.data(), format.type, n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    cudaDeviceSynchronize();
  });
  cublasDestroy(handle);
  return seconds;
}

}  // namespace

int main() {
  setenv("SOFTCUDA_THREADS", "1", 1);
  openblas_set_num_threads(1);
  std::printf("software device: GEMM speed as a share of OpenBLAS sgemm's, n x n x n\n");
  for (const int n : {256, 512, 1024}) {
    const int repeats = n <= 256 ? 40 : n <= 512 ? 8 : 2;
    const double reference = openBlasSeconds(n, repeats);
    std::printf("  n = %4d ", n);
    for (const Format& format : kFormats) {
      std::printf("  %s %3.0f %%", format.name, 100 * reference / deviceSeconds(format, n, repeats));
    }
    std::printf("\n");
  }
}
