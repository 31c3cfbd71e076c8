// SPDX-License-Identifier: Apache-2.0
// Chrome trace JSON, torch.profiler's above all.
#pragma once
#include "analyzer/import/importer.h"

namespace plumb::import {

[[nodiscard]] bool looksLikeJson(std::string_view head, const std::string& path);
[[nodiscard]] Result<SourceResult> readChromeTrace(SourceContext& context);

}  // namespace plumb::import
