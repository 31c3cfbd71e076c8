// SPDX-License-Identifier: Apache-2.0
// The plugin as NCCL 2.28 drives it, in legal and in nasty orders, from many threads.
#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/allocation_count.h"
#include "tests/unit/plugins/nccl/nccl_profiler.h"

namespace plumb::nccl {
namespace {

// NCCL 2.28: one communicator of one rank.
class NcclV5 {
 public:
  explicit NcclV5(uint64_t id = 0xC0FFEE, const char* name = "world", int ranks = 4, int rank = 1)
      : m_profiler(*static_cast<const abi::v5::Profiler*>(profiler(5))) {
    EXPECT_EQ(m_profiler.init(&context, id, &mask, name, 1, ranks, rank, nullptr), 0);
  }

  void* groupApi() {
    abi::v5::Descr descr{};
    descr.type = abi::kGroupApi;
    descr.groupApi = {false, 0};
    return start(descr);
  }
  void* collApi(void* group, const char* operation, size_t count = 1024, const char* datatype = "ncclBfloat16") {
    abi::v5::Descr descr{};
    descr.type = abi::kCollApi;
    descr.parentObj = group;
    descr.collApi = {operation, count, datatype, 0, stream, false};
    return start(descr);
  }
  void* p2pApi(void* group, const char* operation, size_t count = 16) {
    abi::v5::Descr descr{};
    descr.type = abi::kP2pApi;
    descr.parentObj = group;
    descr.p2pApi = {operation, count, "ncclFloat32", stream, false};
    return start(descr);
  }
  void* kernelLaunch(void* group) {
    abi::v5::Descr descr{};
    descr.type = abi::kKernelLaunch;
    descr.parentObj = group;
    descr.kernelLaunch = {stream};
    return start(descr);
  }
  void* plan() {
    abi::v5::Descr descr{};
    descr.type = abi::kGroup;
    return start(descr);
  }
  void* coll(void* api, void* parentPlan, const char* operation, uint64_t sequence) {
    abi::v5::Descr descr{};
    descr.type = abi::kColl;
    descr.parentObj = api;
    descr.rank = 1;
    descr.coll = {sequence, operation, nullptr, nullptr, 2048, 0, "ncclInt8", 2, 8, "RING", "LL", parentPlan};
    return start(descr);
  }
  void* p2p(void* api, void* parentPlan, const char* operation, int peer) {
    abi::v5::Descr descr{};
    descr.type = abi::kP2p;
    descr.parentObj = api;
    descr.p2p = {operation, nullptr, "ncclFloat32", 16, peer, 3, parentPlan};
    return start(descr);
  }
  void stop(void* handle) { EXPECT_EQ(m_profiler.stopEvent(handle), 0); }
  void state(void* handle, abi::State which, abi::v5::StateArgs* args = nullptr) {
    EXPECT_EQ(m_profiler.recordEventState(handle, which, args), 0);
  }
  void finalize() { EXPECT_EQ(m_profiler.finalize(context), 0); }

  // One collective by itself, in NCCL 2.28's order.
  void collective(const char* operation, uint64_t sequence) {
    void* group = groupApi();
    void* api = collApi(group, operation);
    stop(api);
    launchPlan(group, {{api, operation, sequence}});
    stop(group);
  }
  struct Task {
    void* api;
    const char* operation;
    uint64_t sequence;
  };
  void launchPlan(void* group, const std::vector<Task>& tasks) {
    stop(kernelLaunch(group));
    enqueuePlan(tasks);
  }
  void enqueuePlan(const std::vector<Task>& tasks) {
    void* thePlan = plan();
    std::vector<void*> started;
    for (const Task& task : tasks) {
      started.push_back(coll(task.api, thePlan, task.operation, task.sequence));
    }
    for (void* handle : started) {
      stop(handle);
    }
    stop(thePlan);
  }

  void* context = nullptr;
  int mask = 0;
  void* stream = reinterpret_cast<void*>(0x5000);

