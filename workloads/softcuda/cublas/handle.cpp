// SPDX-License-Identifier: Apache-2.0
// libcublas: handles, their settings, status names, host-device vectors and matrices.
#include "workloads/softcuda/cublas/handle.h"

#include <cuda_runtime_api.h>

#include <new>

#include "workloads/softcuda/cublas/status.h"
#include "workloads/softcuda/device.h"

namespace softcublas {

cublasStatus_t statusOf(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return CUBLAS_STATUS_SUCCESS;
    case cudaErrorMemoryAllocation:
      return CUBLAS_STATUS_ALLOC_FAILED;
    case cudaErrorNotSupported:
      return CUBLAS_STATUS_NOT_SUPPORTED;
    default:
      return CUBLAS_STATUS_EXECUTION_FAILED;
  }
}

cublasStatus_t launch(cublasHandle_t handle, const char* name, int64_t count, std::function<void()> body) {
  constexpr unsigned kBlock = 256;
  SoftcudaKernelInfo info{};
  info.name = name;
  info.grid = dim3(static_cast<unsigned>((count + kBlock - 1) / kBlock), 1, 1);
  info.block = dim3(kBlock, 1, 1);
  auto* const owned = new std::function<void()>(std::move(body));
  const auto run = [](void* context) { (*static_cast<std::function<void()>*>(context))(); };
  const auto release = [](void* context) { delete static_cast<std::function<void()>*>(context); };
  const cudaError_t error = softcuda_launch_repeatable(handle->stream, &info, run, owned, release);
  if (error != cudaSuccess) {
    delete owned;
  }
  return statusOf(error);
}

}  // namespace softcublas

namespace {

template <typename T>
cublasStatus_t get(cublasHandle_t handle, T cublasContext::*member, T* value) {
  if (!handle) {
    return CUBLAS_STATUS_NOT_INITIALIZED;
  }
  if (!value) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  *value = handle->*member;
  return CUBLAS_STATUS_SUCCESS;
}

template <typename T>
cublasStatus_t set(cublasHandle_t handle, T cublasContext::*member, T value) {
  if (!handle) {
    return CUBLAS_STATUS_NOT_INITIALIZED;
  }
  handle->*member = value;
  return CUBLAS_STATUS_SUCCESS;
}

// A matrix of rows × columns elements from one leading dimension to another.
cublasStatus_t copyMatrix(int64_t rows, int64_t columns, int64_t size, const void* from, int64_t ld_from, void* to,
                          int64_t ld_to, cudaMemcpyKind kind, const cudaStream_t* stream) {
  if (rows < 0 || columns < 0 || size <= 0 || ld_from <= 0 || ld_to <= 0) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (rows == 0 || columns == 0) {
    return CUBLAS_STATUS_SUCCESS;
  }
  const auto pitch_to = static_cast<size_t>(ld_to * size), pitch_from = static_cast<size_t>(ld_from * size);
  const auto width = static_cast<size_t>(rows * size), height = static_cast<size_t>(columns);
  const cudaError_t error = stream ? cudaMemcpy2DAsync(to, pitch_to, from, pitch_from, width, height, kind, *stream)
                                   : cudaMemcpy2D(to, pitch_to, from, pitch_from, width, height, kind);
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_MAPPING_ERROR;
}

}  // namespace

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  if (!handle) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  *handle = new (std::nothrow) cublasContext;
  return *handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  if (!handle) {
    return CUBLAS_STATUS_NOT_INITIALIZED;
  }
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetVersion_v2(cublasHandle_t, int* version) {
  if (!version) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  *version = CUBLAS_VERSION;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetProperty(libraryPropertyType type, int* value) {
  if (!value) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  switch (type) {
    case MAJOR_VERSION:
      *value = CUBLAS_VER_MAJOR;
      return CUBLAS_STATUS_SUCCESS;
    case MINOR_VERSION:
      *value = CUBLAS_VER_MINOR;
      return CUBLAS_STATUS_SUCCESS;
    case PATCH_LEVEL:
      *value = CUBLAS_VER_PATCH;
      return CUBLAS_STATUS_SUCCESS;
    default:
      return CUBLAS_STATUS_INVALID_VALUE;
  }
}

size_t cublasGetCudartVersion() { return CUDART_VERSION; }

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  return set(handle, &cublasContext::stream, stream);
}
cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t* stream) {
  return get(handle, &cublasContext::stream, stream);
}
// Accepted and not needed: the software device works in the CPU's own memory.
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void*, size_t) {
  return handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}
cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t* mode) {
  return get(handle, &cublasContext::pointer_mode, mode);
}
cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode) {
  if (mode != CUBLAS_POINTER_MODE_HOST && mode != CUBLAS_POINTER_MODE_DEVICE) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  return set(handle, &cublasContext::pointer_mode, mode);
}
cublasStatus_t cublasGetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t* mode) {
  return get(handle, &cublasContext::atomics, mode);
}
cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t mode) {
  return set(handle, &cublasContext::atomics, mode);
}
cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
  return get(handle, &cublasContext::math, mode);
}
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  return set(handle, &cublasContext::math, mode);
}
cublasStatus_t cublasGetSmCountTarget(cublasHandle_t handle, int* target) {
  return get(handle, &cublasContext::sm_count_target, target);
}
cublasStatus_t cublasSetSmCountTarget(cublasHandle_t handle, int target) {
  return set(handle, &cublasContext::sm_count_target, target);
}

const char* cublasGetStatusName(cublasStatus_t status) { return softcublas::statusName(status); }
const char* cublasGetStatusString(cublasStatus_t status) { return softcublas::statusText(status); }

cublasStatus_t cublasLoggerConfigure(int, int, int, const char*) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasSetLoggerCallback(cublasLogCallback) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasGetLoggerCallback(cublasLogCallback* callback) {
  if (!callback) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  *callback = nullptr;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetVector(int n, int size, const void* x, int incx, void* y, int incy) {
  return copyMatrix(1, n, size, x, incx, y, incy, cudaMemcpyHostToDevice, nullptr);
}
cublasStatus_t cublasGetVector(int n, int size, const void* x, int incx, void* y, int incy) {
  return copyMatrix(1, n, size, x, incx, y, incy, cudaMemcpyDeviceToHost, nullptr);
}
cublasStatus_t cublasSetMatrix(int rows, int cols, int size, const void* a, int lda, void* b, int ldb) {
  return copyMatrix(rows, cols, size, a, lda, b, ldb, cudaMemcpyHostToDevice, nullptr);
}
cublasStatus_t cublasGetMatrix(int rows, int cols, int size, const void* a, int lda, void* b, int ldb) {
  return copyMatrix(rows, cols, size, a, lda, b, ldb, cudaMemcpyDeviceToHost, nullptr);
}
cublasStatus_t cublasSetMatrixAsync(int rows, int cols, int size, const void* a, int lda, void* b, int ldb,
                                    cudaStream_t stream) {
  return copyMatrix(rows, cols, size, a, lda, b, ldb, cudaMemcpyHostToDevice, &stream);
}
cublasStatus_t cublasGetMatrixAsync(int rows, int cols, int size, const void* a, int lda, void* b, int ldb,
                                    cudaStream_t stream) {
  return copyMatrix(rows, cols, size, a, lda, b, ldb, cudaMemcpyDeviceToHost, &stream);
}

}  // extern "C"
