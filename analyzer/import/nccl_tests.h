// SPDX-License-Identifier: Apache-2.0
// What NVIDIA's nccl-tests print (all_reduce_perf, all_gather_perf …), of all versions, one test or several in a log
// with other output between: measured bandwidths by size, to compare a training's collectives with.
#pragma once
#include "analyzer/import/importer.h"

namespace plumb::import {

[[nodiscard]] bool looksLikeNcclTests(std::string_view head, const std::string& path);
[[nodiscard]] Result<SourceResult> readNcclTests(SourceContext& context);

}  // namespace plumb::import
