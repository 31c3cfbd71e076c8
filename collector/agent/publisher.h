// SPDX-License-Identifier: Apache-2.0
// Publishing records: every thread has a ring of its own. All functions may be called from any thread at any time, also
// before start() and in a forked child; they then do nothing. Nothing here allocates, locks or blocks after a thread's
// first record, and a signal handler that interrupts a call and publishes itself only loses its own record.
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "collector/api/records.h"

namespace plumb::agent::publisher {

// Makes the segment; nothing is published yet. False: no memory.
[[nodiscard]] bool create() noexcept;
// The memfd that the recorder needs; closed by go().
[[nodiscard]] int segmentFd() noexcept;
// From now on records are published.
void go() noexcept;
// Undoes create(), when go() was not called.
void destroy() noexcept;
// No more records: the recorder is gone. Memory stays mapped, other threads may be in the middle of a record.
void stop() noexcept;
// Is this process publishing? False in every kind of forked child until it calls go() itself.
[[nodiscard]] bool live() noexcept;
// After fork, in the child.
void forgetParent() noexcept;
// The process ends normally.
void finish() noexcept;

// As in plugin.h.
int write(const void* record) noexcept;
int writePatiently(const void* record, int64_t waitNs) noexcept;
StringId intern(const char* text, size_t lengthBytes) noexcept;
uint32_t threadId() noexcept;

// Publishes the names of threads that have published and whose name is new or has changed.
void publishThreadNames() noexcept;

template <class Record>
void publish(const Record& record) noexcept {
  write(&record);
}

}  // namespace plumb::agent::publisher
