// SPDX-License-Identifier: Apache-2.0
#include "workloads/softcuda/cublas/status.h"

namespace softcublas {
namespace {

struct StatusText {
  cublasStatus_t status;
  const char* name;
  const char* text;
};
constexpr StatusText kStatus[] = {
    {CUBLAS_STATUS_SUCCESS, "CUBLAS_STATUS_SUCCESS", "the requested operation completed successfully"},
    {CUBLAS_STATUS_NOT_INITIALIZED, "CUBLAS_STATUS_NOT_INITIALIZED", "the library was not initialized"},
    {CUBLAS_STATUS_ALLOC_FAILED, "CUBLAS_STATUS_ALLOC_FAILED", "the resource allocation failed"},
    {CUBLAS_STATUS_INVALID_VALUE, "CUBLAS_STATUS_INVALID_VALUE",
     "an unsupported value or parameter was passed to the function"},
    {CUBLAS_STATUS_ARCH_MISMATCH, "CUBLAS_STATUS_ARCH_MISMATCH",
     "the function requires an architectural feature absent from the device"},
    {CUBLAS_STATUS_MAPPING_ERROR, "CUBLAS_STATUS_MAPPING_ERROR", "an access to GPU memory space failed"},
    {CUBLAS_STATUS_EXECUTION_FAILED, "CUBLAS_STATUS_EXECUTION_FAILED", "the function failed to launch on the GPU"},
    {CUBLAS_STATUS_INTERNAL_ERROR, "CUBLAS_STATUS_INTERNAL_ERROR", "an internal operation failed"},
    {CUBLAS_STATUS_NOT_SUPPORTED, "CUBLAS_STATUS_NOT_SUPPORTED", "the functionality requested is not supported"},
    {CUBLAS_STATUS_LICENSE_ERROR, "CUBLAS_STATUS_LICENSE_ERROR",
     "the functionality requested requires some license and an error was detected when trying to check the current "
     "licensing"},
};

const StatusText* find(cublasStatus_t status) {
  for (const StatusText& known : kStatus) {
    if (known.status == status) {
      return &known;
    }
  }
  return nullptr;
}

}  // namespace

const char* statusName(cublasStatus_t status) {
  const StatusText* const known = find(status);
  return known ? known->name : "CUBLAS_STATUS_UNKNOWN";
}

const char* statusText(cublasStatus_t status) {
  const StatusText* const known = find(status);
  return known ? known->text : "unknown cuBLAS status";
}

}  // namespace softcublas
