// SPDX-License-Identifier: Apache-2.0
// Which device a workload runs on. Every workload is two programs: NAME, built by g++ for the software device, and,
// where nvcc was there at build time, NAME.cuda beside it for GPUs. Whichever is started hands over to the right one.
#pragma once
#include <stdexcept>
#include <string>
#include <vector>

namespace plumb::nn {

enum class DeviceWish { kAuto, kSoftware, kGpu };
// Of the words of --device: auto, software, gpu.
DeviceWish deviceWish(const std::string& word);

// What the user asked for cannot be done; the text is one sentence for the user. Exit code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct DeviceChoice {
  bool gpu = false;
  int gpuCount = 0;     // 0 if !gpu
  std::string program;  // the executable to run: this one or its sibling
  std::string note;     // for the user: why the software device was taken; empty if it was asked for
};

// Asks the driver in a child process, so that this one stays without CUDA and can still fork. Throws UsageError when
// GPUs are asked for and there is none.
DeviceChoice chooseDevice(DeviceWish wish);

// Replaces this process by choice.program with the same arguments and the device fixed, unless it is that program
// already.
void enterProgram(const DeviceChoice& choice, const std::vector<std::string>& arguments);

}  // namespace plumb::nn
