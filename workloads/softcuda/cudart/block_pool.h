// SPDX-License-Identifier: Apache-2.0
// Spreads the blocks of a kernel over softcuda_threads() CPU threads: the stream's worker and helpers that sleep
// between kernels. Helpers are shared by all streams and take the blocks of the most urgent one, at each chunk anew: as
// on a GPU, running blocks are never interrupted.
#pragma once
#include "workloads/softcuda/kernels/registration.h"

namespace softcuda {

// The calling thread works for a stream of this priority (CUDA's: lower is more urgent).
void setWorkerPriority(int priority);

// Runs all blocks and returns when they are done; the first error of any.
cudaError_t runGrid(const SoftcudaKernel& kernel, const SoftcudaGrid& grid, void** arguments);

// The same for a cooperative launch: every block has a CPU thread of its own, so that all can meet in the grid's
// barrier.
cudaError_t runCooperativeGrid(const SoftcudaKernel& kernel, SoftcudaGrid grid, void** arguments);

}  // namespace softcuda
