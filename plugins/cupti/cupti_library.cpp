// SPDX-License-Identifier: Apache-2.0
#include "plugins/cupti/cupti_library.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace plumb::cupti {
namespace {

struct Major {
  const char* cupti;
  const char* runtime;
};
constexpr Major kMajors[] = {{"libcupti.so.13", "libcudart.so.13"}, {"libcupti.so.12", "libcudart.so.12"}};

// Where a CUDA installation keeps libcupti, seen from the folder of its libcudart: the same folder (a conda
// environment, nvidia/cu13/lib of the wheels, the software device), a toolkit, the wheels of CUDA 12.
constexpr const char* kFolders[] = {"",
                                    "../extras/CUPTI/lib64",
                                    "../lib64",
                                    "../lib",
                                    "../../cuda_cupti/lib",
                                    "../../cu13/lib",
                                    "../../../extras/CUPTI/lib64"};

void describe(void* library, char* path, unsigned pathBytes) noexcept {
  link_map* map = nullptr;
  const bool known = dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name;
  snprintf(path, pathBytes, "%s", known ? map->l_name : "libcupti");
}

void* openMapped() noexcept {
  for (const Major& major : kMajors) {
    if (void* library = dlopen(major.cupti, RTLD_NOW | RTLD_NOLOAD)) {
      return library;
    }
  }
  return nullptr;
}

void* openBesideRuntime(const Major& major) noexcept {
  void* runtime = dlopen(major.runtime, RTLD_NOW | RTLD_NOLOAD);
  if (!runtime) {
    return nullptr;
  }
  char folder[2048];
  describe(runtime, folder, sizeof folder);
  dlclose(runtime);
  char* slash = strrchr(folder, '/');
  if (!slash) {
    return nullptr;
  }
  *slash = '\0';
  for (const char* relative : kFolders) {
    char candidate[4096];
    snprintf(candidate, sizeof candidate, "%s/%s%s%s", folder, relative, *relative ? "/" : "", major.cupti);
    if (access(candidate, R_OK) != 0) {
      continue;
    }
    if (void* library = dlopen(candidate, RTLD_NOW | RTLD_LOCAL)) {
      return library;
    }
  }
  return nullptr;
}

}  // namespace

void* openCupti(char* path, unsigned pathBytes) noexcept {
  path[0] = '\0';
  void* library = openMapped();
  for (const Major& major : kMajors) {
    library = library ? library : openBesideRuntime(major);
  }
  for (const Major& major : kMajors) {
    library = library ? library : dlopen(major.cupti, RTLD_NOW | RTLD_LOCAL);
  }
  if (library) {
    describe(library, path, pathBytes);
  }
  return library;
}

}  // namespace plumb::cupti
