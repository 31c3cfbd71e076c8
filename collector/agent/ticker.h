// SPDX-License-Identifier: Apache-2.0
// The one thread of the agent: named "plumb", all signals blocked. Runs what plugins asked for (PlumbHost::every), and
// once a second the agent's own chores.
#pragma once
#include <cstdint>

namespace plumb::agent::ticker {

using Tick = void (*)(void* context, int atExit);

// May be called before start(). No more than 32.
void every(uint32_t periodMs, Tick tick, void* context) noexcept;

// False: there is no thread (the process has too many); ticks then come only at the exit, on the exiting thread.
bool start() noexcept;

// Lets the thread run every tick once with atExit = 1 and end; waits for that no longer than waitMs. Once.
void stop(int64_t waitMs) noexcept;

// Around fork: waits (100 ms at most) until the thread holds nothing of anybody's, and keeps it so until the fork is over. A
// child would inherit the locks that it holds, an allocator's for example, with nobody to release them.
void beforeFork() noexcept;
void afterForkInParent() noexcept;

// After fork, in the child: there is no thread. What was registered stays registered.
void forgetParent() noexcept;

}  // namespace plumb::agent::ticker
