// SPDX-License-Identifier: Apache-2.0
// NCCL's profiler plugin: the data symbols ncclProfiler_v1 to _v5, whose functions forward to the nccl plugin. All
// versions share the shape of every function but init (shared facts: NCCL 2.23 to 2.28). NCCL goes on calling after a
// failed init, so init never fails, the context is never null, and *eHandle is always written.
#include <atomic>
#include <cstdint>

#include "collector/agent/attach.h"
#include "collector/agent/plugin_host.h"

namespace {

using Result = int;  // ncclResult_t
constexpr Result kSuccess = 0;

template <class Init>
struct Profiler {
  const char* name;
  Init init;
  Result (*startEvent)(void* context, void** eventHandle, void* descriptor);
  Result (*stopEvent)(void* eventHandle);
  Result (*recordEventState)(void* eventHandle, int state, void* arguments);
  Result (*finalize)(void* context);
};

using Logger = void (*)(int, unsigned long, const char*, int, const char*, ...);
using InitV1 = Result (*)(void**, int*);
using InitV4 = Result (*)(void**, int*, const char*, uint64_t, int, int, int, Logger);
using InitV5 = Result (*)(void**, uint64_t, int*, const char*, int, int, int, Logger);

// The context of communicators that nobody records.
constinit char s_offContext = 0;

// The plugin's table of this version; null: the lane is off.
template <int Version, class Init>
const Profiler<Init>* table() noexcept {
  static constinit std::atomic<const void*> s_table{nullptr};
  const void* known = s_table.load(std::memory_order_acquire);
  if (known == nullptr && plumb::agent::ensureAttached()) {
    known = plumb::agent::plugins::ncclProfiler(Version);
    s_table.store(known, std::memory_order_release);
  }
  return static_cast<const Profiler<Init>*>(known);
}

template <class Init>
struct Arguments;

template <class... Rest>
struct Arguments<Result (*)(void**, Rest...)> {
  // Finds the activation mask among init's arguments.
  static void clearMask(Rest... rest) noexcept { (clearIfMask(rest), ...); }
  static void clearIfMask(int* mask) noexcept {
    if (mask != nullptr) {
      *mask = 0;
    }
  }
  template <class Other>
  static void clearIfMask(const Other&) noexcept {}

  template <int Version>
  static Result init(void** context, Rest... rest) noexcept {
    using Init = Result (*)(void**, Rest...);
    const Profiler<Init>* plugin = table<Version, Init>();
    *context = nullptr;
    if (plugin == nullptr || plugin->init(context, rest...) != kSuccess || *context == nullptr) {
      clearMask(rest...);
      *context = &s_offContext;
    }
    return kSuccess;
  }
};

template <int Version, class Init>
struct Thunks {
  static Result startEvent(void* context, void** eventHandle, void* descriptor) noexcept {
    *eventHandle = nullptr;
    if (context != nullptr && context != &s_offContext) {
      if (const auto* plugin = table<Version, Init>(); plugin != nullptr) {
        (void)plugin->startEvent(context, eventHandle, descriptor);
      }
    }
    return kSuccess;
  }
  static Result stopEvent(void* eventHandle) noexcept {
    if (const auto* plugin = eventHandle == nullptr ? nullptr : table<Version, Init>(); plugin != nullptr) {
      (void)plugin->stopEvent(eventHandle);
    }
    return kSuccess;
  }
  static Result recordEventState(void* eventHandle, int state, void* arguments) noexcept {
    if (const auto* plugin = eventHandle == nullptr ? nullptr : table<Version, Init>(); plugin != nullptr) {
      (void)plugin->recordEventState(eventHandle, state, arguments);
    }
    return kSuccess;
  }
  static Result finalize(void* context) noexcept {
    if (context != nullptr && context != &s_offContext) {
      if (const auto* plugin = table<Version, Init>(); plugin != nullptr) {
        (void)plugin->finalize(context);
      }
    }
    return kSuccess;
  }
  static constexpr Profiler<Init> make() noexcept {
    return {"Plumbline", Arguments<Init>::template init<Version>, startEvent, stopEvent, recordEventState, finalize};
  }
};

}  // namespace

#define PLUMB_DATA extern "C" __attribute__((visibility("default")))

PLUMB_DATA Profiler<InitV1> ncclProfiler_v1;
PLUMB_DATA Profiler<InitV1> ncclProfiler_v2;
PLUMB_DATA Profiler<InitV1> ncclProfiler_v3;
PLUMB_DATA Profiler<InitV4> ncclProfiler_v4;
PLUMB_DATA Profiler<InitV5> ncclProfiler_v5;

constinit Profiler<InitV1> ncclProfiler_v1 = Thunks<1, InitV1>::make();
constinit Profiler<InitV1> ncclProfiler_v2 = Thunks<2, InitV1>::make();
constinit Profiler<InitV1> ncclProfiler_v3 = Thunks<3, InitV1>::make();
constinit Profiler<InitV4> ncclProfiler_v4 = Thunks<4, InitV4>::make();
constinit Profiler<InitV5> ncclProfiler_v5 = Thunks<5, InitV5>::make();
