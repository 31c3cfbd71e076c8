// SPDX-License-Identifier: Apache-2.0
// The GPU lane against a scripted libcupti.
#include "plugins/cupti/lane.h"

#include <unistd.h>

#include <atomic>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/allocation_count.h"
#include "tests/fakes/fake_host.h"
#include "tests/fakes/scripted_cupti.h"

namespace plumb::cupti {
namespace {

using test::FakeHost;
using test::ScriptedCupti;

CUpti_ActivityKernel10 makeKernel(uint32_t correlation, const char* name = "_Z6kernelv", uint64_t start = 1000,
                                  uint64_t end = 2000) {
  CUpti_ActivityKernel10 kernel{};
  kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  kernel.correlationId = correlation;
  kernel.name = name;
  kernel.start = start;
  kernel.end = end;
  return kernel;
}

CUpti_ActivityAPI makeLaunch(uint32_t correlation) {
  CUpti_ActivityAPI call{};
  call.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
  call.cbid = CUPTI_RUNTIME_TRACE_CBID___cudaLaunchKernel_v13000;
  call.start = 900;
  call.end = 950;
  call.correlationId = correlation;
  return call;
}

class LaneTest : public testing::Test {
 protected:
  void open(uint32_t version = CUPTI_API_VERSION) {
    cupti = std::make_unique<ScriptedCupti>(version);
    lane = std::make_unique<Lane>();
    useLaneInTests(lane.get());
    lane->start(host.raw());
  }
  bool attach() { return lane->attach(cupti->table(), "/cuda/lib/libcupti.so.13"); }
  ~LaneTest() override { useLaneInTests(nullptr); }

