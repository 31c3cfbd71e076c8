// SPDX-License-Identifier: Apache-2.0
// The plugin as older versions of NCCL drive it: versions 1 to 4 of the profiler interface.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/plugins/nccl/nccl_profiler.h"

namespace plumb::nccl {
namespace {

template <class Profiler, class Descr>
void runOld(const Profiler& p, Descr descr, void* context) {
  void* handle = &descr;
  EXPECT_EQ(p.startEvent(context, &handle, &descr), 0);
  EXPECT_NE(handle, &descr);
  EXPECT_EQ(p.stopEvent(handle), 0);
  EXPECT_EQ(p.recordEventState(handle, abi::kProxyOpSendDone, nullptr), 0);
}

TEST_F(NcclProfiler, VersionOne) {
  const auto& v1 = *static_cast<const abi::v1::Profiler*>(profiler(1));
  void* context = nullptr;
  int mask = 0;
  ASSERT_EQ(v1.init(&context, &mask), 0);
  EXPECT_EQ(mask, static_cast<int>(abi::kColl | abi::kP2p));
  abi::v1::Descr descr{};
  descr.type = abi::kColl;
  descr.rank = 2;
  descr.coll.commHash = 77;
  descr.coll.name = "old";
  descr.coll.func = abi::v1::kAllReduce;
  descr.coll.datatype = 9;
  descr.coll.count = 33;
  descr.coll.seqNumber = 4;
  descr.coll.algo = abi::v1::kTree;
  runOld(v1, descr, context);
  runOld(v1, descr, context);
  const auto communicators = host.all<CommunicatorRecord>(RecordKind::kCommunicator);
  ASSERT_EQ(communicators.size(), 1u) << "described once, by its first event";
  EXPECT_EQ(communicators[0].hash, 77u);
  EXPECT_EQ(communicators[0].rank, 2);
  ASSERT_EQ(collectives().size(), 2u);
  EXPECT_EQ(host.text(collectives()[0].operation), "AllReduce");
  EXPECT_EQ(host.text(collectives()[0].datatype), "ncclBfloat16");
  EXPECT_EQ(collectives()[0].element_count, 33u);
  EXPECT_EQ(collectives()[0].communicator_hash, 77u);
  EXPECT_EQ(details().at(collectives()[0].event_id).sequence, 4);
  EXPECT_EQ(host.text(details().at(collectives()[0].event_id).algorithm), "TREE");
  EXPECT_THAT(host.diagnostic("old_interface").message, testing::HasSubstr("v1"));
  EXPECT_EQ(v1.finalize(context), 0);
}

TEST_F(NcclProfiler, VersionsTwoAndThree) {
  const auto& v2 = *static_cast<const abi::v2::Profiler*>(profiler(2));
  void* context = nullptr;
  int mask = 0;
  ASSERT_EQ(v2.init(&context, &mask), 0);
  abi::v2::Descr second{};
  second.type = abi::kP2p;
  second.p2p = {"old", 78, "Send", nullptr, "ncclFloat32", 3, 1};
  runOld(v2, second, context);
  EXPECT_EQ(v2.finalize(context), 0);
  ASSERT_EQ(collectives().size(), 1u);
  EXPECT_EQ(collectives()[0].peer, 1);
  EXPECT_EQ(host.text(collectives()[0].operation), "Send");

  const auto& v3 = *static_cast<const abi::v3::Profiler*>(profiler(3));
  ASSERT_EQ(v3.init(&context, &mask), 0);
  abi::v3::Descr third{};
  third.type = abi::kColl;
  third.coll.commHash = 79;
  third.coll.func = "AllGather";
  third.coll.datatype = "ncclInt8";
  third.coll.nMaxChannels = 6;
  runOld(v3, third, context);
  EXPECT_EQ(v3.finalize(context), 0);
  ASSERT_EQ(collectives().size(), 2u);
  EXPECT_EQ(details().at(collectives()[1].event_id).channels, 6u);
}

TEST_F(NcclProfiler, VersionFour) {
  const auto& v4 = *static_cast<const abi::v4::Profiler*>(profiler(4));
  void* context = nullptr;
  int mask = 0;
  ASSERT_EQ(v4.init(&context, &mask, "four", 44, 2, 16, 9, nullptr), 0);
  const auto communicators = host.all<CommunicatorRecord>(RecordKind::kCommunicator);
  ASSERT_EQ(communicators.size(), 1u);
  EXPECT_EQ(communicators[0].n_ranks, 16);
  abi::v4::Descr descr{};
  descr.type = abi::kColl;
  descr.coll.func = "Broadcast";
  descr.coll.root = 5;
  descr.coll.datatype = "ncclInt8";
  descr.coll.seqNumber = 6;
  runOld(v4, descr, context);
  ASSERT_EQ(collectives().size(), 1u);
  EXPECT_EQ(collectives()[0].root, 5);
  EXPECT_EQ(collectives()[0].communicator_hash, 44u);
  EXPECT_EQ(details().at(collectives()[0].event_id).external_id, 0u);
  EXPECT_EQ(v4.finalize(context), 0);
}

TEST_F(NcclProfiler, OtherVersionsAreNotSpoken) {
  EXPECT_EQ(profiler(0), nullptr);
  EXPECT_EQ(profiler(6), nullptr);
}

}  // namespace
}  // namespace plumb::nccl
