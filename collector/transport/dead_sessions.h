// SPDX-License-Identifier: Apache-2.0
// Sessions' directories (protocol.h) that recorders left which were killed.
#pragma once
#include <chrono>
#include <string>

namespace plumb::transport {

// Where plumb record makes its sessions' directories: TMPDIR, else /tmp.
[[nodiscard]] std::string sessionsFolder();

// mkdtemp's pattern of one in it.
[[nodiscard]] std::string sessionPattern();

// Removes the directories of sessionPattern() that are this user's, older than `age`, hold nothing but what a session
// has, and on whose socket nobody listens. Never fails: what cannot be told or removed stays.
void removeDeadSessions(std::chrono::seconds age = std::chrono::minutes(1));

}  // namespace plumb::transport
