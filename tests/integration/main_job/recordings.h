// SPDX-License-Identifier: Apache-2.0
// Recordings of workloads/fsdp that the tests of the main job share; each is made once per test program.
#pragma once
#include <string>
#include <vector>

#include "tests/support/process.h"

namespace plumb::test {

// A small training: small enough for seconds, large enough that every part of it occurs.
struct Training {
  int layers = 3;
  int ranks = 2;
  int steps = 4;
  int dim = 64;
  int heads = 4;
  int vocabulary = 256;
  int batch = 4;
  int sequence = 32;

  [[nodiscard]] std::vector<std::string> arguments() const;  // the whole command line, program first
};

inline const std::string kBin = PLUMB_BUILD_DIR "/bin";
inline const std::string kPlumb = kBin + "/plumb";
inline const std::string kAgent = PLUMB_BUILD_DIR "/lib/libplumb.so";

// `plumb record -o file -- command…`.
Command recordCommand(const std::string& file, const std::vector<std::string>& command);

// `LD_PRELOAD=libplumb.so command…` with the output in file.
Command preloadCommand(const std::string& file, const std::vector<std::string>& command);

// Waits until path holds a recording that its recorder has completed; false after 20 s.
bool waitUntilComplete(const std::string& path);

}  // namespace plumb::test
