// SPDX-License-Identifier: Apache-2.0
// A libcublas.so.13 whose functions tell what reached them.
#include <cstdint>

#define FAKE extern "C" __attribute__((visibility("default")))

// As many arguments as the longest real one, of every class: whole numbers in registers and on the stack, reals.
FAKE int cublasGemmStridedBatchedEx(int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f, double x, float y,
                                    int64_t g, int64_t h, int64_t i, int64_t j, int64_t k, int64_t l, int64_t m,
                                    int64_t n, double* out) {
  const double values[] = {static_cast<double>(a),
                           static_cast<double>(b),
                           static_cast<double>(c),
                           static_cast<double>(d),
                           static_cast<double>(e),
                           static_cast<double>(f),
                           x,
                           static_cast<double>(y),
                           static_cast<double>(g),
                           static_cast<double>(h),
                           static_cast<double>(i),
                           static_cast<double>(j),
                           static_cast<double>(k),
                           static_cast<double>(l),
                           static_cast<double>(m),
                           static_cast<double>(n)};
  double sum = 0;
  for (int at = 0; at < 16; ++at) {
    sum = sum * 3 + values[at];
  }
  *out = sum;
  return 77;
}
