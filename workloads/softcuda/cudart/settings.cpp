// SPDX-License-Identifier: Apache-2.0
#include "workloads/softcuda/cudart/settings.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "workloads/softcuda/device.h"

namespace softcuda {
namespace {

constexpr std::size_t kSmallestDevice = std::size_t{16} << 20;

// The number with an optional suffix K, M or G; 0 for anything else.
std::size_t parseBytes(const char* text) {
  char* end = nullptr;
  const double number = std::strtod(text, &end);
  if (end == text || !(number > 0)) return 0;
  std::size_t unit = 1;
  if (*end == 'K' || *end == 'k') unit = std::size_t{1} << 10;
  if (*end == 'M' || *end == 'm') unit = std::size_t{1} << 20;
  if (*end == 'G' || *end == 'g') unit = std::size_t{1} << 30;
  if (unit != 1) ++end;
  return *end == '\0' ? static_cast<std::size_t>(number * static_cast<double>(unit)) : 0;
}

std::size_t containerMemoryBytes() {
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::ifstream file(path);
    std::size_t bytes = 0;
    if (file >> bytes && bytes > 0) return bytes;
  }
  return SIZE_MAX;
}

int positiveNumber(const char* variable) {
  const char* text = std::getenv(variable);
  return text ? std::max(0, std::atoi(text)) : 0;
}

std::size_t readDeviceMemory() {
  if (const char* text = std::getenv("SOFTCUDA_MEMORY")) {
    if (const std::size_t bytes = parseBytes(text)) return std::max(bytes, kSmallestDevice);
    std::fprintf(stderr, "softcuda: SOFTCUDA_MEMORY=%s is not a number of bytes (such as 4G); ignored\n", text);
  }
  const std::size_t share = machineMemoryBytes() / 2 / static_cast<std::size_t>(processesOnThisMachine());
  return std::max(share >> 20 << 20, kSmallestDevice);
}

int readThreads() {
  if (const int threads = positiveNumber("SOFTCUDA_THREADS")) return threads;
  cpu_set_t allowed;
  const int cores = sched_getaffinity(0, sizeof(allowed), &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
  return std::max(1, cores / processesOnThisMachine());
}

}  // namespace

std::size_t machineMemoryBytes() {
  const std::size_t machine =
      static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return std::min(machine, containerMemoryBytes());
}

std::size_t deviceMemoryBytes() {
  static const std::size_t bytes = readDeviceMemory();
  return bytes;
}

int processesOnThisMachine() {
  if (const int local = positiveNumber("LOCAL_WORLD_SIZE")) return local;
  return std::max(1, positiveNumber("WORLD_SIZE"));
}

}  // namespace softcuda

extern "C" int softcuda_threads(void) {
  static const int threads = softcuda::readThreads();
  return threads;
}
