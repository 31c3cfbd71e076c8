// SPDX-License-Identifier: Apache-2.0
// libcublas: the vector operations that training loops use (axpy, scal, dot, nrm2) in fp32 and fp64.
#include <cmath>
#include <cstddef>

#include "workloads/softcuda/cublas/handle.h"

namespace {

using softcublas::launch;

// BLAS rule: with a negative increment the vector is walked from its far end.
template <typename T>
T* firstElement(T* x, int64_t n, int64_t inc) {
  return inc < 0 ? x + (1 - n) * inc : x;
}

template <typename T>
cublasStatus_t axpy(cublasHandle_t handle, const char* name, int64_t n, const T* alpha, const T* x, int64_t incx, T* y,
                    int64_t incy) {
  if (!handle) {
    return CUBLAS_STATUS_NOT_INITIALIZED;
  }
  if (!alpha) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (n <= 0) {
    return CUBLAS_STATUS_SUCCESS;
  }
  const bool host = handle->pointer_mode == CUBLAS_POINTER_MODE_HOST;
  const T value = host ? *alpha : T(0);
  return launch(handle, name, n, [=] {
    const T factor = host ? value : *alpha;
    const T* from = firstElement(x, n, incx);
    T* to = firstElement(y, n, incy);
    for (int64_t i = 0; i < n; ++i) {
      to[i * incy] = factor * from[i * incx] + to[i * incy];
    }
  });
}

template <typename T>
cublasStatus_t scal(cublasHandle_t handle, const char* name, int64_t n, const T* alpha, T* x, int64_t incx) {
  if (!handle) {
    return CUBLAS_STATUS_NOT_INITIALIZED;
  }
  if (!alpha) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (n <= 0 || incx <= 0) {
    return CUBLAS_STATUS_SUCCESS;
  }
  const bool host = handle->pointer_mode == CUBLAS_POINTER_MODE_HOST;
  const T value = host ? *alpha : T(0);
  return launch(handle, name, n, [=] {
    const T factor = host ? value : *alpha;
    for (int64_t i = 0; i < n; ++i) {
      x[i * incx] *= factor;
    }
  });
}

// A reduction writes its result where the pointer mode says; into host memory it blocks, as cuBLAS does.
template <typename T, typename Body>
cublasStatus_t reduce(cublasHandle_t handle, const char* name, int64_t n, T* result, Body body) {
  if (!handle) {
    return CUBLAS_STATUS_NOT_INITIALIZED;
  }
  if (!result) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const cublasStatus_t status = launch(handle, name, n > 0 ? n : 1, [=] { *result = body(); });
  if (status != CUBLAS_STATUS_SUCCESS || handle->pointer_mode != CUBLAS_POINTER_MODE_HOST) {
    return status;
  }
  return softcublas::statusOf(cudaStreamSynchronize(handle->stream));
}

// Sums in double: within the accuracy of cuBLAS's pairwise fp32 sums at any length.
template <typename T>
cublasStatus_t dot(cublasHandle_t handle, const char* name, int64_t n, const T* x, int64_t incx, const T* y,
                   int64_t incy, T* result) {
  return reduce(handle, name, n, result, [=] {
    double sum = 0;
    const T* a = firstElement(x, n, incx);
    const T* b = firstElement(y, n, incy);
    for (int64_t i = 0; i < n; ++i) {
      sum += static_cast<double>(a[i * incx]) * static_cast<double>(b[i * incy]);
    }
    return static_cast<T>(sum);
  });
}

template <typename T>
cublasStatus_t nrm2(cublasHandle_t handle, const char* name, int64_t n, const T* x, int64_t incx, T* result) {
  return reduce(handle, name, n, result, [=] {
    if (incx <= 0) {
      return T(0);
    }
    // Scaled by the largest element, so that squares neither overflow nor vanish.
    double largest = 0;
    for (int64_t i = 0; i < n; ++i) {
      const double size = std::fabs(static_cast<double>(x[i * incx]));
      if (!(size <= largest)) {  // also true for NaN, which must reach the result
        largest = size;
      }
    }
    if (largest == 0 || std::isinf(largest)) {
      return static_cast<T>(largest);
    }
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) {
      const double scaled = static_cast<double>(x[i * incx]) / largest;
      sum += scaled * scaled;
    }
    return static_cast<T>(largest * std::sqrt(sum));
  });
}

}  // namespace

#define LEVEL1(L, T, KIND, INT, SUFFIX)                                                                               \
  cublasStatus_t cublas##L##axpy_v2##SUFFIX(cublasHandle_t handle, INT n, const T* alpha, const T* x, INT incx, T* y, \
                                            INT incy) {                                                               \
    return axpy<T>(handle, "softblas_axpy_" KIND, n, alpha, x, incx, y, incy);                                        \
  }                                                                                                                   \
  cublasStatus_t cublas##L##scal_v2##SUFFIX(cublasHandle_t handle, INT n, const T* alpha, T* x, INT incx) {           \
    return scal<T>(handle, "softblas_scal_" KIND, n, alpha, x, incx);                                                 \
  }                                                                                                                   \
  cublasStatus_t cublas##L##dot_v2##SUFFIX(cublasHandle_t handle, INT n, const T* x, INT incx, const T* y, INT incy,  \
                                           T* result) {                                                               \
    return dot<T>(handle, "softblas_dot_" KIND, n, x, incx, y, incy, result);                                         \
  }                                                                                                                   \
  cublasStatus_t cublas##L##nrm2_v2##SUFFIX(cublasHandle_t handle, INT n, const T* x, INT incx, T* result) {          \
    return nrm2<T>(handle, "softblas_nrm2_" KIND, n, x, incx, result);                                                \
  }

extern "C" {
LEVEL1(S, float, "f32", int, )
LEVEL1(S, float, "f32", int64_t, _64)
LEVEL1(D, double, "f64", int, )
LEVEL1(D, double, "f64", int64_t, _64)
}  // extern "C"
