// SPDX-License-Identifier: Apache-2.0
// The software device's settings, read once from the environment.
#pragma once
#include <cstddef>

namespace softcuda {

// Bytes of device memory of this process: SOFTCUDA_MEMORY (bytes, or with K, M or G), else half of what the machine (or
// the container) has, divided by the number of processes of the job on this machine.
std::size_t deviceMemoryBytes();
std::size_t machineMemoryBytes();

// LOCAL_WORLD_SIZE, else WORLD_SIZE, else 1.
int processesOnThisMachine();

}  // namespace softcuda
