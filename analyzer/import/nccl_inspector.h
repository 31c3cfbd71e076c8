// SPDX-License-Identifier: Apache-2.0
// What NCCL's own profiler plugins write. Inspector: a JSON object per collective (header, metadata, coll_perf or
// p2p_perf, in verbose files with the times of callbacks). Example profiler: Chrome-like events that are not JSON (bare
// hexadecimal numbers and enumerators, an array that is not closed), read object by object.
#pragma once
#include "analyzer/import/importer.h"

namespace plumb::import {

[[nodiscard]] bool looksLikeInspector(std::string_view head, const std::string& path);
[[nodiscard]] Result<SourceResult> readInspector(SourceContext& context);

[[nodiscard]] bool looksLikeNcclProfiler(std::string_view head, const std::string& path);
[[nodiscard]] Result<SourceResult> readNcclProfiler(SourceContext& context);

}  // namespace plumb::import
