// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/workloads/softcuda/cudart/nvcc_kernels.cuh"

SOFTCUDA_KERNEL(addAll<32>)
SOFTCUDA_VARIABLE(factors::ofSums)
SOFTCUDA_VARIABLE(launches)
