// SPDX-License-Identifier: Apache-2.0
// Names and texts of cublasStatus_t, for libcublas and libcublasLt.
#pragma once
#include <cublas_v2.h>

namespace softcublas {

const char* statusName(cublasStatus_t status);
const char* statusText(cublasStatus_t status);

}  // namespace softcublas
