// SPDX-License-Identifier: Apache-2.0
// Starts a program that has nothing to do with the target any more.
#pragma once

namespace plumb::agent {

// arguments and environment end with null; arguments[0] is the program's path. The program runs in a session of its
// own, in "/", with /dev/null as its standard streams, keptFd (if not -1) as descriptor kInheritedFd and no other
// descriptor. The target sees no child: no SIGCHLD, nothing for wait(). Returns when the program has been executed or
// has failed to (false). The target's other threads run on meanwhile; its memory is not copied.
[[nodiscard]] bool spawnDetached(const char* const* arguments, char* const* environment, int keptFd) noexcept;

inline constexpr int kInheritedFd = 3;

}  // namespace plumb::agent
