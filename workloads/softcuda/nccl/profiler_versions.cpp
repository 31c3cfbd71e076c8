// SPDX-License-Identifier: Apache-2.0
// The plugin versions behind ProfilerPlugin, each with the events and fields that NCCL 2.28 hands to it. Before version
// 5 there are no API events, a collective's parent is its group, and fields that a later version dropped are empty.
#include <dlfcn.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "workloads/softcuda/nccl/profiler.h"

namespace softnccl {
namespace {

// Prints what the plugin logs if NCCL_DEBUG asks for it.
void logMessage(int, unsigned long, const char*, int, const char* format, ...) {
  const char* const level = std::getenv("NCCL_DEBUG");
  if (!level || strcasecmp(level, "INFO") != 0) {
    return;
  }
  std::fputs("NCCL INFO ", stderr);
  std::va_list arguments;
  va_start(arguments, format);
  std::vfprintf(stderr, format, arguments);
  va_end(arguments);
  std::fputc('\n', stderr);
}

uint8_t functionNumber(const char* name) {
  static constexpr const char* kNames[] = {"Broadcast", "Reduce",   "AllGather", "ReduceScatter",
                                           "AllReduce", "SendRecv", "Send",      "Recv"};
  for (uint8_t i = 0; i < 8; ++i) {
    if (std::strcmp(name, kNames[i]) == 0) {
      return i;
    }
  }
  return abi::v1::kSend;
}

uint8_t typeNumber(const char* name) {
  static constexpr const char* kNames[] = {"ncclInt8",   "ncclUint8",   "ncclInt32",   "ncclUint32",  "ncclInt64",
                                           "ncclUint64", "ncclFloat16", "ncclFloat32", "ncclFloat64", "ncclBfloat16"};
  for (uint8_t i = 0; i < 10; ++i) {
    if (std::strcmp(name, kNames[i]) == 0) {
      return i;
    }
  }
  return 8;  // as NCCL: what it does not know is ncclFloat64
}

// What all versions share; false: the version has no such event.
template <typename Descr>
bool translateCommon(const abi::v5::Descr& from, Descr& to) {
  std::memset(&to, 0, sizeof to);
  to.type = static_cast<decltype(to.type)>(from.type);
  to.parentObj = from.parentObj;
  to.rank = from.rank;
  switch (from.type) {
    case abi::kGroup:
    case abi::kProxyCtrl:
    case abi::kColl:
    case abi::kP2p:
      return true;
    case abi::kProxyOp:
      to.proxyOp = from.proxyOp;
      return true;
    case abi::kProxyStep:
      to.proxyStep = from.proxyStep;
      return true;
    default:
      return false;
  }
}

template <typename Coll>
void translateNamed(const abi::v5::Coll& from, Coll& to) {
  to.seqNumber = from.seqNumber;
  to.func = from.func;
  to.sendBuff = from.sendBuff;
  to.recvBuff = from.recvBuff;
  to.count = from.count;
  to.root = from.root;
  to.datatype = from.datatype;
  to.nWarps = from.nWarps;
  to.algo = from.algo;
  to.proto = from.proto;
}

template <typename P2p>
void translateNamed(const abi::v5::P2p& from, P2p& to) {
  to.func = from.func;
  to.buff = from.buff;
  to.datatype = from.datatype;
  to.count = from.count;
  to.peer = from.peer;
}

bool translate(const abi::v5::Descr& from, abi::v4::Descr& to) {
  const bool common = translateCommon(from, to);
  if (from.type == abi::kColl) {
    translateNamed(from.coll, to.coll);
    to.coll.nChannels = from.coll.nChannels;
    to.parentObj = from.coll.parentGroup;
  } else if (from.type == abi::kP2p) {
    translateNamed(from.p2p, to.p2p);
    to.p2p.nChannels = from.p2p.nChannels;
    to.parentObj = from.p2p.parentGroup;
  } else if (from.type == abi::kKernelCh) {
    to.kernelCh = from.kernelCh;
    return true;
  }
  return common;
}

// Versions 2 and 3 differ in fields that NCCL 2.28 leaves empty.
template <typename Descr>
bool translateMiddle(const abi::v5::Descr& from, Descr& to) {
  const bool common = translateCommon(from, to);
  if (from.type == abi::kColl) {
    translateNamed(from.coll, to.coll);
    to.coll.nMaxChannels = from.coll.nChannels;
    to.parentObj = from.coll.parentGroup;
  } else if (from.type == abi::kP2p) {
    translateNamed(from.p2p, to.p2p);
    to.parentObj = from.p2p.parentGroup;
  }
  return common;
}

bool translate(const abi::v5::Descr& from, abi::v3::Descr& to) {
  if (translateMiddle(from, to)) {
    return true;
  }
  if (from.type == abi::kKernelCh) {
    to.kernelCh.channelId = from.kernelCh.channelId;
    return true;
  }
  return false;
}

bool translate(const abi::v5::Descr& from, abi::v2::Descr& to) { return translateMiddle(from, to); }

bool translate(const abi::v5::Descr& from, abi::v1::Descr& to) {
  const bool common = translateCommon(from, to);
  if (from.type == abi::kColl) {
    to.parentObj = from.coll.parentGroup;
    to.coll.seqNumber = from.coll.seqNumber;
    to.coll.func = functionNumber(from.coll.func);
    to.coll.sendBuff = from.coll.sendBuff;
    to.coll.recvBuff = from.coll.recvBuff;
    to.coll.count = from.coll.count;
    to.coll.root = from.coll.root;
    to.coll.datatype = typeNumber(from.coll.datatype);
    to.coll.nMaxChannels = from.coll.nChannels;
    to.coll.nWarps = from.coll.nWarps;
    to.coll.algo = abi::v1::kRing;  // the only algorithm of the software device
    to.coll.proto = std::strcmp(from.coll.proto, "LL") == 0 ? abi::v1::kLl : abi::v1::kSimple;
  } else if (from.type == abi::kP2p) {
    to.parentObj = from.p2p.parentGroup;
    to.p2p.func = functionNumber(from.p2p.func);
    to.p2p.buff = from.p2p.buff;
    to.p2p.datatype = typeNumber(from.p2p.datatype);
    to.p2p.count = from.p2p.count;
    to.p2p.peer = from.p2p.peer;
  }
  return common;
}

class Version5 final : public ProfilerPlugin {
 public:
  explicit Version5(abi::v5::Profiler* table) : m_table(table) {}
  int init(void** context, uint64_t comm_id, int* mask, const char* name, int nodes, int ranks, int rank) override {
    return m_table->init(context, comm_id, mask, name, nodes, ranks, rank, logMessage);
  }
  void start(void* context, void** handle, abi::v5::Descr* descr) override {
    m_table->startEvent(context, handle, descr);
  }
  void stop(void* handle) override { m_table->stopEvent(handle); }
  void record(void* handle, abi::State state, abi::v5::StateArgs* args) override {
    m_table->recordEventState(handle, state, args);
  }
  void finalize(void* context) override { m_table->finalize(context); }

