// SPDX-License-Identifier: Apache-2.0
// The device of this process.
#pragma once
#include <cstddef>
#include <string>

namespace plumb::nn {

// Makes the device of a process with that local rank the current one, and lets its memory pool keep what is freed until
// the process ends, as a caching allocator would: without that, every synchronization gives memory back to the driver.
// Throws DeviceError.
void useDevice(int localRank);

std::string deviceName();

// A working set that the current device's caches do not hold: one and a half times the last of them, at least 256 MiB,
// at most a quarter of the free memory.
size_t bytesBeyondCaches();

// On the software device a millisecond of sleep, after which the CPU's scheduler lets short work run through; on a GPU
// nothing.
void restBeforeTiming();

}  // namespace plumb::nn
