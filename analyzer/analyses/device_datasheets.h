// SPDX-License-Identifier: Apache-2.0
// What vendors say that their GPUs can do, by the name that the driver gives a device: for recordings that tell a
// device's name and no more, as torch.profiler's do.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/analyses/roofline.h"

namespace plumb {

// Empty for a device that is not in the table: a GPU of another name, or a part of one (MIG, a virtual GPU).
[[nodiscard]] std::vector<Roof> namedRoofs(std::string_view deviceName);

}  // namespace plumb