 private:
  void* start(abi::v5::Descr& descr) {
    void* handle = &descr;  // must be overwritten
    EXPECT_EQ(m_profiler.startEvent(context, &handle, &descr), 0);
    EXPECT_NE(handle, &descr);
    return handle;
  }
  const abi::v5::Profiler& m_profiler;
};

TEST_F(NcclProfiler, InitDescribesTheCommunicator) {
  NcclV5 nccl(0xABCD, "data parallel", 8, 3);
  EXPECT_NE(nccl.context, nullptr);
  EXPECT_EQ(nccl.mask, static_cast<int>(abi::kGroup | abi::kColl | abi::kP2p | abi::kGroupApi | abi::kCollApi |
                                        abi::kP2pApi | abi::kKernelLaunch));
  const auto communicators = host.all<CommunicatorRecord>(RecordKind::kCommunicator);
  ASSERT_EQ(communicators.size(), 1u);
  EXPECT_EQ(communicators[0].hash, 0xABCDu);
  EXPECT_EQ(host.text(communicators[0].name), "data parallel");
  EXPECT_EQ(communicators[0].n_ranks, 8);
  EXPECT_EQ(communicators[0].rank, 3);
  EXPECT_EQ(communicators[0].n_nodes, 1);
  nccl.finalize();
}

TEST_F(NcclProfiler, ACommunicatorMayHaveNoName) {
  NcclV5 nccl(1, nullptr, 2, 0);
  EXPECT_EQ(host.all<CommunicatorRecord>(RecordKind::kCommunicator)[0].name, 0u);
  nccl.finalize();
}

TEST_F(NcclProfiler, OneCollectiveIsOneCallOneDetailAndOneLaunch) {
  NcclV5 nccl;
  nccl.collective("AllGather", 5);
  ASSERT_EQ(collectives().size(), 1u);
  const CollectiveRecord call = collectives()[0];
  EXPECT_EQ(host.text(call.operation), "AllGather");
  EXPECT_EQ(host.text(call.datatype), "ncclBfloat16") << "the caller's, not the bytes of the enqueue";
  EXPECT_EQ(call.element_count, 1024u);
  EXPECT_EQ(call.stream_handle, 0x5000u);
  EXPECT_EQ(call.communicator_hash, 0xC0FFEEu);
  EXPECT_EQ(call.root, -1);
  EXPECT_GE(call.end_ns, call.start_ns);
  ASSERT_EQ(details().size(), 1u);
  const CollectiveDetailRecord detail = details().at(call.event_id);
  EXPECT_EQ(detail.sequence, 5);
  EXPECT_EQ(host.text(detail.algorithm), "RING");
  EXPECT_EQ(host.text(detail.protocol), "LL");
  EXPECT_EQ(detail.channels, 2u);
  EXPECT_EQ(detail.peer, -1);
  ASSERT_EQ(pushed().size(), 1u);
  EXPECT_EQ(detail.external_id, pushed()[0]);
  EXPECT_EQ(host.correlationCalls().back(), "pop");
  nccl.finalize();
}

TEST_F(NcclProfiler, CollectivesOfOneGroupShareTheirLaunch) {
  NcclV5 nccl;
  void* group = nccl.groupApi();
  void* first = nccl.collApi(group, "AllReduce");
  nccl.stop(first);
  void* second = nccl.collApi(group, "AllReduce");
  nccl.stop(second);
  nccl.launchPlan(group, {{first, "AllReduce", 0}, {second, "AllReduce", 1}});
  nccl.stop(group);
  const auto found = details();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found.at(collectives()[0].event_id).external_id, pushed().at(0));
  EXPECT_EQ(found.at(collectives()[1].event_id).external_id, pushed().at(0));
  nccl.finalize();
}

TEST_F(NcclProfiler, AGroupOfTwoPlansHasTwoLaunches) {
  NcclV5 nccl;
  void* group = nccl.groupApi();
  void* first = nccl.collApi(group, "AllReduce");
  void* second = nccl.collApi(group, "AllGather");
  nccl.stop(first);
  nccl.stop(second);
  nccl.launchPlan(group, {{first, "AllReduce", 0}});
  nccl.launchPlan(group, {{second, "AllGather", 0}});
  nccl.stop(group);
  ASSERT_EQ(pushed().size(), 2u);
  EXPECT_EQ(details().at(collectives()[0].event_id).external_id, pushed()[0]);
  EXPECT_EQ(details().at(collectives()[1].event_id).external_id, pushed()[1]);
  nccl.finalize();
}

TEST_F(NcclProfiler, HostCallbacksMayEnqueueOnAnotherThreadAfterAllLaunches) {
  NcclV5 nccl;
  void* group = nccl.groupApi();
  void* first = nccl.collApi(group, "AllReduce");
  void* second = nccl.collApi(group, "AllGather");
  nccl.stop(first);
  nccl.stop(second);
  nccl.stop(nccl.kernelLaunch(group));
  nccl.stop(nccl.kernelLaunch(group));
  nccl.stop(group);
  std::thread([&] {
    nccl.enqueuePlan({{first, "AllReduce", 0}});
    nccl.enqueuePlan({{second, "AllGather", 0}});
  }).join();
  EXPECT_EQ(details().at(collectives()[0].event_id).external_id, pushed()[0]);
  EXPECT_EQ(details().at(collectives()[1].event_id).external_id, pushed()[1]);
  nccl.finalize();
}

TEST_F(NcclProfiler, AnEnqueueBeforeItsLaunchIsJoinedToo) {
  NcclV5 nccl;
  void* group = nccl.groupApi();
  void* api = nccl.collApi(group, "AllGather");
  nccl.enqueuePlan({{api, "AllGather", 0}});
  EXPECT_TRUE(details().empty());
  nccl.stop(nccl.kernelLaunch(group));
  nccl.stop(api);
  nccl.stop(group);
  EXPECT_EQ(details().at(collectives()[0].event_id).external_id, pushed().at(0));
  nccl.collective("AllGather", 1);
  EXPECT_EQ(details().at(collectives()[1].event_id).external_id, pushed().at(1)) << "the first launch is used up";
  nccl.finalize();
}

TEST_F(NcclProfiler, WithoutALaunchTheDetailComesWithTheEndOfTheGroup) {
  NcclV5 nccl;
  void* group = nccl.groupApi();
  void* api = nccl.collApi(group, "AllGather");
  nccl.stop(api);
  nccl.enqueuePlan({{api, "AllGather", 0}});
  nccl.stop(group);
  EXPECT_EQ(details().at(collectives()[0].event_id).external_id, 0u);
  nccl.collective("AllGather", 1);
  EXPECT_NE(details().at(collectives()[1].event_id).external_id, 0u);
  nccl.finalize();
}

TEST_F(NcclProfiler, SendAndReceive) {
  NcclV5 nccl;
  void* group = nccl.groupApi();
  void* send = nccl.p2pApi(group, "Send");
  nccl.stop(send);
  void* receive = nccl.p2pApi(group, "Recv");
  nccl.stop(receive);
  nccl.stop(nccl.kernelLaunch(group));
  void* plan = nccl.plan();
  nccl.stop(nccl.p2p(send, plan, "Send", 2));
  nccl.stop(nccl.p2p(receive, plan, "Recv", 3));
  nccl.stop(plan);
  nccl.stop(group);
  ASSERT_EQ(collectives().size(), 2u);
  EXPECT_EQ(host.text(collectives()[0].operation), "Send");
  const auto found = details();
  EXPECT_EQ(found.at(collectives()[0].event_id).peer, 2);
  EXPECT_EQ(found.at(collectives()[1].event_id).peer, 3);
  EXPECT_EQ(found.at(collectives()[0].event_id).sequence, -1);
  EXPECT_EQ(found.at(collectives()[0].event_id).external_id, pushed().at(0));
  EXPECT_EQ(found.at(collectives()[1].event_id).external_id, pushed().at(0));
  nccl.finalize();
}

TEST_F(NcclProfiler, TwoCommunicatorsInOneGroupKeepTheirLaunchesApart) {
  NcclV5 left(1, "left");
  NcclV5 right(2, "right");
  void* group = left.groupApi();
  void* a = left.collApi(group, "AllReduce");
  left.stop(a);
  void* b = right.collApi(group, "AllReduce");
  right.stop(b);
  left.stop(left.kernelLaunch(group));
  right.stop(right.kernelLaunch(group));
  right.enqueuePlan({{b, "AllReduce", 0}});
  left.enqueuePlan({{a, "AllReduce", 0}});
  left.stop(group);
  EXPECT_EQ(details().at(collectives()[0].event_id).external_id, pushed()[0]);
  EXPECT_EQ(details().at(collectives()[1].event_id).external_id, pushed()[1]);
  EXPECT_EQ(collectives()[1].communicator_hash, 2u);
  left.finalize();
  right.finalize();
}

TEST_F(NcclProfiler, AStopThatComesTwiceCountsOnce) {
  NcclV5 nccl;
  void* group = nccl.groupApi();
  void* api = nccl.collApi(group, "AllGather");
  nccl.stop(api);
  nccl.stop(api);
  void* launch = nccl.kernelLaunch(group);
  nccl.stop(launch);
  nccl.stop(launch);
  EXPECT_EQ(collectives().size(), 1u);
  const std::vector<std::string> calls = host.correlationCalls();
  EXPECT_EQ(std::count(calls.begin(), calls.end(), "pop"), 1);
  nccl.finalize();
}

TEST_F(NcclProfiler, ALaunchThatFailedIsPoppedByTheNext) {
  NcclV5 nccl;
  void* group = nccl.groupApi();
  nccl.kernelLaunch(group);  // its stop never comes
  nccl.stop(nccl.kernelLaunch(group));
  const std::vector<std::string> calls = host.correlationCalls();
  ASSERT_EQ(calls.size(), 4u);
  EXPECT_EQ(calls[1], "pop");
  EXPECT_EQ(calls[3], "pop");
  nccl.finalize();
}

TEST_F(NcclProfiler, NonsenseIsIgnored) {
  NcclV5 nccl;
  const auto& v5 = *static_cast<const abi::v5::Profiler*>(profiler(5));
  int foreign = 0;
  void* handle = &foreign;
  EXPECT_EQ(v5.startEvent(nccl.context, &handle, nullptr), 0);
  EXPECT_EQ(handle, nullptr);
  abi::v5::Descr descr{};
  descr.type = uint64_t{1} << 40;  // an event of a later version
  EXPECT_EQ(v5.startEvent(nccl.context, &handle, &descr), 0);
  EXPECT_EQ(handle, nullptr);
  EXPECT_EQ(v5.startEvent(nccl.context, nullptr, &descr), 0);
  nccl.stop(nullptr);
  nccl.stop(&foreign);
  nccl.stop(reinterpret_cast<void*>(0xDEADBEEF));
  nccl.state(nullptr, abi::kGroupStartApiStop);
  nccl.state(&foreign, abi::kProxyCtrlIdle);
  EXPECT_EQ(v5.finalize(nullptr), 0);
  EXPECT_EQ(v5.finalize(&foreign), 0);
  EXPECT_EQ(v5.init(nullptr, 1, nullptr, nullptr, 1, 1, 0, nullptr), 0);
  EXPECT_TRUE(collectives().empty());
  nccl.finalize();
}

TEST_F(NcclProfiler, AForeignParentIsNeverDereferenced) {
  NcclV5 nccl;
  void* otherProcess = reinterpret_cast<void*>(0x7FFF12345670);
  nccl.stop(nccl.collApi(otherProcess, "AllReduce"));
  void* task = nccl.coll(otherProcess, otherProcess, "AllReduce", 3);
  nccl.stop(task);
  ASSERT_EQ(collectives().size(), 2u);
  EXPECT_EQ(details().at(collectives()[1].event_id).sequence, 3) << "the enqueue stands for the unknown call";
  nccl.finalize();
}

TEST_F(NcclProfiler, EventsAfterFinalizeDoNoHarm) {
  NcclV5 nccl;
  void* group = nccl.groupApi();
  void* api = nccl.collApi(group, "AllReduce");
  nccl.finalize();
  nccl.stop(api);
  nccl.stop(nccl.kernelLaunch(group));
  nccl.enqueuePlan({{api, "AllReduce", 0}});
  nccl.stop(group);
  nccl.finalize();
  EXPECT_EQ(collectives().size(), 1u);
}

TEST_F(NcclProfiler, OffItStillAnswersAsNcclNeeds) {
  processLane().onForkChild();
  NcclV5 nccl;
  EXPECT_NE(nccl.context, nullptr);
  nccl.collective("AllGather", 0);
  nccl.finalize();
  EXPECT_EQ(host.recordCount(), 0u);
}

TEST_F(NcclProfiler, MoreCollectivesThanThePoolHolds) {
  NcclV5 nccl;
  constexpr uint64_t kCount = 20'000;
  for (uint64_t i = 0; i < kCount; ++i) {
    nccl.collective("ReduceScatter", i);
  }
  EXPECT_EQ(collectives().size(), kCount);
  const auto found = details();
  ASSERT_EQ(found.size(), kCount);
  const std::vector<uint64_t> ids = pushed();
  uint64_t i = 0;
  for (const CollectiveRecord& call : collectives()) {
    ASSERT_EQ(found.at(call.event_id).sequence, static_cast<int64_t>(i));
    ASSERT_EQ(found.at(call.event_id).external_id, ids.at(i));
    ++i;
  }
  nccl.finalize();
}

TEST_F(NcclProfiler, ManyThreadsWithACommunicatorEach) {
  constexpr int kThreads = 8;
  constexpr uint64_t kPerThread = 200;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([t] {
      NcclV5 nccl(static_cast<uint64_t>(t) + 1, "thread");
      for (uint64_t i = 0; i < kPerThread; ++i) {
        nccl.collective("AllGather", i);
      }
      nccl.finalize();
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  const auto found = details();
  EXPECT_EQ(collectives().size(), kThreads * kPerThread);
  std::set<uint64_t> external;
  for (const CollectiveRecord& call : collectives()) {
    EXPECT_TRUE(external.insert(found.at(call.event_id).external_id).second) << "each has a launch of its own";
  }
  EXPECT_FALSE(external.contains(0));
}

TEST_F(NcclProfiler, CallbackThreadsOfOneCommunicator) {
  NcclV5 nccl;
  constexpr uint64_t kCount = 2'000;
  std::atomic<void*> mailbox{nullptr};
  std::thread callbacks([&] {
    uint64_t sequence = 0;
    while (sequence < kCount) {
      if (void* api = mailbox.exchange(nullptr)) {
        nccl.enqueuePlan({{api, "AllReduce", sequence++}});
      } else {
        std::this_thread::yield();
      }
    }
  });
  for (uint64_t i = 0; i < kCount; ++i) {
    void* group = nccl.groupApi();
    void* api = nccl.collApi(group, "AllReduce");
    nccl.stop(api);
    nccl.stop(nccl.kernelLaunch(group));
    nccl.stop(group);
    void* expected = nullptr;
    while (!mailbox.compare_exchange_weak(expected, api)) {
      expected = nullptr;
      std::this_thread::yield();
    }
  }
  callbacks.join();
  const auto found = details();
  const std::vector<uint64_t> ids = pushed();
  const std::vector<CollectiveRecord> recorded = collectives();
  ASSERT_EQ(found.size(), kCount);
  for (uint64_t i = 0; i < kCount; ++i) {
    EXPECT_EQ(found.at(recorded[i].event_id).external_id, ids[i]);
  }
  nccl.finalize();
}

TEST_F(NcclProfiler, ACollectiveAllocatesNothing) {
  if (!test::allocationsAreCounted()) {
    GTEST_SKIP() << "a sanitizer counts allocations itself";
  }
  Lane& lane = processLane();
  void* context = lane.openCommunicator(1, "world", 1, 2, 0);
  ApiArguments call{"AllGather", "ncclFloat32", 8, 0, -1};
  TaskArguments task{};
  task.operation = "AllGather";
  task.datatype = "ncclInt8";
  task.algorithm = "RING";
  task.protocol = "LL";
  const auto collective = [&] {
    void* group = lane.startGroupApi(context);
    void* api = lane.startApi(context, group, EventType::kCollApi, call);
    lane.stop(api);
    void* plan = lane.startGroup(context);
    lane.stop(lane.startTask(context, api, plan, 0, task));
    lane.stop(plan);
    lane.stop(group);
  };
  collective();
  const size_t before = test::allocationsOfThisThread();
  collective();
  EXPECT_EQ(test::allocationsOfThisThread(), before);
  lane.closeCommunicator(context);
}

}  // namespace
}  // namespace plumb::nccl
