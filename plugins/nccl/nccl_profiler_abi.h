// SPDX-License-Identifier: Apache-2.0
// The binary interface between NCCL (2.23 and later) and a profiler plugin, versions 1 to 5: plain structs, LP64,
// natural alignment. NCCL looks for the data symbols ncclProfiler_v5 … ncclProfiler_v1 and takes the newest that it
// knows. Every string is borrowed: it is valid during the call only. Functions return ncclResult_t (0 = success).
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace plumb::nccl_profiler {

// Event types: the bits of the activation mask and the value of Descr::type.
constexpr uint64_t kGroup = 1 << 0;
constexpr uint64_t kColl = 1 << 1;
constexpr uint64_t kP2p = 1 << 2;
constexpr uint64_t kProxyOp = 1 << 3;
constexpr uint64_t kProxyStep = 1 << 4;
constexpr uint64_t kProxyCtrl = 1 << 5;
constexpr uint64_t kKernelCh = 1 << 6;   // from v3
constexpr uint64_t kNetPlugin = 1 << 7;  // from v3
constexpr uint64_t kGroupApi = 1 << 8;   // from v5, as the three below
constexpr uint64_t kCollApi = 1 << 9;
constexpr uint64_t kP2pApi = 1 << 10;
constexpr uint64_t kKernelLaunch = 1 << 11;

// States passed to recordEventState.
enum State : int {
  kProxyOpSendPosted = 0,  // 0 to 7: until v3
  kProxyOpSendRemFifoWait = 1,
  kProxyOpSendTransmitted = 2,
  kProxyOpSendDone = 3,
  kProxyOpRecvPosted = 4,
  kProxyOpRecvReceived = 5,
  kProxyOpRecvTransmitted = 6,
  kProxyOpRecvDone = 7,
  kProxyStepSendGpuWait = 8,
  kProxyStepSendWait = 9,
  kProxyStepRecvWait = 10,
  kProxyStepRecvFlushWait = 11,
  kProxyStepRecvGpuWait = 12,
  kProxyCtrlIdle = 13,
  kProxyCtrlActive = 14,
  kProxyCtrlSleep = 15,
  kProxyCtrlWakeup = 16,
  kProxyCtrlAppend = 17,
  kProxyCtrlAppendEnd = 18,
  kProxyOpInProgress = 19,  // from v4
  kProxyStepSendPeerWait = 20,
  kNetPluginUpdate = 21,
  kKernelChStop = 22,
  kGroupStartApiStop = 23,  // on a GroupApi event; its arguments are NULL
  kGroupEndApiStart = 24,   // on a GroupApi event; its arguments are NULL
};

using Logger = void (*)(int level, unsigned long flags, const char* file, int line, const char* format, ...);

// Members that did not change.
struct ProxyOp {
  pid_t pid;  // the process whose event parentObj is; only there may it be dereferenced
  uint8_t channelId;
  int peer;
  int nSteps;
  int chunkSize;
  int isSend;
};
struct ProxyStep {
  int step;
};
struct NetPlugin {
  int64_t id;
  void* data;
};

namespace v1 {
struct Coll {
  const char* name;
  uint64_t commHash;
  uint64_t seqNumber;
  uint8_t func;  // Func
  const void* sendBuff;
  void* recvBuff;
  size_t count;
  int root;
  uint8_t datatype;  // ncclDataType_t
  uint32_t op;
  size_t trafficBytes;
  uint8_t nMaxChannels;
  uint8_t nWarps;
  uint8_t algo;   // Algorithm
  uint8_t proto;  // Protocol
  int isCollnet;
  int isNvls;
};
struct P2p {
  const char* name;
  uint64_t commHash;
  uint8_t func;  // Func
  void* buff;
  uint8_t datatype;
  size_t count;
  int peer;
};
// The numbers behind v1's func, algo and proto; later versions pass the names.
enum Func : uint8_t {
  kBroadcast = 0,
  kReduce = 1,
  kAllGather = 2,
  kReduceScatter = 3,
  kAllReduce = 4,
  kSendRecv = 5,
  kSend = 6,
  kRecv = 7,
};
enum Algorithm : uint8_t {
  kTree = 0,
  kRing = 1,
  kCollNetDirect = 2,
  kCollNetChain = 3,
  kNvls = 4,
  kNvlsTree = 5,
  kPat = 6
};
enum Protocol : uint8_t { kLl = 0, kLl128 = 1, kSimple = 2 };

struct Descr {
  uint8_t type;
  void* parentObj;
  int rank;
  union {
    Coll coll;
    P2p p2p;
    ProxyOp proxyOp;
    ProxyStep proxyStep;
  };
};
union StateArgs {
  struct {
    size_t transSize;
    int steps;
  } proxyOp;
  struct {
    int appendedProxyOps;
  } proxyCtrl;
};
struct Profiler {
  const char* name;
  int (*init)(void** context, int* activationMask);
  int (*startEvent)(void* context, void** handle, Descr* descr);
  int (*stopEvent)(void* handle);
  int (*recordEventState)(void* handle, State state, StateArgs* args);
  int (*finalize)(void* context);
};
}  // namespace v1

namespace v2 {
struct Coll {
  const char* name;
  uint64_t commHash;
  uint64_t seqNumber;
  const char* func;
  const void* sendBuff;
  void* recvBuff;
  size_t count;
  int root;
  const char* datatype;
  size_t trafficBytes;
  uint8_t nMaxChannels;
  uint8_t nWarps;
  const char* algo;
  const char* proto;
};
struct P2p {
  const char* name;
  uint64_t commHash;
  const char* func;
  void* buff;
  const char* datatype;
  size_t count;
  int peer;
};
struct Descr {
  uint8_t type;
  void* parentObj;
  int rank;
  union {
    Coll coll;
    P2p p2p;
    ProxyOp proxyOp;
    ProxyStep proxyStep;
  };
};
using StateArgs = v1::StateArgs;
struct Profiler {
  const char* name;
  int (*init)(void** context, int* activationMask);
  int (*startEvent)(void* context, void** handle, Descr* descr);
  int (*stopEvent)(void* handle);
  int (*recordEventState)(void* handle, State state, StateArgs* args);
  int (*finalize)(void* context);
};
}  // namespace v2

namespace v3 {
struct Coll {
  const char* name;
  uint64_t commHash;
  uint64_t seqNumber;
  const char* func;
  const void* sendBuff;
  void* recvBuff;
  size_t count;
  int root;
  const char* datatype;
  uint8_t nMaxChannels;
  uint8_t nWarps;
  const char* algo;
  const char* proto;
};
using P2p = v2::P2p;
struct KernelCh {
  uint8_t channelId;
};
struct Descr {
  uint8_t type;
  void* parentObj;
  int rank;
  union {
    Coll coll;
    P2p p2p;
    ProxyOp proxyOp;
    ProxyStep proxyStep;
    KernelCh kernelCh;
    NetPlugin netPlugin;
  };
};
using StateArgs = v1::StateArgs;
struct Profiler {
  const char* name;
  int (*init)(void** context, int* activationMask);
  int (*startEvent)(void* context, void** handle, Descr* descr);
  int (*stopEvent)(void* handle);
  int (*recordEventState)(void* handle, State state, StateArgs* args);
  int (*finalize)(void* context);
};
}  // namespace v3

namespace v4 {
struct Coll {
  uint64_t seqNumber;
  const char* func;
  const void* sendBuff;
  void* recvBuff;
  size_t count;
  int root;
  const char* datatype;
  uint8_t nChannels;
  uint8_t nWarps;
  const char* algo;
  const char* proto;
};
struct P2p {
  const char* func;
  void* buff;
  const char* datatype;
  size_t count;
  int peer;
  uint8_t nChannels;
};
struct KernelCh {
  uint8_t channelId;
  uint64_t pTimer;  // the device's global timer at the start, nanoseconds
};
struct Descr {
  uint8_t type;
  void* parentObj;
  int rank;
  union {
    Coll coll;
    P2p p2p;
    ProxyOp proxyOp;
    ProxyStep proxyStep;
    KernelCh kernelCh;
    NetPlugin netPlugin;
  };
};
union StateArgs {
  struct {
    size_t transSize;
  } proxyStep;
  struct {
    int appendedProxyOps;
  } proxyCtrl;
  struct {
    void* data;
  } netPlugin;
  struct {
    uint64_t pTimer;
  } kernelCh;
};
struct Profiler {
  const char* name;
  int (*init)(void** context, int* activationMask, const char* commName, uint64_t commHash, int nNodes, int nRanks,
              int rank, Logger logger);
  int (*startEvent)(void* context, void** handle, Descr* descr);
  int (*stopEvent)(void* handle);
  int (*recordEventState)(void* handle, State state, StateArgs* args);
  int (*finalize)(void* context);
};
}  // namespace v4

namespace v5 {
struct GroupApi {
  bool graphCaptured;
  int groupDepth;
};
struct CollApi {
  const char* func;
  size_t count;  // elements, as the caller passed it
  const char* datatype;
  int root;
  void* stream;  // cudaStream_t
  bool graphCaptured;
};
struct P2pApi {
  const char* func;
  size_t count;
  const char* datatype;
  void* stream;
  bool graphCaptured;
};
struct KernelLaunch {
  void* stream;
};
struct Coll {
  uint64_t seqNumber;
  const char* func;
  const void* sendBuff;
  void* recvBuff;
  size_t count;  // AllGather and Broadcast: bytes, with datatype ncclInt8
  int root;
  const char* datatype;
  uint8_t nChannels;
  uint8_t nWarps;
  const char* algo;
  const char* proto;
  void* parentGroup;
};
struct P2p {
  const char* func;
  void* buff;
  const char* datatype;
  size_t count;
  int peer;
  uint8_t nChannels;
  void* parentGroup;
};
using KernelCh = v4::KernelCh;
struct Descr {
  uint64_t type;
  void* parentObj;
  int rank;
  union {
    GroupApi groupApi;
    CollApi collApi;
    P2pApi p2pApi;
    KernelLaunch kernelLaunch;
    Coll coll;
    P2p p2p;
    ProxyOp proxyOp;
    ProxyStep proxyStep;
    KernelCh kernelCh;
    NetPlugin netPlugin;
  };
};
using StateArgs = v4::StateArgs;
struct Profiler {
  const char* name;
  int (*init)(void** context, uint64_t commId, int* activationMask, const char* commName, int nNodes, int nRanks,
              int rank, Logger logger);
  int (*startEvent)(void* context, void** handle, Descr* descr);
  int (*stopEvent)(void* handle);
  int (*recordEventState)(void* handle, State state, StateArgs* args);
  int (*finalize)(void* context);
};
}  // namespace v5

// Sizes that NCCL 2.28.9 compiles to.
static_assert(sizeof(v1::Descr) == 120 && sizeof(v2::Descr) == 128 && sizeof(v3::Descr) == 120);
static_assert(sizeof(v4::Descr) == 104 && sizeof(v5::Descr) == 112);

}  // namespace plumb::nccl_profiler
