// SPDX-License-Identifier: Apache-2.0
// Memory that nothing declares, told apart by the places in the program that allocated it.
#pragma once
#include <optional>
#include <vector>

#include "analyzer/analyses/memory.h"
#include "analyzer/analyses/memory_history.h"

namespace plumb {

// The places that held most at the peak (liveAtPeak of this device), largest first, with all that each ever allocated.
// Where the program named memory without saying what it is for, only what was live at the peak is followed.
[[nodiscard]] std::vector<PlaceMemory> placesOf(Trace& trace, const ProcessMemory& memory,
                                                std::optional<DeviceId> device,
                                                const std::vector<LiveMemory>& liveAtPeak);

}  // namespace plumb
