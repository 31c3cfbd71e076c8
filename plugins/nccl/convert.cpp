// SPDX-License-Identifier: Apache-2.0
#include "plugins/nccl/convert.h"

#include <cstring>

namespace plumb::nccl {
namespace {

// v1 passes numbers where later versions pass the names.
const char* functionName(uint8_t function) noexcept {
  constexpr const char* kNames[] = {"Broadcast", "Reduce",   "AllGather", "ReduceScatter",
                                    "AllReduce", "SendRecv", "Send",      "Recv"};
  return function < sizeof kNames / sizeof *kNames ? kNames[function] : "unknown";
}

const char* datatypeName(uint8_t datatype) noexcept {
  constexpr const char* kNames[] = {"ncclInt8",    "ncclUint8",    "ncclInt32",      "ncclUint32",
                                    "ncclInt64",   "ncclUint64",   "ncclFloat16",    "ncclFloat32",
                                    "ncclFloat64", "ncclBfloat16", "ncclFloat8e4m3", "ncclFloat8e5m2"};
  return datatype < sizeof kNames / sizeof *kNames ? kNames[datatype] : "unknown";
}

const char* algorithmName(uint8_t algorithm) noexcept {
  constexpr const char* kNames[] = {"TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"};
  return algorithm < sizeof kNames / sizeof *kNames ? kNames[algorithm] : "unknown";
}

const char* protocolName(uint8_t protocol) noexcept {
  constexpr const char* kNames[] = {"LL", "LL128", "SIMPLE"};
  return protocol < sizeof kNames / sizeof *kNames ? kNames[protocol] : "unknown";
}

template <class Coll>
TaskArguments named(const Coll& in, uint32_t channels) noexcept {
  TaskArguments out{};
  out.operation = in.func;
  out.datatype = in.datatype;
  out.algorithm = in.algo;
  out.protocol = in.proto;
  out.count = in.count;
  out.sequence = static_cast<int64_t>(in.seqNumber);
  out.root = hasRoot(in.func) ? in.root : -1;
  out.peer = -1;
  out.channels = channels;
  return out;
}

template <class P2p>
TaskArguments namedP2p(const P2p& in, uint32_t channels) noexcept {
  TaskArguments out{};
  out.operation = in.func;
  out.datatype = in.datatype;
  out.count = in.count;
  out.sequence = -1;
  out.root = -1;
  out.peer = in.peer;
  out.channels = channels;
  return out;
}

}  // namespace

bool hasRoot(const char* operation) noexcept {
  if (!operation) {
    return false;
  }
  for (const char* name : {"Broadcast", "Reduce", "Gather", "Scatter"}) {
    if (strcmp(operation, name) == 0) {
      return true;
    }
  }
  return false;
}

ApiArguments convertCollApi(const abi::v5::CollApi& in) noexcept {
  return {in.func, in.datatype, in.count, reinterpret_cast<uint64_t>(in.stream), hasRoot(in.func) ? in.root : -1};
}

ApiArguments convertP2pApi(const abi::v5::P2pApi& in) noexcept {
  return {in.func, in.datatype, in.count, reinterpret_cast<uint64_t>(in.stream), -1};
}

TaskArguments convertColl(const abi::v1::Coll& in) noexcept {
  TaskArguments out{};
  out.operation = functionName(in.func);
  out.datatype = datatypeName(in.datatype);
  out.algorithm = algorithmName(in.algo);
  out.protocol = protocolName(in.proto);
  out.count = in.count;
  out.communicatorHash = in.commHash;
  out.communicatorName = in.name;
  out.sequence = static_cast<int64_t>(in.seqNumber);
  out.root = hasRoot(out.operation) ? in.root : -1;
  out.peer = -1;
  out.channels = in.nMaxChannels;
  return out;
}

TaskArguments convertColl(const abi::v2::Coll& in) noexcept {
  TaskArguments out = named(in, in.nMaxChannels);
  out.communicatorHash = in.commHash;
  out.communicatorName = in.name;
  return out;
}

TaskArguments convertColl(const abi::v3::Coll& in) noexcept {
  TaskArguments out = named(in, in.nMaxChannels);
  out.communicatorHash = in.commHash;
  out.communicatorName = in.name;
  return out;
}

TaskArguments convertColl(const abi::v4::Coll& in) noexcept { return named(in, in.nChannels); }
TaskArguments convertColl(const abi::v5::Coll& in) noexcept { return named(in, in.nChannels); }

TaskArguments convertP2p(const abi::v1::P2p& in) noexcept {
  TaskArguments out{};
  out.operation = functionName(in.func);
  out.datatype = datatypeName(in.datatype);
  out.count = in.count;
  out.communicatorHash = in.commHash;
  out.communicatorName = in.name;
  out.sequence = -1;
  out.root = -1;
  out.peer = in.peer;
  return out;
}

TaskArguments convertP2p(const abi::v2::P2p& in) noexcept {
  TaskArguments out = namedP2p(in, 0);
  out.communicatorHash = in.commHash;
  out.communicatorName = in.name;
  return out;
}

TaskArguments convertP2p(const abi::v4::P2p& in) noexcept { return namedP2p(in, in.nChannels); }
TaskArguments convertP2p(const abi::v5::P2p& in) noexcept { return namedP2p(in, in.nChannels); }

CommunicatorRecord makeCommunicator(uint32_t tid, uint64_t hash, StringId name, int nRanks, int rank,
                                    int nNodes) noexcept {
  CommunicatorRecord out{};
  out.header = makeHeader<CommunicatorRecord>(RecordKind::kCommunicator, tid);
  out.hash = hash;
  out.name = name;
  out.n_ranks = nRanks;
  out.rank = rank;
  out.n_nodes = nNodes;
  return out;
}

CollectiveRecord makeCollective(const Event& event, uint64_t communicatorHash, int64_t endNs) noexcept {
  CollectiveRecord out{};
  out.header = makeHeader<CollectiveRecord>(RecordKind::kCollective, event.tid.load(std::memory_order_relaxed));
  out.start_ns = event.startNs.load(std::memory_order_relaxed);
  out.end_ns = endNs;
  out.event_id = event.eventId.load(std::memory_order_relaxed);
  out.communicator_hash = communicatorHash;
  out.operation = event.operation.load(std::memory_order_relaxed);
  out.datatype = event.datatype.load(std::memory_order_relaxed);
  out.element_count = event.count.load(std::memory_order_relaxed);
  out.stream_handle = event.stream.load(std::memory_order_relaxed);
  out.root = event.root.load(std::memory_order_relaxed);
  out.peer = event.peer.load(std::memory_order_relaxed);
  return out;
}

}  // namespace plumb::nccl
