// SPDX-License-Identifier: Apache-2.0
#define SOFTCUDA_ISA portable
#include "workloads/softcuda/numerics/convert_kernels.inc"
