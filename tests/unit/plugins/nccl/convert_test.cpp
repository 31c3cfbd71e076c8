// SPDX-License-Identifier: Apache-2.0
#include "plugins/nccl/convert.h"

#include <gtest/gtest.h>

namespace plumb::nccl {
namespace {

TEST(ConvertCollApi, OnlyRootedOperationsHaveARoot) {
  int stream = 0;
  abi::v5::CollApi in{"AllGather", 1024, "ncclBfloat16", 0, &stream, false};
  ApiArguments out = convertCollApi(in);
  EXPECT_STREQ(out.operation, "AllGather");
  EXPECT_STREQ(out.datatype, "ncclBfloat16");
  EXPECT_EQ(out.count, 1024u);
  EXPECT_EQ(out.stream, reinterpret_cast<uint64_t>(&stream));
  EXPECT_EQ(out.root, -1);
  in.func = "Broadcast";
  in.root = 3;
  EXPECT_EQ(convertCollApi(in).root, 3);
  in.func = nullptr;
  EXPECT_EQ(convertCollApi(in).root, -1);
}

TEST(ConvertColl, VersionOneHasNumbersForNames) {
  abi::v1::Coll in{};
  in.func = abi::v1::kReduceScatter;
  in.datatype = 7;
  in.algo = abi::v1::kRing;
  in.proto = abi::v1::kLl128;
  in.count = 5;
  in.seqNumber = 9;
  in.commHash = 0xABC;
  in.name = "world";
  in.nMaxChannels = 4;
  const TaskArguments out = convertColl(in);
  EXPECT_STREQ(out.operation, "ReduceScatter");
  EXPECT_STREQ(out.datatype, "ncclFloat32");
  EXPECT_STREQ(out.algorithm, "RING");
  EXPECT_STREQ(out.protocol, "LL128");
  EXPECT_EQ(out.count, 5u);
  EXPECT_EQ(out.sequence, 9);
  EXPECT_EQ(out.communicatorHash, 0xABCu);
  EXPECT_STREQ(out.communicatorName, "world");
  EXPECT_EQ(out.channels, 4u);
  in.func = 200;
  in.datatype = 200;
  in.algo = 200;
  in.proto = 200;
  const TaskArguments unknown = convertColl(in);
  EXPECT_STREQ(unknown.operation, "unknown");
  EXPECT_STREQ(unknown.datatype, "unknown");
  EXPECT_STREQ(unknown.algorithm, "unknown");
  EXPECT_STREQ(unknown.protocol, "unknown");
}

TEST(ConvertColl, LaterVersions) {
  abi::v5::Coll in{};
  in.func = "Reduce";
  in.datatype = "ncclFloat16";
  in.algo = "TREE";
  in.proto = "SIMPLE";
  in.root = 2;
  in.seqNumber = 11;
  in.nChannels = 8;
  const TaskArguments out = convertColl(in);
  EXPECT_STREQ(out.operation, "Reduce");
  EXPECT_EQ(out.root, 2);
  EXPECT_EQ(out.sequence, 11);
  EXPECT_EQ(out.channels, 8u);
  EXPECT_EQ(out.communicatorHash, 0u);
  EXPECT_EQ(out.peer, -1);
}

TEST(ConvertP2p, HasAPeerAndNoSequence) {
  abi::v5::P2p in{};
  in.func = "Send";
  in.datatype = "ncclFloat32";
  in.count = 3;
  in.peer = 1;
  in.nChannels = 2;
  const TaskArguments out = convertP2p(in);
  EXPECT_STREQ(out.operation, "Send");
  EXPECT_EQ(out.peer, 1);
  EXPECT_EQ(out.sequence, -1);
  EXPECT_EQ(out.root, -1);
  EXPECT_EQ(out.algorithm, nullptr);
  EXPECT_EQ(out.channels, 2u);
}

}  // namespace
}  // namespace plumb::nccl
