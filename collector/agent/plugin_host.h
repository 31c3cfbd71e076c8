// SPDX-License-Identifier: Apache-2.0
// Loads the plugins and offers them PlumbHost (collector/api/plugin.h).
#pragma once
#include <cstdint>

#include "collector/api/plugin.h"
#include "collector/api/records.h"

namespace plumb::agent::plugins {

// Loads and starts every plugin; publishes a PluginRecord for each, and a diagnostic for what did not work. Once in the
// life of a process; a forked child that attaches anew gets its rows from publishStates() only.
void loadAll() noexcept;
void publishStates() noexcept;

// Each passes an event on to all plugins that are on. True: one of them took it.
bool bindCuda() noexcept;
bool attachNvtx(void* getExportTable) noexcept;
bool attachNvtxExtension(void* moduleInfo) noexcept;
[[nodiscard]] const void* ncclProfiler(int version) noexcept;
[[nodiscard]] void* replacement(const char* function) noexcept;
void onForkChild() noexcept;

// The process is ending: says which lanes had nothing to bind to.
void reportUnboundCuda() noexcept;
[[nodiscard]] bool cudaBound() noexcept;

}  // namespace plumb::agent::plugins
