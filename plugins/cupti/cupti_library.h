// SPDX-License-Identifier: Apache-2.0
// Which libcupti to use. There must be only one in a process: a second one would fight for the one subscriber.
#pragma once

namespace plumb::cupti {

// The libcupti that is already mapped, else the one that belongs to the loaded CUDA runtime, else what the loader
// finds. path receives where it came from. Returns a dlopen handle that is never closed, or NULL.
void* openCupti(char* path, unsigned pathBytes) noexcept;

}  // namespace plumb::cupti
