// SPDX-License-Identifier: Apache-2.0
#include "collector/launcher/doctor_checks.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "collector/api/plugin.h"
#include "collector/launcher/environment.h"
#include "collector/launcher/recorder_process.h"

namespace plumb::launcher {
namespace fs = std::filesystem;
namespace {

using Clock = std::chrono::steady_clock;

// How long a program that does nothing takes, in ms; negative: it failed.
double timeTrue(const std::vector<std::string>& environment) {
  std::vector<char*> variables;
  for (const std::string& entry : environment) {
    variables.push_back(const_cast<char*>(entry.c_str()));
  }
  variables.push_back(nullptr);
  std::array<char, 10> program = {"/bin/true"};
  std::array<char*, 2> arguments = {program.data(), nullptr};
  constexpr int kRuns = 15;
  double best = 1e9;
  for (int i = 0; i < kRuns; ++i) {
    const auto start = Clock::now();
    pid_t pid = -1;
    int status = 0;
    if (posix_spawn(&pid, program.data(), nullptr, nullptr, arguments.data(), variables.data()) != 0 ||
        waitpid(pid, &status, 0) != pid || status != 0) {
      return -1;
    }
    best = std::min(best, std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  return best;
}

std::string fileOf(void* address) {
  Dl_info info{};
  return dladdr(address, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "?";
}

struct Library {
  void* handle = nullptr;
  std::string name;
};

// The first of the names that the dynamic linker finds, also in the usual places of a CUDA toolkit.
Library openAny(std::initializer_list<const char*> sonames) {
  std::vector<std::string> folders = {""};
  if (const char* home = std::getenv("CUDA_HOME"); home != nullptr) {
    folders.push_back(fmt::format("{}/lib64/", home));
    folders.push_back(fmt::format("{}/extras/CUPTI/lib64/", home));
  }
  folders.emplace_back("/usr/local/cuda/lib64/");
  folders.emplace_back("/usr/local/cuda/lib/");
  folders.emplace_back("/usr/local/cuda/extras/CUPTI/lib64/");
  for (const std::string& folder : folders) {
    for (const char* soname : sonames) {
      if (void* handle = dlopen((folder + soname).c_str(), RTLD_LAZY | RTLD_LOCAL); handle != nullptr) {
        return {handle, folder + soname};
      }
    }
  }
  return {};
}

template <class Function>
Function symbol(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

std::string cuptiVersionName(uint32_t version) {
  // 130001 is 13.0 update 1; before, a running number.
  return version >= 100000 ? fmt::format("{}.{}", version / 10000, version / 100 % 100)
                           : fmt::format("API version {}", version);
}

}  // namespace

Finding checkAgent(const Installation& installation) {
  const std::string subject = "agent";
  if (access(installation.agent.c_str(), R_OK) != 0) {
    return {Health::kBroken, subject, fmt::format("{} is missing. Build it.", installation.agent)};
  }
  const double without = timeTrue(currentEnvironment());
  std::vector<std::string> environment = currentEnvironment();
  environment.push_back("LD_PRELOAD=" + installation.agent);
  const double with = timeTrue(environment);
  if (without < 0 || with < 0) {
    return {Health::kBroken, subject, "A program does not run with it preloaded."};
  }
  return {Health::kOk, subject,
          fmt::format("{}; adds {:.2f} ms to a program's start", installation.agent, std::max(0.0, with - without))};
}

Finding checkRecorder(const Installation& installation) {
  const std::string subject = "recorder";
  const std::string file = fs::temp_directory_path() / fmt::format("plumb-doctor-{}.sqlite", getpid());
  Result<RecorderProcess> recorder =
      RecorderProcess::start({.program = installation.recorder, .output = file, .command = "plumb doctor"});
  if (!recorder.ok()) {
    return {Health::kBroken, subject, recorder.error().message};
  }
  recorder.value().requestFinish();
  const auto outcome = recorder.value().waitForSummary(std::chrono::seconds(10));
  const bool written = fs::exists(file);
  for (const char* suffix : {"", "-wal", "-shm"}) {
    std::error_code ignored;
    fs::remove(file + suffix, ignored);
  }
  if (!outcome || !outcome->ok() || !written) {
    return {Health::kBroken, subject, "It starts, but does not complete its file."};
  }
  return {Health::kOk, subject, fmt::format("{}; starts and writes", installation.recorder)};
}

std::vector<Finding> checkPlugins(const Installation& installation) {
  std::vector<std::string> files;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(installation.plugins, error)) {
    if (entry.path().extension() == ".so") {
      files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);
  std::vector<Finding> findings;
  for (const std::string& file : files) {
    const std::string subject = "plugin " + fs::path(file).stem().string();
    void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      findings.push_back({Health::kOff, subject, fmt::format("It cannot be loaded: {}", dlerror())});
      continue;
    }
    const auto entry = symbol<PlumbPluginEntry>(library, "plumbPlugin");
    const PlumbPlugin* plugin = entry == nullptr ? nullptr : entry(PLUMB_PLUGIN_ABI);
    findings.push_back(plugin == nullptr
                           ? Finding{Health::kOff, subject, "It is not a plugin of this version. Build it again."}
                           : Finding{Health::kOk, subject, fmt::format("version {}", plugin->version)});
  }
  if (files.empty()) {
    findings.push_back(
        {Health::kBroken, "plugins", fmt::format("There are none in {}. Build them.", installation.plugins)});
  }
  return findings;
}

Finding checkDriver() {
  const std::string subject = "NVIDIA driver";
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return {Health::kOff, subject,
            "None (no libcuda.so.1), so there is no GPU work to record here; NVTX ranges are recorded all the same."};
  }
  const auto initialise = symbol<int (*)(unsigned)>(library, "cuInit");
  const auto countDevices = symbol<int (*)(int*)>(library, "cuDeviceGetCount");
  const auto version = symbol<int (*)(int*)>(library, "cuDriverGetVersion");
  const auto nameOf = symbol<int (*)(char*, int, int)>(library, "cuDeviceGetName");
  int devices = 0;
  if (initialise == nullptr || countDevices == nullptr || nameOf == nullptr) {
    return {Health::kOff, subject, "libcuda.so.1 is incomplete. Install the driver again."};
  }
  if (const int code = initialise(0); code != 0) {
    return {Health::kOff, subject, fmt::format("It does not start (cuInit says {}). nvidia-smi may tell more.", code)};
  }
  if (countDevices(&devices) != 0 || devices == 0) {
    return {Health::kOff, subject, "It sees no GPU. Check CUDA_VISIBLE_DEVICES and nvidia-smi."};
  }
  int number = 0;
  if (version != nullptr) {
    (void)version(&number);
  }
  std::array<char, 128> name{};
  (void)nameOf(name.data(), static_cast<int>(name.size()), 0);
  return {Health::kOk, subject,
          fmt::format("CUDA {}.{}, {} GPU{}, the first a {}", number / 1000, number % 1000 / 10, devices,
                      devices == 1 ? "" : "s", name.data())};
}

Finding checkCupti() {
  const std::string subject = "CUPTI";
  const Library library = openAny({"libcupti.so.13", "libcupti.so.12"});
  if (library.handle == nullptr) {
    return {Health::kOff, subject,
            "No libcupti.so.13 or .12 was found here; a program that brings its own (PyTorch does) is recorded all the "
            "same. Else install the CUDA toolkit, or add its folder to LD_LIBRARY_PATH."};
  }
  const auto getVersion = symbol<int (*)(uint32_t*)>(library.handle, "cuptiGetVersion");
  uint32_t version = 0;
  if (getVersion == nullptr || getVersion(&version) != 0) {
    return {Health::kOff, subject, fmt::format("{} does not answer. Install the CUDA toolkit again.", library.name)};
  }
  return {Health::kOk, subject,
          fmt::format("{} ({})", cuptiVersionName(version), fileOf(reinterpret_cast<void*>(getVersion)))};
}

Finding checkCounters() {
  const std::string subject = "hardware counters";
  std::ifstream parameters("/proc/driver/nvidia/params");
  if (!parameters) {
    return {Health::kOff, subject, "There is no NVIDIA driver to ask. They are not needed for recording."};
  }
  for (std::string line; std::getline(parameters, line);) {
    if (line.starts_with("RmProfilingAdminOnly:")) {
      if (line.find('1') == std::string::npos || geteuid() == 0) {
        return {Health::kOk, subject, "allowed"};
      }
      return {Health::kOff, subject,
              "Only root may read them (RmProfilingAdminOnly is 1). Kernels and copies are recorded all the same; for "
              "counters load the driver with NVreg_RestrictProfilingToAdminUsers=0."};
    }
  }
  return {Health::kOk, subject, "not restricted"};
}

std::vector<Finding> checkInjectionVariables(const Installation& installation) {
  struct Lane {
    const char* variable;
    const char* subject;
    const char* lost;
  };
  static constexpr Lane kLanes[] = {{"CUDA_INJECTION64_PATH", "CUDA injection", "GPU work may not be recorded"},
                                    {"NVTX_INJECTION64_PATH", "NVTX injection", "NVTX ranges are not recorded"},
                                    {"NCCL_PROFILER_PLUGIN", "NCCL profiler", "collectives are not recorded"}};
  std::vector<Finding> findings;
  for (const Lane& lane : kLanes) {
    const char* value = std::getenv(lane.variable);
    if (value == nullptr || *value == '\0' || value == installation.agent) {
      findings.push_back({Health::kOk, lane.subject, "free"});
    } else {
      findings.push_back(
          {Health::kOff, lane.subject, fmt::format("{} is set to {}: {}. Unset it.", lane.variable, value, lane.lost)});
    }
  }
  return findings;
}

Finding checkSoftwareDevice(const Installation& installation) {
  const std::string library = installation.softwareDevice + "/libcudart.so.13";
  if (!fs::exists(library)) {
    return {Health::kOff, "software device", fmt::format("{} is not built.", library)};
  }
  return {Health::kOk, "software device", installation.softwareDevice};
}

Finding checkFolder() {
  std::error_code error;
  const std::string folder = fs::current_path(error);
  if (error || access(folder.c_str(), W_OK | X_OK) != 0) {
    return {Health::kOff, "working folder", fmt::format("{} cannot be written. Use -o FILE elsewhere.", folder)};
  }
  const auto space = fs::space(folder, error);
  return {Health::kOk, "working folder",
          fmt::format("{}; {} MiB free", folder, error ? 0 : space.available / (1024 * 1024))};
}

}  // namespace plumb::launcher
