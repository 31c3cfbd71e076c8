// SPDX-License-Identifier: Apache-2.0
// The agent's whole dealing with the environment: no other file reads or changes it.
//
// Read:   PLUMB_SESSION_DIR   the session to join; set by plumb record, else by the first process that preloads us
//         PLUMB_ROOT_PID      preload alone: that first process; the session's recorder ends after it
//         PLUMB_ROOT_OUTPUT   preload alone: the session's file, absolute
//         PLUMB_OUTPUT        preload alone: the file that the user wants
//         PLUMB_RECORDER      the recorder program, instead of ../bin/plumb-recorder beside the library
//         PLUMB_PLUGIN_DIR    instead of plumb/plugins beside the library
//         PLUMB_PLUGINS       which plugins to load: "cupti,nvtx", or all but some: "-memory,-cublas"
//         PLUMB_RING_BYTES, PLUMB_RING_COUNT   size (a power of two) and number of the rings
//         PLUMB_EXIT_WAIT_MS  how long a normal exit waits at most for the last events, 2000
//         PLUMB_OFF           not empty: stay inert
//         PLUMB_<NAME>        settings of plugins, see setting()
//         RANK … (kVariables) what explains a run and is recorded by name
// Set, by a preloaded library and unless the user has set them: NVTX_INJECTION64_PATH, CUDA_INJECTION64_PATH,
// NCCL_PROFILER_PLUGIN, PLUMB_SESSION_DIR, PLUMB_ROOT_PID, PLUMB_ROOT_OUTPUT.
#pragma once
#include <linux/limits.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "collector/transport/segment.h"

namespace plumb::agent {

// What is fixed when the library is loaded.
struct Startup {
  char library[PATH_MAX];           // our own path
  char sessionDirectory[PATH_MAX];  // empty: none could be named
  char output[PATH_MAX];            // what a recorder that we start writes; absolute
  pid_t rootPid = 0;                // 0: a launcher has started the recorder
  bool off = false;
  bool cudaInjectionOurs = false;     // the driver will call us
  bool foreignCudaInjection = false;  // CUDA_INJECTION64_PATH is set to something else
  bool foreignNvtxInjection = false;
  bool foreignNcclProfiler = false;
};

// Called once, by the library's constructor: before main when preloaded, in the middle of things otherwise. Starts
// nothing, prints nothing, makes no file, does not use the heap.
void loadStartup() noexcept;
[[nodiscard]] const Startup& startup() noexcept;

// Called at attach: keeps a copy of the PLUMB_ variables. Afterwards setting() may be used from any thread.
void loadSettings() noexcept;
// The value of PLUMB_<NAME>, NAME being name in capitals with '_' for everything but letters and digits; null: not set.
[[nodiscard]] const char* setting(const char* name) noexcept;
[[nodiscard]] int64_t integerSetting(const char* name, int64_t fallback) noexcept;
[[nodiscard]] transport::SegmentLayout segmentLayout() noexcept;
// May the plugin be loaded? (PLUMB_PLUGINS)
[[nodiscard]] bool pluginWanted(std::string_view name) noexcept;

struct RankFacts {
  int32_t rank;
  int32_t localRank;
  int32_t worldSize;
};
[[nodiscard]] RankFacts rankFacts() noexcept;

// Calls visit(name, value) for each recorded variable that is set.
void forEachRecordedVariable(void (*visit)(void* context, std::string_view name, std::string_view value),
                             void* context) noexcept;

// The path of what lies at relative from the library's folder; false if it does not fit.
[[nodiscard]] bool besideLibrary(const char* relative, char* buffer, size_t bufferBytes) noexcept;

// The environment of a recorder: the few variables that it reads. An array that ends with null; valid until the next
// call.
[[nodiscard]] char** recorderEnvironment() noexcept;

}  // namespace plumb::agent
