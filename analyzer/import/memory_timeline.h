// SPDX-License-Identifier: Apache-2.0
// torch.profiler's raw memory timeline (export_memory_timeline("….raw.json.gz")): rows [time, action, bytes, category].
// It names no addresses, so those of its allocations are made up; their sums by category over time are the source's.
#pragma once
#include "analyzer/import/importer.h"

namespace plumb::import {

[[nodiscard]] bool looksLikeMemoryTimeline(std::string_view head, const std::string& path);
[[nodiscard]] Result<SourceResult> readMemoryTimeline(SourceContext& context);

}  // namespace plumb::import
