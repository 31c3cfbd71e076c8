// SPDX-License-Identifier: Apache-2.0
// A sequential checkpoint: group by group, rank 0 gathers the fp32 weights and AdamW's moments of one copy of the model
// and writes them without padding, so a file does not depend on the number of ranks.
#pragma once
#include <cstddef>
#include <string>

#include "workloads/fsdp/trainer.h"

namespace plumb::fsdp {

// All ranks must call these at once; only rank 0 touches the file. Throw std::runtime_error when it cannot be written,
// read, or is not one of this model. save() returns the bytes written (0 on the other ranks).
size_t saveCheckpoint(Trainer& trainer, const std::string& path);
void loadCheckpoint(Trainer& trainer, const std::string& path);
// Overwrites what a checkpoint keeps with nan, so that a load that does nothing is seen.
void eraseState(Trainer& trainer);

}  // namespace plumb::fsdp
