// SPDX-License-Identifier: Apache-2.0
// Pickled files, told apart by what they hold: PyTorch's memory snapshots and flight-recorder dumps.
#pragma once
#include "analyzer/import/importer.h"

namespace plumb::import {

[[nodiscard]] bool looksLikePickledTrace(std::string_view head, const std::string& path);
[[nodiscard]] Result<SourceResult> readPickledTrace(SourceContext& context);

}  // namespace plumb::import
