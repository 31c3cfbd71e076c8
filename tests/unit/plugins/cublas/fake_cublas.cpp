// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/plugins/cublas/fake_cublas.h"

#include <cstring>

FakeCublas& fakeCublas() {
  static FakeCublas fake{};
  return fake;
}

namespace {

int called(const char* function, int64_t m, int64_t n, int64_t k, int64_t batch, int lda) {
  FakeCublas& fake = fakeCublas();
  fake.lastFunction = function;
  ++fake.calls;
  fake.m = m;
  fake.n = n;
  fake.k = k;
  fake.batch = batch;
  fake.lda = lda;
  if (fake.callsNested) {
    fake.callsNested = false;
    fake.nested();
  }
  return fake.result;
}

int getAttribute(const void* object, int attribute, void* value, size_t bytes, size_t* written) {
  const auto* fake = static_cast<const FakeLtObject*>(object);
  if (!fake->isSet[attribute] || bytes < static_cast<size_t>(fake->bytes[attribute])) {
    return 7;
  }
  std::memcpy(value, &fake->attributes[attribute], static_cast<size_t>(fake->bytes[attribute]));
  *written = static_cast<size_t>(fake->bytes[attribute]);
  return 0;
}

}  // namespace

extern "C" {
int cublasGetMathMode(void*, int* mode) {
  ++fakeCublas().mathModeQueries;
  *mode = fakeCublas().mathMode;
  return 0;
}
int cublasSgemm_v2(void*, int, int, int m, int n, int k, const float*, const float*, int lda, const float*, int,
                   const float*, float*, int) {
  return called("cublasSgemm_v2", m, n, k, 1, lda);
}
int cublasGemmEx(void*, int, int, int m, int n, int k, const void*, const void*, int, int lda, const void*, int, int,
                 const void*, void*, int, int, int, int) {
  return called("cublasGemmEx", m, n, k, 1, lda);
}
int cublasGemmStridedBatchedEx_64(void*, int, int, int64_t m, int64_t n, int64_t k, const void*, const void*, int,
                                  int64_t lda, long long, const void*, int, int64_t, long long, const void*, void*, int,
                                  int64_t, long long, int64_t batch, int, int) {
  return called("cublasGemmStridedBatchedEx_64", m, n, k, batch, static_cast<int>(lda));
}
int cublasLtMatmul(void*, void*, const void*, const void*, void*, const void*, void*, const void*, const void*, void*,
                   void*, void*, const void*, void*, size_t workspaceBytes, void*) {
  return called("cublasLtMatmul", 0, 0, 0, 0, static_cast<int>(workspaceBytes));
}
int cublasLtMatrixLayoutGetAttribute(void* object, int attribute, void* value, size_t bytes, size_t* written) {
  return getAttribute(object, attribute, value, bytes, written);
}
int cublasLtMatmulDescGetAttribute(void* object, int attribute, void* value, size_t bytes, size_t* written) {
  return getAttribute(object, attribute, value, bytes, written);
}
}
