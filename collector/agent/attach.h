// SPDX-License-Identifier: Apache-2.0
// From inert to recording. A process stays inert until something worth recording happens in it: the driver, NVTX, NCCL
// or an interposed function calls one of our entry points.
#pragma once

namespace plumb::agent {

// Attaches this process to the session if that has not been tried yet; returns whether it is recording. Any thread;
// threads that come while another one attaches wait for it. A call from within attaching itself returns false.
// Keeps errno.
[[nodiscard]] bool ensureAttached() noexcept;

// In a forked child of a recording process: attaches the child. Otherwise does nothing. Cheap.
void attachForkedChild() noexcept;

// The driver has been initialised, or CUPTI can be bound for another reason.
void onCudaReady() noexcept;

}  // namespace plumb::agent
