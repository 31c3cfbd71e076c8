// SPDX-License-Identifier: Apache-2.0
// A view or table as a Parquet dataset, partitioned by rank in Hive's way where every row has one, through Apache
// Arrow.
#pragma once
#include <cstdint>
#include <string>

#include "analyzer/trace/trace.h"

namespace plumb::exports {

struct DatasetResult {
  uint64_t rows = 0;
  size_t files = 0;  // 0: it has no rows
};

// from: what stands behind FROM. Writes FOLDER/rank=N/part-0.parquet; when a row has no rank, FOLDER/part-N.parquet, a
// file for each rank and one for none, with a column rank: readers do not agree on partitions of null. Columns keep
// their names and, in their metadata
// ("unit"), their units. What a failure leaves in the folder is the caller's.
[[nodiscard]] Result<DatasetResult> writeDataset(Trace& trace, const std::string& from, const std::string& folder);

}  // namespace plumb::exports
