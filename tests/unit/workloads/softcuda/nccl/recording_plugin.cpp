// SPDX-License-Identifier: Apache-2.0
// A profiler plugin that writes what it is told as lines of text into the file SOFTNCCL_TEST_LOG-<rank or pid>. VERSION
// says which version of the interface it exports; SOFTNCCL_TEST_MASK is its activation mask. Handles are numbers,
// counted from 1.
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>

#include "plugins/nccl/nccl_profiler_abi.h"

namespace {

namespace abi = plumb::nccl_profiler;
#if VERSION == 5
namespace version = abi::v5;
#elif VERSION == 4
namespace version = abi::v4;
#elif VERSION == 3
namespace version = abi::v3;
#else
namespace version = abi::v1;
#endif

std::mutex g_mutex;
long g_handles = 0;
long g_init_thread = 0;

void say(const std::string& line) {
  const std::lock_guard lock(g_mutex);
  if (std::FILE* const file =
          std::fopen((std::string(std::getenv("SOFTNCCL_TEST_LOG")) + "-" + std::to_string(getpid())).c_str(), "a")) {
    const char* const thread = syscall(SYS_gettid) == g_init_thread || g_init_thread == 0 ? "" : " (other thread)";
    std::fprintf(file, "%s%s\n", line.c_str(), thread);
    std::fclose(file);
  }
}

std::string number(const void* handle) { return std::to_string(reinterpret_cast<long>(handle)); }

std::string describe(const version::Descr& d) {
  const std::string parent = " parent " + number(d.parentObj);
  switch (d.type) {
    case abi::kGroup:
      return "Group" + parent;
#if VERSION == 1
    case abi::kColl:
      return "Coll" + parent + " func " + std::to_string(d.coll.func) + " seq " + std::to_string(d.coll.seqNumber) +
             " count " + std::to_string(d.coll.count) + " type " + std::to_string(d.coll.datatype) + " algo " +
             std::to_string(d.coll.algo);
    case abi::kP2p:
      return "P2p" + parent + " func " + std::to_string(d.p2p.func) + " peer " + std::to_string(d.p2p.peer);
#else
    case abi::kColl:
      return "Coll" + parent + " " + d.coll.func + " seq " + std::to_string(d.coll.seqNumber) + " count " +
             std::to_string(d.coll.count) + " " + d.coll.datatype + " root " + std::to_string(d.coll.root) + " " +
             d.coll.algo + " " + d.coll.proto
#if VERSION == 5
             + " group " + number(d.coll.parentGroup)
#endif
          ;
    case abi::kP2p:
      return "P2p" + parent + " " + d.p2p.func + " count " + std::to_string(d.p2p.count) + " " + d.p2p.datatype +
             " peer " + std::to_string(d.p2p.peer)
#if VERSION == 5
             + " group " + number(d.p2p.parentGroup)
#endif
          ;
    case abi::kKernelCh:
      return "KernelCh" + parent + " channel " + std::to_string(d.kernelCh.channelId);
#endif
#if VERSION == 5
    case abi::kGroupApi:
      return "GroupApi" + parent + " depth " + std::to_string(d.groupApi.groupDepth);
    case abi::kCollApi:
      return "CollApi" + parent + " " + d.collApi.func + " count " + std::to_string(d.collApi.count) + " " +
             d.collApi.datatype + " root " + std::to_string(d.collApi.root) + (d.collApi.stream ? " stream" : "");
    case abi::kP2pApi:
      return "P2pApi" + parent + " " + d.p2pApi.func + " count " + std::to_string(d.p2pApi.count) + " " +
             d.p2pApi.datatype;
    case abi::kKernelLaunch:
      return "KernelLaunch" + parent + (d.kernelLaunch.stream ? " stream" : "");
#endif
    default:
      return "type " + std::to_string(d.type) + parent;
  }
}

int begin(void** context, int* mask, const std::string& line) {
  g_init_thread = syscall(SYS_gettid);
  say("init " + line);
  if (std::getenv("SOFTNCCL_TEST_FAIL")) {
    return 1;
  }
  *context = reinterpret_cast<void*>(1L);
  *mask = std::atoi(std::getenv("SOFTNCCL_TEST_MASK"));
  return 0;
}
#if VERSION == 5
int init(void** context, uint64_t id, int* mask, const char* name, int nodes, int ranks, int rank, abi::Logger) {
  return begin(context, mask,
               std::string(name ? name : "-") + " nodes " + std::to_string(nodes) + " ranks " + std::to_string(ranks) +
                   " rank " + std::to_string(rank) + (id ? " id" : ""));
}
#elif VERSION == 4
int init(void** context, int* mask, const char* name, uint64_t id, int nodes, int ranks, int rank, abi::Logger) {
  return begin(context, mask,
               std::string(name ? name : "-") + " nodes " + std::to_string(nodes) + " ranks " + std::to_string(ranks) +
                   " rank " + std::to_string(rank) + (id ? " id" : ""));
}
#else
int init(void** context, int* mask) { return begin(context, mask, "-"); }
#endif

int start(void*, void** handle, version::Descr* descr) {
  g_mutex.lock();
  const long own = ++g_handles;
  g_mutex.unlock();
  *handle = reinterpret_cast<void*>(own);
  say("start " + std::to_string(own) + " " + describe(*descr));
  return 0;
}
int stop(void* handle) {
  say("stop " + number(handle));
  return 0;
}
int record(void* handle, abi::State state, version::StateArgs* args) {
  say("state " + number(handle) + " " + std::to_string(state) + (args ? "" : " without arguments"));
  return 0;
}
int finalize(void*) {
  say("finalize");
  return 0;
}

struct Unloaded {
  ~Unloaded() { say("unloaded"); }
} g_unloaded;

}  // namespace

#define NAME_OF(N) ncclProfiler_v##N
#define SYMBOL(N) NAME_OF(N)
extern "C" {
extern version::Profiler SYMBOL(VERSION);
version::Profiler SYMBOL(VERSION) = {"recording", init, start, stop, record, finalize};
}
