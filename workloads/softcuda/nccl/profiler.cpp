// SPDX-License-Identifier: Apache-2.0
#include "workloads/softcuda/nccl/profiler.h"

#include <dlfcn.h>
#include <strings.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace softnccl {
namespace {

// The process's plugin. Never destroyed: threads may still use it at exit.
struct Loaded {
  std::mutex mutex;
  int users = 0;
  bool failed = false;  // not tried again in this process
  void* library = nullptr;
  std::unique_ptr<ProfilerPlugin> plugin;
  int mask = 0;
};

Loaded& loaded() {
  static Loaded* const instance = new Loaded;
  return *instance;
}

void* tryOpen(const char* name) {
  // NCCL compares only as many characters as the name has; "STATIC_PLUGIN" means the program itself.
  if (strncasecmp(name, "STATIC_PLUGIN", std::strlen(name)) == 0) {
    name = nullptr;
  }
  return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

// A path, a library's file name, or the suffix of libnccl-profiler-<suffix>.so.
void* openLibrary(const char* name) {
  if (!name || !*name) {
    return tryOpen("libnccl-profiler.so");
  }
  if (void* const library = tryOpen(name)) {
    return library;
  }
  const size_t length = std::strlen(name);
  const bool library_name =
      std::strncmp(name, "lib", 3) == 0 && length >= 3 && std::strcmp(name + length - 3, ".so") == 0;
  if (std::strchr(name, '/') || library_name) {
    return nullptr;
  }
  return tryOpen(("libnccl-profiler-" + std::string(name) + ".so").c_str());
}

bool wantsInfo() {
  const char* const level = std::getenv("NCCL_DEBUG");
  return level && (strcasecmp(level, "INFO") == 0 || strcasecmp(level, "TRACE") == 0);
}

// Takes a use of the plugin, loading it if need be. The lock is held.
ProfilerPlugin* acquire(Loaded& state) {
  if (state.failed) {
    return nullptr;
  }
  if (!state.plugin) {
    const char* const name = std::getenv("NCCL_PROFILER_PLUGIN");
    state.library = name && strcasecmp(name, "none") == 0 ? nullptr : openLibrary(name);
    if (state.library) {
      state.plugin = bindProfiler(state.library);
      if (!state.plugin) {
        dlclose(state.library);
        state.library = nullptr;
      }
    } else if (name && wantsInfo()) {
      const char* const why = dlerror();
      std::fprintf(stderr, "NCCL INFO PROFILER/Plugin: %s: %s\n", name, why ? why : "not loaded");
    }
    if (!state.plugin) {
      state.failed = true;
      return nullptr;
    }
  }
  ++state.users;
  return state.plugin.get();
}

}  // namespace

Profiler::Profiler(uint64_t comm_id, const char* comm_name, int ranks, int rank) {
  Loaded& state = loaded();
  {
    const std::lock_guard lock(state.mutex);
    m_plugin = acquire(state);
  }
  // As NCCL does, a plugin whose init fails stays loaded and is called with whatever context it left.
  if (m_plugin && m_plugin->init(&m_context, comm_id, &state.mask, comm_name, 1, ranks, rank) != 0 && wantsInfo()) {
    std::fprintf(stderr, "NCCL INFO Profiler init failed. Continue without profiler.\n");
  }
}

Profiler::~Profiler() {
  if (!m_plugin) {
    return;
  }
  if (m_context) {
    m_plugin->finalize(m_context);
  }
  Loaded& state = loaded();
  const std::lock_guard lock(state.mutex);
  if (--state.users == 0) {
    state.plugin.reset();
    dlclose(state.library);
    state.library = nullptr;
  }
}

void* Profiler::start(abi::v5::Descr& descr) const {
  void* handle = nullptr;
  if (m_plugin) {
    m_plugin->start(m_context, &handle, &descr);
  }
  return handle;
}

void Profiler::stop(void* handle) const {
  if (m_plugin && handle) {
    m_plugin->stop(handle);
  }
}

void Profiler::record(void* handle, abi::State state, abi::v5::StateArgs* args) const {
  if (m_plugin && handle) {
    m_plugin->record(handle, state, args);
  }
}

int Profiler::mask() { return __atomic_load_n(&loaded().mask, __ATOMIC_RELAXED); }

}  // namespace softnccl
