// SPDX-License-Identifier: Apache-2.0
#include "workloads/nn/device_choice.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace plumb::nn {
namespace {

constexpr int kMaxCount = 64;
constexpr const char* kSuffix = ".cuda";

int countGpus() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!driver) return 0;
  using Init = int (*)(unsigned);
  using Count = int (*)(int*);
  const auto init = reinterpret_cast<Init>(dlsym(driver, "cuInit"));
  const auto count = reinterpret_cast<Count>(dlsym(driver, "cuDeviceGetCount"));
  int devices = 0;
  if (!init || !count || init(0) != 0 || count(&devices) != 0) return 0;
  return devices < kMaxCount ? devices : kMaxCount;
}

// A driver that is initialised in this process would load an injected profiler into it and could not be used after
// fork.
int countGpusInChild() {
  const pid_t child = fork();
  if (child < 0) return 0;
  if (child == 0) {
    unsetenv("CUDA_INJECTION64_PATH");
    _exit(countGpus());
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) <= kMaxCount ? WEXITSTATUS(status) : 0;
}

bool endsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

}  // namespace

DeviceWish deviceWish(const std::string& word) {
  if (word == "software") return DeviceWish::kSoftware;
  return word == "gpu" ? DeviceWish::kGpu : DeviceWish::kAuto;
}

DeviceChoice chooseDevice(DeviceWish wish) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const std::string plain = endsWith(self, kSuffix) ? self.substr(0, self.size() - std::strlen(kSuffix)) : self;
  const std::string cuda = plain + kSuffix;
  DeviceChoice choice;
  choice.program = plain;
  if (wish == DeviceWish::kSoftware) return choice;
  const int gpus = countGpusInChild();
  const bool built = access(cuda.c_str(), X_OK) == 0;
  if (gpus > 0 && built) {
    choice.gpu = true;
    choice.gpuCount = gpus;
    choice.program = cuda;
    return choice;
  }
  const std::string reason =
      gpus == 0 ? "no usable NVIDIA driver" : "this build has no GPU program (nvcc was missing when it was built)";
  if (wish == DeviceWish::kGpu) throw UsageError("--device gpu is not possible: " + reason);
  choice.note = reason + ": using the software device (CPU); times are CPU time";
  return choice;
}

void enterProgram(const DeviceChoice& choice, const std::vector<std::string>& arguments) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  if (self == choice.program) return;
  std::vector<std::string> all = arguments;
  all.insert(all.end(), {"--device", choice.gpu ? "gpu" : "software"});
  std::vector<char*> pointers;
  for (std::string& argument : all) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  execv(choice.program.c_str(), pointers.data());
  throw std::runtime_error("cannot start " + choice.program + ": " + std::strerror(errno));
}

}  // namespace plumb::nn
