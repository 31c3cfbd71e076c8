// SPDX-License-Identifier: Apache-2.0
// The device of this process.
#pragma once
#include <string>

namespace plumb::nn {

// Makes the device of a process with that local rank the current one, and lets its memory pool keep what is freed until
// the process ends, as a caching allocator would: without that, every synchronization gives memory back to the driver.
// Throws DeviceError.
void useDevice(int localRank);

std::string deviceName();

}  // namespace plumb::nn