 private:
  abi::v5::Profiler* m_table;
};

template <typename Table, typename Descr, typename StateArgs>
class Older final : public ProfilerPlugin {
 public:
  static constexpr bool kVersion4 = std::is_same_v<Descr, abi::v4::Descr>;
  explicit Older(Table* table) : m_table(table) {}

  int init(void** context, uint64_t comm_id, int* mask, const char* name, int nodes, int ranks, int rank) override {
    int error = 0;
    if constexpr (kVersion4) {
      error = m_table->init(context, mask, name, comm_id, nodes, ranks, rank, logMessage);
    } else {
      error = m_table->init(context, mask);
    }
    m_usable = m_usable || error == 0;
    return error;
  }
  void start(void* context, void** handle, abi::v5::Descr* descr) override {
    Descr older;
    if (m_usable && translate(*descr, older)) {
      m_table->startEvent(context, handle, &older);
    }
  }
  void stop(void* handle) override { m_table->stopEvent(handle); }
  void record(void* handle, abi::State state, abi::v5::StateArgs* args) override {
    // Of the states that the software device records, only version 4 knows one.
    if constexpr (kVersion4) {
      if (state == abi::kKernelChStop) {
        m_table->recordEventState(handle, state, args);
      }
    } else {
      (void)handle, (void)state, (void)args;
    }
  }
  void finalize(void* context) override { m_table->finalize(context); }

 private:
  Table* m_table;
  bool m_usable = false;  // NCCL's own adapters have no functions before an init succeeded
};

template <typename Plugin, typename Table>
std::unique_ptr<ProfilerPlugin> bindVersion(void* library, const char* symbol) {
  void* const table = dlsym(library, symbol);
  return table ? std::make_unique<Plugin>(static_cast<Table*>(table)) : nullptr;
}

}  // namespace

std::unique_ptr<ProfilerPlugin> bindProfiler(void* library) {
  using namespace abi;
  if (auto plugin = bindVersion<Version5, v5::Profiler>(library, "ncclProfiler_v5")) return plugin;
  if (auto plugin =
          bindVersion<Older<v4::Profiler, v4::Descr, v4::StateArgs>, v4::Profiler>(library, "ncclProfiler_v4"))
    return plugin;
  if (auto plugin =
          bindVersion<Older<v3::Profiler, v3::Descr, v3::StateArgs>, v3::Profiler>(library, "ncclProfiler_v3"))
    return plugin;
  if (auto plugin =
          bindVersion<Older<v2::Profiler, v2::Descr, v2::StateArgs>, v2::Profiler>(library, "ncclProfiler_v2"))
    return plugin;
  return bindVersion<Older<v1::Profiler, v1::Descr, v1::StateArgs>, v1::Profiler>(library, "ncclProfiler_v1");
}

}  // namespace softnccl
