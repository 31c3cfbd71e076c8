// SPDX-License-Identifier: Apache-2.0
// What a memory snapshot says beside the history of its allocator.
#pragma once
#include <cstdint>

#include "analyzer/import/importer.h"
#include "analyzer/import/losses.h"
#include "analyzer/import/plain_document.h"

namespace plumb::import {

// "allocator_settings": how the allocator was set up (PYTORCH_CUDA_ALLOC_CONF …), each as a variable of the process; of
// the divisions for rounding, under the name and the size. A diagnostic names the members that nothing reads.
void storeSnapshotSaid(SourceContext& context, const PlainDocument& document, int64_t process);

// Counts texts that the program or its compiler tied to an event of the allocator.
void countTiedTexts(const PlainDocument& document, const PlainValue& event, Losses& losses);

}  // namespace plumb::import
