// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/allocation_count.h"

#include <cstdlib>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PLUMB_COUNT_ALLOCATIONS 0
#else
#define PLUMB_COUNT_ALLOCATIONS 1
#endif

namespace {
thread_local size_t t_allocations = 0;
}

#if PLUMB_COUNT_ALLOCATIONS
extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* memory, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);

void* malloc(size_t bytes) {
  ++t_allocations;
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  ++t_allocations;
  return __libc_calloc(count, bytes);
}
void* realloc(void* memory, size_t bytes) {
  ++t_allocations;
  return __libc_realloc(memory, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  ++t_allocations;
  return __libc_memalign(alignment, bytes);
}
}
#endif

namespace plumb::test {

size_t allocationsOfThisThread() noexcept { return t_allocations; }
bool allocationsAreCounted() noexcept { return PLUMB_COUNT_ALLOCATIONS != 0; }

}  // namespace plumb::test
