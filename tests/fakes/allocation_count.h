// SPDX-License-Identifier: Apache-2.0
// Counts what the calling thread takes from the heap: for tests of hot paths. A program that links this replaces
// malloc.
#pragma once
#include <cstddef>

namespace plumb::test {

// Calls to malloc, calloc, realloc, aligned_alloc and operator new by this thread so far. Always 0 under a sanitizer.
size_t allocationsOfThisThread() noexcept;

// False under a sanitizer, which has a malloc of its own: then nothing is counted.
bool allocationsAreCounted() noexcept;

}  // namespace plumb::test
