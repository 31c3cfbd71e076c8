// SPDX-License-Identifier: Apache-2.0
// The command line of fsdp.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "workloads/fsdp/model.h"
#include "workloads/fsdp/policy.h"
#include "workloads/nn/device_choice.h"

namespace plumb::fsdp {

struct Options {
  int ranks = 0;  // processes to start; 0: decide by the device
  int layers = 4;
  int dim = 128;
  int heads = 4;
  int vocabulary = 512;
  int batch = 4;  // sequences of all ranks together
  int sequence = 64;
  int steps = 6;
  float learningRate = 3e-3f;
  uint64_t seed = 1;
  Policy policy;
  std::string save;  // the checkpoint's file; empty: none
  nn::DeviceWish device = nn::DeviceWish::kAuto;

  ModelShape shape(int worldSize) const;  // of one micro step of one rank
};

struct ParsedOptions {
  Options options;
  std::optional<std::string> help;  // print this and exit with 0
};

// Throws nn::UsageError with one sentence when the arguments make no sense.
ParsedOptions parseOptions(const std::vector<std::string>& arguments);

// Throws nn::UsageError when the batch or the ranks cannot be divided.
void checkRanks(const Options& options, int ranks);

}  // namespace plumb::fsdp
