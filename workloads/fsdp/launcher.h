// SPDX-License-Identifier: Apache-2.0
// Starts the ranks of a run on this machine, as torchrun would.
#pragma once
#include <string>
#include <vector>

namespace plumb::fsdp {

// Runs program with arguments ranks times, with RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR and
// MASTER_PORT set, and waits for all. When one fails or is killed, says so on stderr, gives the others a few seconds
// and then ends them, since they may wait for it for ever. The ranks end with this process. Returns the exit code: 0,
// that of the first rank that failed, or 128 + signal. Call before anything of CUDA.
int runRanks(const std::string& program, const std::vector<std::string>& arguments, int ranks);

}  // namespace plumb::fsdp
