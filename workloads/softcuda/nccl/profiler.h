// SPDX-License-Identifier: Apache-2.0
// NCCL's profiler plugin, loaded and driven as NCCL 2.28 does it: which library, which version, which events in which
// order on which thread, with which parents. Everything here takes and passes on version 5; older plugins get their own
// layout.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "plugins/nccl/nccl_profiler_abi.h"

namespace softnccl {

namespace abi = plumb::nccl_profiler;

// A loaded plugin; its functions as version 5 sees them. Handles may be null: such events are not stopped.
class ProfilerPlugin {
 public:
  virtual ~ProfilerPlugin() = default;
  virtual int init(void** context, uint64_t comm_id, int* mask, const char* name, int nodes, int ranks, int rank) = 0;
  virtual void start(void* context, void** handle, abi::v5::Descr* descr) = 0;
  virtual void stop(void* handle) = 0;
  virtual void record(void* handle, abi::State state, abi::v5::StateArgs* args) = 0;
  virtual void finalize(void* context) = 0;
};

// The newest version that the library exports; nullptr: none.
std::unique_ptr<ProfilerPlugin> bindProfiler(void* library);

// One communicator's use of the process's plugin: loads it with the first communicator, closes it with the last.
class Profiler {
 public:
  Profiler(uint64_t comm_id, const char* comm_name, int ranks, int rank);
  ~Profiler();
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  void* start(abi::v5::Descr& descr) const;  // the event's handle
  void stop(void* handle) const;
  void record(void* handle, abi::State state, abi::v5::StateArgs* args) const;
  bool active() const { return m_plugin != nullptr; }

  // The process-wide activation mask; 0 without a plugin. A plugin may change it at any time.
  static int mask();

 private:
  ProfilerPlugin* m_plugin = nullptr;
  void* m_context = nullptr;
};

}  // namespace softnccl