  FakeHost host;
  std::unique_ptr<ScriptedCupti> cupti;
  std::unique_ptr<Lane> lane;
};

TEST_F(LaneTest, AttachesInTheOrderThatCuptiNeeds) {
  open();
  ASSERT_TRUE(attach());
  const std::vector<std::string> log = cupti->log();
  const auto position = [&](const std::string& entry) {
    return std::find(log.begin(), log.end(), entry) - log.begin();
  };
  EXPECT_LT(position("cuptiSubscribe"), position("cuptiSetThreadIdType 1"));
  EXPECT_LT(position("cuptiSetThreadIdType 1"), position("cuptiActivityRegisterCallbacks"));
  EXPECT_LT(position("cuptiActivityRegisterCallbacks"), position("cuptiActivityEnable 10"));
  EXPECT_LT(position("cuptiActivitySetAttribute 5"), position("cuptiActivityEnable 10"));
  EXPECT_THAT(log, testing::Contains("cuptiActivityEnableRuntimeApi 17 0")) << "cudaGetDevice is noise";
  EXPECT_LT(position("cuptiActivityEnable 5"), position("cuptiActivityEnableRuntimeApi 17 0"));
  EXPECT_THAT(log, testing::Not(testing::Contains("cuptiActivityEnable 4"))) << "only launches of the driver API";
  EXPECT_THAT(log, testing::Contains("cuptiActivityEnableDriverApi 652 1"));
  EXPECT_THAT(host.diagnostics(), testing::IsEmpty());

  const auto plugins = host.all<PluginRecord>(RecordKind::kPlugin);
  ASSERT_EQ(plugins.size(), 1u);
  EXPECT_EQ(plugins[0].is_on, 1u);
  EXPECT_EQ(host.text(plugins[0].library),
            "/cuda/lib/libcupti.so.13 (CUPTI " + std::to_string(CUPTI_API_VERSION) + ")");
}

TEST_F(LaneTest, EachRecordArrivesOnce) {
  open();
  ASSERT_TRUE(attach());
  constexpr uint32_t kCount = 20'000;  // several buffers
  for (uint32_t i = 1; i <= kCount; ++i) {
    ASSERT_TRUE(cupti->emit(makeLaunch(i)));
    ASSERT_TRUE(cupti->emit(makeKernel(i)));
  }
  lane->tick(false);
  std::set<uint32_t> seen;
  for (const KernelRecord& kernel : host.all<KernelRecord>(RecordKind::kKernel)) {
    EXPECT_TRUE(seen.insert(kernel.correlation).second);
  }
  EXPECT_EQ(seen.size(), kCount);
  EXPECT_EQ(host.all<ApiCallRecord>(RecordKind::kApiCall).size(), kCount);
}

TEST_F(LaneTest, SixteenThreadsWithABufferEach) {
  open();
  ASSERT_TRUE(attach());
  constexpr uint32_t kThreads = 16;
  constexpr uint32_t kPerThread = 500;
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (uint32_t i = 0; i < kPerThread; ++i) {
        cupti->emit(makeKernel(t * kPerThread + i + 1));
        if (i % 100 == 99) {
          cupti->deliverThisThread();
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  lane->tick(false);
  std::set<uint32_t> seen;
  for (const KernelRecord& kernel : host.all<KernelRecord>(RecordKind::kKernel)) {
    EXPECT_TRUE(seen.insert(kernel.correlation).second) << kernel.correlation;
  }
  EXPECT_EQ(seen.size(), kThreads * kPerThread);
}

TEST_F(LaneTest, ABufferDeliveredTwiceIsReadOnce) {
  open();
  ASSERT_TRUE(attach());
  cupti->emit(makeKernel(1));
  cupti->deliverAll();
  cupti->deliverAgain();
  EXPECT_EQ(host.all<KernelRecord>(RecordKind::kKernel).size(), 1u);
  lane->tick(true);
  EXPECT_EQ(host.diagnostic("buffer_twice").count, 1u);
}

TEST_F(LaneTest, ManyKernelsOfOneGraphLaunchAreAllKept) {
  open();
  ASSERT_TRUE(attach());
  for (uint64_t node = 1; node <= 10; ++node) {
    CUpti_ActivityKernel10 kernel = makeKernel(77);
    kernel.graphId = 3;
    kernel.graphNodeId = node;
    cupti->emit(kernel);
  }
  lane->tick(false);
  const auto kernels = host.all<KernelRecord>(RecordKind::kKernel);
  ASSERT_EQ(kernels.size(), 10u);
  for (const KernelRecord& kernel : kernels) {
    EXPECT_EQ(kernel.correlation, 77u);
    EXPECT_EQ(kernel.flags, kEventFromGraph);
  }
}

TEST_F(LaneTest, KernelsWithBadTimesAreKeptFlaggedAndCounted) {
  open();
  ASSERT_TRUE(attach());
  cupti->emit(makeKernel(1, "a", 0, 0));
  cupti->emit(makeKernel(2, "b", 2000, 1000));
  cupti->emit(makeKernel(3, "c", 1000, 2000));
  lane->tick(true);
  const auto kernels = host.all<KernelRecord>(RecordKind::kKernel);
  ASSERT_EQ(kernels.size(), 3u);
  EXPECT_EQ(kernels[0].flags, kEventNoTime);
  EXPECT_EQ(kernels[1].flags, kEventNoTime);
  EXPECT_EQ(kernels[2].flags, 0u);
  EXPECT_EQ(host.diagnostic("bad_time").count, 2u);
}

TEST_F(LaneTest, DropsOfCuptiAreReportedAtOnceAndSummedUpAtTheEnd) {
  open();
  ASSERT_TRUE(attach());
  cupti->setDropped(5);
  lane->tick(false);
  EXPECT_EQ(host.diagnostic("records_dropped").count, 5u);
  cupti->setDropped(7);
  lane->tick(false);
  lane->tick(true);
  EXPECT_EQ(host.diagnostic("records_dropped_total").count, 12u);
  EXPECT_EQ(host.diagnostics().size(), 2u) << "once, not at every flush";
}

TEST_F(LaneTest, AtTheCapANewCuptiGetsNoBuffer) {
  host.settings["cupti_buffer_mb"] = "1";
  open(130001);
  ASSERT_TRUE(attach());
  ASSERT_TRUE(cupti->emit(makeKernel(1)));
  std::thread([&] { EXPECT_FALSE(cupti->emit(makeKernel(2))); }).join();
  lane->tick(true);
  EXPECT_EQ(host.all<KernelRecord>(RecordKind::kKernel).size(), 1u);
  EXPECT_EQ(host.diagnostic("buffer_cap").count, 1u);
  EXPECT_EQ(host.diagnostic("records_dropped").count, 1u);
}

TEST_F(LaneTest, AtTheCapAnOldCuptiStillGetsABuffer) {
  host.settings["cupti_buffer_mb"] = "1";
  open(24);  // CUDA 12.6: it would crash without one
  ASSERT_TRUE(attach());
  ASSERT_TRUE(cupti->emit(makeKernel(1)));
  std::thread([&] { EXPECT_TRUE(cupti->emit(makeKernel(2))); }).join();
  lane->tick(true);
  EXPECT_EQ(host.all<KernelRecord>(RecordKind::kKernel).size(), 2u);
}

TEST_F(LaneTest, RecordsLongerThanOursAreReadByTheirOwnLength) {
  struct LongerKernel {
    CUpti_ActivityKernel10 known;
    uint64_t later[4];
  };
  open(130400);
  cupti->setRecordBytes(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, sizeof(LongerKernel));
  ASSERT_TRUE(attach());
  for (uint32_t i = 1; i <= 3; ++i) {
    cupti->emit(LongerKernel{makeKernel(i), {~0ull, ~0ull, ~0ull, ~0ull}});
  }
  lane->tick(false);
  const auto kernels = host.all<KernelRecord>(RecordKind::kKernel);
  ASSERT_EQ(kernels.size(), 3u);
  EXPECT_EQ(kernels[2].correlation, 3u);
}

TEST_F(LaneTest, AnUnknownRecordEndsItsBufferOnly) {
  open();
  ASSERT_TRUE(attach());
  CUpti_ActivityAPI unknown = makeLaunch(1);
  cupti->emit(makeKernel(1));
  unknown.kind = static_cast<CUpti_ActivityKind>(999);
  cupti->emit(unknown);
  cupti->deliverAll();
  cupti->emit(makeKernel(2));
  lane->tick(true);
  EXPECT_EQ(host.all<KernelRecord>(RecordKind::kKernel).size(), 2u);
  EXPECT_EQ(host.diagnostic("bad_record").count, 1u);
}

TEST_F(LaneTest, OnlyOurOwnExternalIdsBecomeLinks) {
  open();
  ASSERT_TRUE(attach());
  CUpti_ActivityExternalCorrelation link{};
  link.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
  link.externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1;  // torch.profiler
  link.externalId = 5;
  link.correlationId = 9;
  cupti->emit(link);
  link.externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2;
  link.externalId = 6;
  cupti->emit(link);
  lane->tick(false);
  const auto links = host.all<CorrelationLinkRecord>(RecordKind::kCorrelationLink);
  ASSERT_EQ(links.size(), 1u);
  EXPECT_EQ(links[0].external_id, 6u);
  EXPECT_EQ(links[0].correlation, 9u);
}

TEST_F(LaneTest, ProvidesTheCorrelationService) {
  open();
  ASSERT_TRUE(attach());
  ASSERT_NE(host.pushProvided, nullptr);
  host.pushProvided(11);
  host.pushProvided(12);
  EXPECT_THAT(cupti->correlationStack(), testing::ElementsAre(11, 12));
  host.popProvided();
  EXPECT_THAT(cupti->correlationStack(), testing::ElementsAre(11));
  EXPECT_THAT(cupti->log(), testing::Contains("cuptiActivityPushExternalCorrelationId 5")) << "CUSTOM2";
}

TEST_F(LaneTest, StreamsKnowTheDeviceOfTheirContext) {
  open();
  ASSERT_TRUE(attach());
  CUpti_ActivityContext3 context{};
  context.kind = CUPTI_ACTIVITY_KIND_CONTEXT;
  context.contextId = 4;
  context.deviceId = 2;
  cupti->emit(context);
  CUpti_ActivityStream stream{};
  stream.kind = CUPTI_ACTIVITY_KIND_STREAM;
  stream.contextId = 4;
  stream.streamId = 15;
  cupti->emit(stream);
  lane->tick(false);
  const auto streams = host.all<StreamRecord>(RecordKind::kStream);
  ASSERT_EQ(streams.size(), 1u);
  EXPECT_EQ(streams[0].device_ordinal, 2u);
  EXPECT_EQ(streams[0].number, 15u);
}

// The clock.

TEST_F(LaneTest, KeepsCuptisClockWhereTheTimestampCallbackIsBroken) {
  for (const uint32_t version : {24u, 28u, 130001u}) {
    open(version);
    ASSERT_TRUE(attach());
    EXPECT_FALSE(cupti->hasTimestampCallback()) << version;
  }
  cupti->setTimestamp(123'456);
  host.clearRecords();
  lane->tick(false);
  const auto pairs = host.all<ClockPairRecord>(RecordKind::kClockPair);
  ASSERT_EQ(pairs.size(), 1u);
  EXPECT_EQ(pairs[0].cupti_ns, 123'456);
  EXPECT_GT(pairs[0].monotonic_ns, 0);
  EXPECT_GT(pairs[0].realtime_ns, 0);
  cupti->emit(makeKernel(1));
  lane->tick(false);
  EXPECT_EQ(host.all<KernelRecord>(RecordKind::kKernel)[0].header.clock, Clock::kCupti);
}

TEST_F(LaneTest, UsesItsOwnClockWhereThatIsSafe) {
  for (const uint32_t version : {23u, 130100u}) {
    host.clearRecords();
    open(version);
    ASSERT_TRUE(attach());
    EXPECT_TRUE(cupti->hasTimestampCallback()) << version;
    cupti->emit(makeKernel(1));
    lane->tick(false);
    EXPECT_EQ(host.all<KernelRecord>(RecordKind::kKernel)[0].header.clock, Clock::kMonotonicRaw);
  }
}

TEST_F(LaneTest, FallsBackToCuptisClockWhenTheCallbackIsRefused) {
  open(130100);
  cupti->fail("cuptiActivityRegisterTimestampCallback", CUPTI_ERROR_UNKNOWN);
  ASSERT_TRUE(attach());
  cupti->emit(makeKernel(1));
  lane->tick(false);
  EXPECT_EQ(host.all<KernelRecord>(RecordKind::kKernel)[0].header.clock, Clock::kCupti);
}

// Why the lane is off.

struct Refusal {
  CUptiResult result;
  const char* says;
};
class LaneRefused : public LaneTest, public testing::WithParamInterface<Refusal> {};

TEST_P(LaneRefused, OneSentenceAndNothingElse) {
  open();
  cupti->fail("cuptiSubscribe", GetParam().result);
  EXPECT_FALSE(attach());
  ASSERT_EQ(host.diagnostics().size(), 1u);
  const test::FakeDiagnostic diagnostic = host.diagnostics()[0];
  EXPECT_EQ(diagnostic.code, "lane_off");
  EXPECT_EQ(diagnostic.lane, "cupti");
  EXPECT_EQ(diagnostic.severity, Severity::kError);
  EXPECT_THAT(diagnostic.message, testing::HasSubstr(GetParam().says));
  EXPECT_EQ(host.pushProvided, nullptr);
  EXPECT_EQ(host.tickCount(), 0u);
  EXPECT_EQ(cupti->calls("cuptiActivityEnable"), 0u);
  EXPECT_FALSE(lane->onCuda()) << "asked again, it does not repeat itself";
  EXPECT_EQ(host.diagnostics().size(), 1u);
  lane->tick(false);
  lane->pushCorrelation(1);
  lane->popCorrelation();
  EXPECT_EQ(cupti->calls("cuptiActivityFlushAll"), 0u);
}
INSTANTIATE_TEST_SUITE_P(
    Results, LaneRefused,
    testing::Values(Refusal{CUPTI_ERROR_UNKNOWN, "no NVIDIA driver"},
                    Refusal{CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, "Another tool already holds CUPTI"},
                    Refusal{CUPTI_ERROR_NOT_INITIALIZED, "update the driver"},
                    Refusal{CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, "NVreg_RestrictProfilingToAdminUsers"},
                    Refusal{CUPTI_ERROR_HARDWARE, "CUPTI refused cuptiSubscribe"}));

TEST_F(LaneTest, WithoutKernelRecordsTheSubscriptionIsGivenBack) {
  open();
  cupti->failKind(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ERROR_UNKNOWN);
  EXPECT_FALSE(attach());
  EXPECT_EQ(cupti->calls("cuptiUnsubscribe"), 1u);
  EXPECT_EQ(host.diagnostic("lane_off").count, 1u);
}

TEST_F(LaneTest, AKindThatIsMissingIsNamedAndTheRestGoesOn) {
  open();
  cupti->failKind(CUPTI_ACTIVITY_KIND_MEMORY2, CUPTI_ERROR_INVALID_KIND);
  EXPECT_TRUE(attach());
  EXPECT_EQ(host.diagnostic("kind_off").count, 1u);
  EXPECT_THAT(host.diagnostic("kind_off").message, testing::HasSubstr("allocations"));
}

TEST_F(LaneTest, ARecordShorterThanOurPrefixIsNotEnabled) {
  open(18);
  cupti->setRecordBytes(CUPTI_ACTIVITY_KIND_MEMSET, 48);
  EXPECT_TRUE(attach());
  EXPECT_THAT(cupti->log(), testing::Not(testing::Contains("cuptiActivityEnable 2")));
  EXPECT_EQ(host.diagnostic("kind_off").count, 1u);
}

// Being a polite guest.

TEST_F(LaneTest, MakesOnlyTheCallsItMay) {
  open();
  ASSERT_TRUE(attach());
  cupti->emit(makeKernel(1));
  cupti->emit(makeLaunch(1));
  lane->tick(false);
  lane->tick(true);
  const std::set<std::string> allowed{"cuptiGetVersion",
                                      "cuptiGetTimestamp",
                                      "cuptiSubscribe",
                                      "cuptiSetThreadIdType",
                                      "cuptiActivitySetAttribute",
                                      "cuptiActivityRegisterCallbacks",
                                      "cuptiActivityEnable",
                                      "cuptiActivityEnableRuntimeApi",
                                      "cuptiActivityEnableDriverApi",
                                      "cuptiActivityEnableAllSyncRecords",
                                      "cuptiActivityFlushAll",
                                      "cuptiActivityGetNumDroppedRecords",
                                      "cuptiGetCallbackName"};
  for (const std::string& call : cupti->log()) {
    EXPECT_TRUE(allowed.contains(call.substr(0, call.find(' ')))) << call;
  }
  EXPECT_THAT(cupti->log(), testing::Contains("cuptiActivityFlushAll 1")) << "forced at exit";
}

TEST_F(LaneTest, NeverWaitsForARingOnTheTargetsThreads) {
  open();
  ASSERT_TRUE(attach());
  std::thread([&] {
    CUpti_ActivityAPI call = makeLaunch(1);
    call.threadId = static_cast<uint32_t>(gettid());
    cupti->emit(call);
    cupti->emit(makeKernel(1));
    host.plainWrites = 0;
    host.patientWrites = 0;
    cupti->deliverThisThread();  // a full buffer, delivered by the thread that filled it
    EXPECT_EQ(host.patientWrites, 0u);
    EXPECT_EQ(host.plainWrites, 2u);
  }).join();
  cupti->emit(makeKernel(2));
  std::thread([&] { cupti->deliverAll(); }).join();  // CUPTI's worker makes no CUDA calls
  EXPECT_EQ(host.patientWrites, 1u);
}

TEST_F(LaneTest, WaitsOnceForARingThatStaysFull) {
  open();
  ASSERT_TRUE(attach());
  for (uint32_t i = 1; i <= 50; ++i) {
    cupti->emit(makeKernel(i));
  }
  host.isFull = true;
  host.patientWrites = 0;
  std::thread([&] { cupti->deliverAll(); }).join();
  EXPECT_EQ(host.patientWrites, 1u);
}

TEST_F(LaneTest, DeliveringAllocatesNothing) {
  if (!test::allocationsAreCounted()) {
    GTEST_SKIP() << "a sanitizer counts allocations itself";
  }
  open();
  ASSERT_TRUE(attach());
  cupti->emit(makeKernel(1));  // the first sight of names and of the thread
  cupti->emit(makeLaunch(1));
  cupti->deliverThisThread();
  uint8_t* buffer = nullptr;
  size_t bytes = 0;
  size_t maxRecords = 0;
  const size_t before = test::allocationsOfThisThread();
  lane->requestBuffer(&buffer, &bytes, &maxRecords);
  const CUpti_ActivityKernel10 kernel = makeKernel(2);
  std::memcpy(buffer, &kernel, sizeof kernel);
  lane->completeBuffer(buffer, bytes, sizeof kernel);
  EXPECT_EQ(test::allocationsOfThisThread(), before);
  EXPECT_EQ(host.all<KernelRecord>(RecordKind::kKernel).size(), 2u);
}

TEST_F(LaneTest, RecordsAfterTheEndAreHarmless) {
  open();
  ASSERT_TRUE(attach());
  cupti->emit(makeKernel(1));
  lane->tick(true);
  cupti->emit(makeKernel(2));  // CUPTI still holds a buffer of ours
  cupti->deliverAll();
  EXPECT_EQ(host.all<KernelRecord>(RecordKind::kKernel).size(), 2u);
}

TEST_F(LaneTest, TheChildOfAForkTouchesNothing) {
  open();
  ASSERT_TRUE(attach());
  cupti->emit(makeKernel(1));
  lane->onForkChild();
  const size_t calls = cupti->log().size();
  lane->tick(false);
  lane->tick(true);
  lane->pushCorrelation(1);
  lane->popCorrelation();
  EXPECT_EQ(cupti->log().size(), calls);
  cupti->deliverAll();
  EXPECT_TRUE(host.all<KernelRecord>(RecordKind::kKernel).empty());
}

}  // namespace
}  // namespace plumb::cupti
