// SPDX-License-Identifier: Apache-2.0
// PyTorch's CUDA memory snapshots (torch.cuda.memory._dump_snapshot), old and new. What the allocator handed out
// becomes allocations of space 'device', what it holds from the driver those of space 'reserved', which are never added
// up; a block that waits for another stream is of space 'pending_free'. Memory counts as freed when the program gave it
// back.
#pragma once
#include "analyzer/import/importer.h"
#include "analyzer/import/plain_document.h"

namespace plumb::import {

[[nodiscard]] bool isMemorySnapshot(const PlainDocument& document);
[[nodiscard]] Result<SourceResult> readMemorySnapshot(SourceContext& context, const PlainDocument& document);

}  // namespace plumb::import
