// SPDX-License-Identifier: Apache-2.0
#define SOFTCUDA_ISA avx512
#include "workloads/softcuda/numerics/convert_kernels.inc"
