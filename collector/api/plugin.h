/* SPDX-License-Identifier: Apache-2.0
 *
 * The plugin contract (plugins/README.md explains it). A plugin is a shared object in lib/plumb/plugins that exports ONE
 * symbol, plumbPlugin. The agent loads it inside the target process, so every function here must be a polite guest:
 * no exception, no exit, no output, no CUDA call of its own; on a hot path no allocation, lock or I/O.
 *
 * Structs grow at their end only. size_bytes comes first; whoever reads a struct reads no further than that.
 */
#ifndef PLUMB_PLUGIN_H
#define PLUMB_PLUGIN_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PLUMB_PLUGIN_ABI 1u

/* What the agent offers. Valid from start() to the end of the process. Every function may be called from any thread. */
typedef struct PlumbHost {
  uint32_t size_bytes;
  uint32_t abi;

  /* Publishes a record (records.h) in the calling thread's ring. Returns 1, or 0 when it was dropped (ring full, process
   * forked, recorder gone); drops are counted by the agent. Never blocks, never allocates after a thread's first call. */
  int (*write)(const void* record);

  /* As write, but waits up to wait_ns for room. Only for threads that are not the target's own (CUPTI's worker). */
  int (*write_patiently)(const void* record, int64_t wait_ns);

  /* The StringId of a text, published on first sight. length_bytes SIZE_MAX: up to the terminating zero. Longer texts than
   * kMaxTextBytes are cut. NULL or empty: 0. */
  uint64_t (*intern)(const char* text, size_t length_bytes);

  /* The operating system's id of the calling thread; cached. */
  uint32_t (*thread_id)(void);

  /* A number that is new in this process, from 1: external ids, event ids. */
  uint64_t (*next_id)(void);

  /* A diagnostic row. lane, code: literals. severity: plumb::Severity. Not for hot paths: report once, with a count. */
  void (*diagnose)(uint32_t severity, const char* lane, const char* code, uint64_t count, const char* message);

  /* A setting (collector/agent/config.h lists them), or NULL. */
  const char* (*setting)(const char* name);

  /* Correlation service: work launched by this thread between push and pop is linked to external_id. The plugin that
   * speaks to CUPTI provides it; without one both do nothing. */
  void (*provide_correlation)(void (*push)(uint64_t external_id), void (*pop)(void));
  void (*push_correlation)(uint64_t external_id);
  void (*pop_correlation)(void);

  /* The target's own definition of an interposed function (collector/api/interposed.def), NULL if the library is not
   * loaded. */
  void* (*real_function)(const char* name);

  /* Starts a thread of the agent that calls tick(context) every period_ms until the process ends, and once with
   * at_exit = 1 when it ends normally. All plugins share one thread, with all signals blocked. */
  void (*every)(uint32_t period_ms, void (*tick)(void* context, int at_exit), void* context);
} PlumbHost;

typedef struct PlumbPlugin {
  uint32_t size_bytes;
  uint32_t abi;
  const char* name;    /* the lane: "cupti", "nvtx" ... */
  const char* version;

  /* Called once, on a thread of the target, before any other function here. Returns 1, or 0 after a diagnostic: the lane
   * stays off and the plugin is not called again. Must come back in milliseconds. */
  int (*start)(const PlumbHost* host);

  /* Each may be NULL. */

  /* The driver called InitializeInjection, or a CUDA library was found loaded: bind to CUPTI now. Called at most once
   * with success; returns 1 when bound. */
  int (*on_cuda)(void);

  /* NVTX, once per shared object that uses it: the argument is that object's NvtxGetExportTableFunc_t / its
   * nvtxExtModuleInfo_t. Returns 1 if the plugin attached. */
  int (*on_nvtx)(void* get_export_table);
  int (*on_nvtx_extension)(void* module_info);

  /* NCCL's profiler: the address of a ncclProfiler_v<version>_t that stays valid for ever, or NULL. */
  const void* (*nccl_profiler)(int version);

  /* The replacement of an interposed function, or NULL to leave it alone. */
  void* (*interpose)(const char* name);

  /* After fork, in the child: forget everything, touch nothing of the parent's. */
  void (*on_fork_child)(void);
} PlumbPlugin;

/* The one symbol: returns a struct that stays valid, or NULL if host_abi is not one that the plugin speaks. */
typedef const PlumbPlugin* (*PlumbPluginEntry)(uint32_t host_abi);

#ifdef __cplusplus
}
#endif
#endif
