// SPDX-License-Identifier: Apache-2.0
// The functions of collector/api/interposed.def. Each is exported as a jump through a slot: the first call asks where
// to go (attaching the agent, for whoever calls cuBLAS is at work), later calls go straight there.
#pragma once

namespace plumb::agent {

// The target's own definition, null if its library is not loaded. Any thread.
[[nodiscard]] void* realFunction(const char* name) noexcept;

}  // namespace plumb::agent
