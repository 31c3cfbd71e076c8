// SPDX-License-Identifier: Apache-2.0
// The records of small programs.
#include <cupti.h>
#include <cupti_driver_cbid.h>
#include <cupti_runtime_cbid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <future>
#include <map>
#include <set>
#include <thread>

#include "tests/unit/workloads/softcuda/cupti/client.h"
#include "workloads/softcuda/device.h"

namespace {

using Activity = Client;

std::map<uint32_t, CUpti_ActivityAPI> byCorrelation(const std::vector<CUpti_ActivityAPI>& calls) {
  std::map<uint32_t, CUpti_ActivityAPI> map;
  for (const auto& call : calls) map[call.correlationId] = call;
  return map;
}

TEST_F(Activity, OfKernelsCopiesAndSetsJoinWithTheirCalls) {
  ASSERT_EQ(cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM), CUPTI_SUCCESS);
  enable({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET,
          CUPTI_ACTIVITY_KIND_RUNTIME});
  int host[256];
  ASSERT_EQ(cudaMemsetAsync(data, 0xab, 1000, stream), cudaSuccess);
  ASSERT_EQ(launchFill(stream, data, 7, 4, 64), cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(host, data, sizeof(host), cudaMemcpyDeviceToHost, stream), cudaSuccess);
  synchronizeAndFlush();
  EXPECT_EQ(host[255], 7);

  const auto calls = byCorrelation(records<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_RUNTIME));
  const auto kernels = records<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  ASSERT_EQ(kernels.size(), 1u);
  const auto& kernel = kernels[0];
  EXPECT_STREQ(kernel.name, "_Z4fillPii");
  EXPECT_EQ(kernel.deviceId, 0u);
  EXPECT_EQ(kernel.contextId, 1u);
  EXPECT_GE(kernel.streamId, 13u);
  EXPECT_EQ(kernel.gridX, 4);
  EXPECT_EQ(kernel.blockX, 64);
  EXPECT_LE(kernel.start, kernel.end);
  ASSERT_TRUE(calls.count(kernel.correlationId));
  const auto& launch = calls.at(kernel.correlationId);
  EXPECT_EQ(launch.cbid, static_cast<uint32_t>(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000));
  EXPECT_EQ(launch.processId, static_cast<uint32_t>(getpid()));
  EXPECT_EQ(launch.threadId, static_cast<uint32_t>(syscall(SYS_gettid)));
  EXPECT_EQ(launch.returnValue, 0u);
  EXPECT_LE(launch.start, kernel.start);

  const auto copies = records<CUpti_ActivityMemcpy6>(CUPTI_ACTIVITY_KIND_MEMCPY);
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_EQ(copies[0].copyKind, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
  EXPECT_EQ(copies[0].srcKind, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
  EXPECT_EQ(copies[0].dstKind, CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE);
  EXPECT_EQ(copies[0].flags, CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC);
  EXPECT_EQ(copies[0].bytes, sizeof(host));
  EXPECT_EQ(copies[0].streamId, kernel.streamId);
  EXPECT_EQ(calls.at(copies[0].correlationId).cbid,
            static_cast<uint32_t>(CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020));

  const auto sets = records<CUpti_ActivityMemset4>(CUPTI_ACTIVITY_KIND_MEMSET);
  ASSERT_EQ(sets.size(), 1u);
  EXPECT_EQ(sets[0].value, 0xabu);
  EXPECT_EQ(sets[0].bytes, 1000u);
  EXPECT_EQ(sets[0].memoryKind, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
  EXPECT_EQ(calls.at(sets[0].correlationId).cbid,
            static_cast<uint32_t>(CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020));
}

TEST_F(Activity, OfFailedCallsHoldsTheError) {
  enable({CUPTI_ACTIVITY_KIND_RUNTIME});
  EXPECT_EQ(cudaSetDevice(5), cudaErrorInvalidDevice);
  cudaGetLastError();
  synchronizeAndFlush();
  const auto calls = records<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_RUNTIME);
  EXPECT_TRUE(std::any_of(calls.begin(), calls.end(), [](const auto& call) {
    return call.cbid == CUPTI_RUNTIME_TRACE_CBID_cudaSetDevice_v3020 && call.returnValue == cudaErrorInvalidDevice;
  }));
}

TEST_F(Activity, OfMemoryHoldsAddressesAndPools) {
  enable({CUPTI_ACTIVITY_KIND_MEMORY2, CUPTI_ACTIVITY_KIND_RUNTIME});
  void* plain = nullptr;
  void* pooled = nullptr;
  void* pinned = nullptr;
  ASSERT_EQ(cudaMalloc(&plain, 1000), cudaSuccess);
  ASSERT_EQ(cudaMallocAsync(&pooled, 2000, stream), cudaSuccess);
  ASSERT_EQ(cudaMallocHost(&pinned, 3000), cudaSuccess);
  ASSERT_EQ(cudaFreeAsync(pooled, stream), cudaSuccess);
  ASSERT_EQ(cudaFree(plain), cudaSuccess);
  ASSERT_EQ(cudaFreeHost(pinned), cudaSuccess);
  synchronizeAndFlush();
  const auto all = records<CUpti_ActivityMemory4>(CUPTI_ACTIVITY_KIND_MEMORY2);
  ASSERT_EQ(all.size(), 6u);
  const auto of = [&](void* p, CUpti_ActivityMemoryOperationType type) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const auto& record) {
      return record.address == reinterpret_cast<uint64_t>(p) && record.memoryOperationType == type;
    });
    EXPECT_NE(found, all.end());
    return *found;
  };
  const auto allocation = of(plain, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION);
  EXPECT_EQ(allocation.bytes, 1000u);
  EXPECT_EQ(allocation.memoryKind, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
  EXPECT_EQ(allocation.isAsync, 0u);
  EXPECT_EQ(allocation.streamId, CUPTI_INVALID_STREAM_ID);
  EXPECT_EQ(of(plain, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE).bytes, 1000u);
  const auto async = of(pooled, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION);
  EXPECT_EQ(async.isAsync, 1u);
  EXPECT_EQ(async.memoryPoolConfig.memoryPoolType, CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL);
  EXPECT_EQ(async.memoryPoolConfig.utilizedSize, 2048u);
  EXPECT_GE(async.streamId, 13u);
  EXPECT_EQ(of(pooled, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE).bytes, 2000u);
  EXPECT_EQ(of(pinned, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION).memoryKind, CUPTI_ACTIVITY_MEMORY_KIND_PINNED);
}

TEST_F(Activity, OfMemoryLifetimesAndPools) {
  enable({CUPTI_ACTIVITY_KIND_MEMORY, CUPTI_ACTIVITY_KIND_MEMORY_POOL, CUPTI_ACTIVITY_KIND_RUNTIME});
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, 0};
  cudaMemPool_t pool = nullptr;
  void* pooled = nullptr;
  ASSERT_EQ(cudaMemPoolCreate(&pool, &properties), cudaSuccess);
  ASSERT_EQ(cudaMallocFromPoolAsync(&pooled, 2000, pool, stream), cudaSuccess);
  ASSERT_EQ(cudaMemPoolTrimTo(pool, 512), cudaSuccess);
  ASSERT_EQ(cudaFreeAsync(pooled, stream), cudaSuccess);
  ASSERT_EQ(cudaMemPoolDestroy(pool), cudaSuccess);
  synchronizeAndFlush();
  const auto lifetimes = records<CUpti_ActivityMemory>(CUPTI_ACTIVITY_KIND_MEMORY);
  ASSERT_EQ(lifetimes.size(), 1u);
  EXPECT_EQ(lifetimes[0].address, reinterpret_cast<uint64_t>(pooled));
  EXPECT_EQ(lifetimes[0].bytes, 2000u);
  EXPECT_LE(lifetimes[0].start, lifetimes[0].end);
  const auto pools = records<CUpti_ActivityMemoryPool3>(CUPTI_ACTIVITY_KIND_MEMORY_POOL);
  ASSERT_EQ(pools.size(), 3u);
  EXPECT_EQ(pools[0].memoryPoolOperationType, CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED);
  EXPECT_EQ(pools[1].memoryPoolOperationType, CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED);
  EXPECT_EQ(pools[1].minBytesToKeep, 512u);
  EXPECT_EQ(pools[1].utilizedSize, 2048u);
  EXPECT_EQ(pools[2].memoryPoolOperationType, CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED);
  EXPECT_EQ(pools[2].address, reinterpret_cast<uint64_t>(pool));
}

TEST_F(Activity, OfTheTimeThatAFlushTook) {
  enable({CUPTI_ACTIVITY_KIND_OVERHEAD});
  synchronizeAndFlush();
  EXPECT_TRUE(records<CUpti_ActivityOverhead3>(CUPTI_ACTIVITY_KIND_OVERHEAD).empty());
  synchronizeAndFlush();
  const auto overheads = records<CUpti_ActivityOverhead3>(CUPTI_ACTIVITY_KIND_OVERHEAD);
  ASSERT_EQ(overheads.size(), 1u);
  EXPECT_EQ(overheads[0].overheadKind, CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH);
  EXPECT_EQ(overheads[0].objectId.pt.processId, static_cast<uint32_t>(getpid()));
  EXPECT_LE(overheads[0].start, overheads[0].end);
}

TEST_F(Activity, OfSynchronizationsAndEvents) {
  enable({CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, CUPTI_ACTIVITY_KIND_CUDA_EVENT, CUPTI_ACTIVITY_KIND_RUNTIME});
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(event, stream), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(nullptr, event, 0), cudaSuccess);
  ASSERT_EQ(cudaEventSynchronize(event), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  synchronizeAndFlush();
  ASSERT_EQ(cudaEventDestroy(event), cudaSuccess);
  std::multiset<int> types;
  for (const auto& record : records<CUpti_ActivitySynchronization2>(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION)) {
    types.insert(record.type);
    EXPECT_LE(record.start, record.end);
  }
  EXPECT_EQ(types, (std::multiset<int>{CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE,
                                       CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT,
                                       CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE,
                                       CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE}));
  EXPECT_EQ(records<CUpti_ActivityCudaEvent2>(CUPTI_ACTIVITY_KIND_CUDA_EVENT).size(), 1u);
}

TEST_F(Activity, OfTheDeviceItsContextAndStreams) {
  enable({CUPTI_ACTIVITY_KIND_DEVICE, CUPTI_ACTIVITY_KIND_CONTEXT, CUPTI_ACTIVITY_KIND_STREAM});
  cudaStream_t created = nullptr;
  ASSERT_EQ(cudaStreamCreateWithPriority(&created, cudaStreamNonBlocking, -2), cudaSuccess);
  synchronizeAndFlush();
  ASSERT_EQ(cudaStreamDestroy(created), cudaSuccess);
  const auto devices = records<CUpti_ActivityDevice5>(CUPTI_ACTIVITY_KIND_DEVICE);
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_STREQ(devices[0].name, "software device (CPU)");
  const auto contexts = records<CUpti_ActivityContext3>(CUPTI_ACTIVITY_KIND_CONTEXT);
  ASSERT_EQ(contexts.size(), 1u);
  EXPECT_EQ(contexts[0].nullStreamId, 7u);
  const auto streams = records<CUpti_ActivityStream>(CUPTI_ACTIVITY_KIND_STREAM);
  ASSERT_EQ(streams.size(), 2u);
  EXPECT_EQ(streams[0].streamId, 7u);
  EXPECT_EQ(streams[0].flag, CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL);
  EXPECT_EQ(streams[1].flag, CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING);
  EXPECT_EQ(static_cast<int>(streams[1].priority), -2);
}

TEST_F(Activity, ExternalIdsAreThoseOnTopWhenACallIsMade) {
  enable(
      {CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_RUNTIME});
  ASSERT_EQ(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2, 41), CUPTI_SUCCESS);
  ASSERT_EQ(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2, 42), CUPTI_SUCCESS);
  ASSERT_EQ(launchFill(stream, data, 1, 1, 1), cudaSuccess);
  uint64_t last = 0;
  EXPECT_EQ(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2, &last), CUPTI_SUCCESS);
  EXPECT_EQ(last, 42u);
  EXPECT_EQ(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2, &last), CUPTI_SUCCESS);
  EXPECT_EQ(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2, &last),
            CUPTI_ERROR_QUEUE_EMPTY);
  EXPECT_EQ(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_INVALID, 1),
            CUPTI_ERROR_INVALID_PARAMETER);
  synchronizeAndFlush();
  const auto links = records<CUpti_ActivityExternalCorrelation>(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
  ASSERT_EQ(links.size(), 1u);
  EXPECT_EQ(links[0].externalId, 42u);
  EXPECT_EQ(links[0].externalKind, CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2);
  EXPECT_EQ(links[0].correlationId,
            records<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL).at(0).correlationId);
}

TEST_F(Activity, HasNoCorrelationWithoutApiRecords) {
  enable({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
  ASSERT_EQ(launchFill(stream, data, 1, 1, 1), cudaSuccess);
  synchronizeAndFlush();
  EXPECT_EQ(records<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL).at(0).correlationId, 0u);
}

TEST_F(Activity, SingleCallsCanBeLeftOutOrChosen) {
  enable({CUPTI_ACTIVITY_KIND_RUNTIME});
  ASSERT_EQ(cuptiActivityEnableRuntimeApi(CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020, 0), CUPTI_SUCCESS);
  int device = -1;
  ASSERT_EQ(cudaGetDevice(&device), cudaSuccess);
  synchronizeAndFlush();
  std::multiset<uint32_t> seen;
  for (const auto& call : records<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_RUNTIME)) seen.insert(call.cbid);
  EXPECT_EQ(seen.count(CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020), 0u);
  EXPECT_EQ(seen.count(CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020), 1u);

  ASSERT_EQ(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_RUNTIME), CUPTI_SUCCESS);
  ASSERT_EQ(cuptiActivityEnableRuntimeApi(CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020, 1), CUPTI_SUCCESS);
  ASSERT_EQ(cudaGetDevice(&device), cudaSuccess);
  synchronizeAndFlush();
  EXPECT_EQ(records<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_RUNTIME).back().cbid,
            static_cast<uint32_t>(CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020));
}

TEST_F(Activity, LibrariesLaunchByRuntimeOrDriverApi) {
  enable({CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
  SoftcudaKernelInfo info{"library_kernel", dim3(2, 3, 4), dim3(8), 16, 32, 64, SOFTCUDA_LAUNCHED_BY_RUNTIME};
  int runs = 0;
  const auto run = [](void* count) { ++*static_cast<int*>(count); };
  ASSERT_EQ(softcuda_launch(stream, &info, run, &runs), cudaSuccess);
  info.launched_by = SOFTCUDA_LAUNCHED_BY_DRIVER;
  ASSERT_EQ(softcuda_launch(stream, &info, run, &runs), cudaSuccess);
  EXPECT_EQ(softcuda_launch(reinterpret_cast<cudaStream_t>(&runs), &info, run, &runs), cudaErrorInvalidResourceHandle);
  cudaGetLastError();
  synchronizeAndFlush();
  EXPECT_EQ(runs, 2);
  const auto kernels = records<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_STREQ(kernels[0].name, "library_kernel");
  EXPECT_EQ(kernels[0].gridZ, 4);
  EXPECT_EQ(kernels[0].registersPerThread, 64);
  EXPECT_EQ(kernels[0].staticSharedMemory, 16);
  EXPECT_EQ(kernels[0].dynamicSharedMemory, 32);
  const auto driver = byCorrelation(records<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_DRIVER));
  ASSERT_TRUE(driver.count(kernels[1].correlationId));
  EXPECT_EQ(driver.at(kernels[1].correlationId).cbid, static_cast<uint32_t>(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx));
}

TEST_F(Activity, LostForWantOfABufferIsCounted) {
  bufferBytes = 0;
  enable({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
  for (int i = 0; i < 3; ++i) ASSERT_EQ(launchFill(stream, data, 1, 1, 1), cudaSuccess);
  synchronizeAndFlush();
  std::size_t dropped = 0;
  ASSERT_EQ(cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped), CUPTI_SUCCESS);
  EXPECT_EQ(dropped, 3u);
  ASSERT_EQ(cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped), CUPTI_SUCCESS);
  EXPECT_EQ(dropped, 0u) << "reading resets it";
}

TEST_F(Activity, EveryRecordComesOnceFromManyThreadsAndBuffers) {
  bufferBytes = 512;  // room for two kernels
  enable({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_RUNTIME});
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([this] {
      for (int i = 0; i < 50; ++i) ASSERT_EQ(launchFill(stream, data, i, 1, 1), cudaSuccess);
    });
  }
  for (std::thread& thread : threads) thread.join();
  synchronizeAndFlush();
  std::set<uint32_t> correlations;
  const auto kernels = records<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  for (const auto& kernel : kernels) correlations.insert(kernel.correlationId);
  EXPECT_EQ(kernels.size(), 400u);
  EXPECT_EQ(correlations.size(), 400u);
  EXPECT_EQ(buffersGiven, buffersReturned);
}

TEST_F(Activity, AFlushDoesNotWaitForTheDevice) {
  enable({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
  std::promise<void> open;
  ASSERT_EQ(cudaLaunchHostFunc(
                stream, [](void* gate) { static_cast<std::promise<void>*>(gate)->get_future().wait(); }, &open),
            cudaSuccess);
  ASSERT_EQ(launchFill(stream, data, 1, 1, 1), cudaSuccess);
  ASSERT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
  ASSERT_EQ(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), CUPTI_SUCCESS);
  EXPECT_TRUE(records<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL).empty());
  open.set_value();
  synchronizeAndFlush();
  EXPECT_EQ(records<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL).size(), 1u);
}

TEST_F(Activity, TimesAreOfTheClientsClock) {
  static uint64_t tick = 0;
  ASSERT_EQ(cuptiActivityRegisterTimestampCallback([]() -> uint64_t { return ++tick; }), CUPTI_SUCCESS);
  enable({CUPTI_ACTIVITY_KIND_RUNTIME});
  int device = 0;
  ASSERT_EQ(cudaGetDevice(&device), cudaSuccess);
  synchronizeAndFlush();
  for (const auto& call : records<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_RUNTIME)) EXPECT_LT(call.end, 1000u);
  ASSERT_EQ(cuptiActivityRegisterTimestampCallback([]() -> uint64_t {
              timespec now;
              clock_gettime(CLOCK_REALTIME, &now);
              return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
            }),
            CUPTI_SUCCESS);
}

TEST_F(Activity, KindsThatAreGoneAreRefused) {
  EXPECT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_EVENT), CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED);
  EXPECT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_INVALID), CUPTI_ERROR_INVALID_KIND);
  EXPECT_EQ(cuptiActivityEnable(static_cast<CUpti_ActivityKind>(200)), CUPTI_ERROR_INVALID_KIND);
  EXPECT_EQ(cuptiActivityRegisterCallbacks(nullptr, nullptr), CUPTI_ERROR_INVALID_PARAMETER);
}

TEST_F(Activity, AttributesReadBack) {
  uint8_t perThread = 0;
  std::size_t size = sizeof(perThread);
  ASSERT_EQ(cuptiActivityGetAttribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, &size, &perThread),
            CUPTI_SUCCESS);
  EXPECT_EQ(perThread, 1) << "the default of CUPTI 13";
  std::size_t bytes = 12345;
  size = sizeof(bytes);
  ASSERT_EQ(cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &size, &bytes), CUPTI_SUCCESS);
  bytes = 0;
  ASSERT_EQ(cuptiActivityGetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &size, &bytes), CUPTI_SUCCESS);
  EXPECT_EQ(bytes, 12345u);
  size = 2;
  EXPECT_EQ(cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &size, &bytes),
            CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT);
}

class Graphs : public Client {
 protected:
  void SetUp() override {
    Client::SetUp();
    cudaGraph_t captured = nullptr;
    ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), cudaSuccess);
    ASSERT_EQ(launchFill(stream, data, 1, 1, 1), cudaSuccess);
    ASSERT_EQ(launchFill(stream, data, 2, 1, 1), cudaSuccess);
    ASSERT_EQ(cudaStreamEndCapture(stream, &captured), cudaSuccess);
    ASSERT_EQ(cudaGraphInstantiate(&graph, captured, 0), cudaSuccess);
    ASSERT_EQ(cudaGraphDestroy(captured), cudaSuccess);
  }
  void TearDown() override {
    EXPECT_EQ(cudaGraphExecDestroy(graph), cudaSuccess);
    Client::TearDown();
  }
  cudaGraphExec_t graph = nullptr;
};

TEST_F(Graphs, NodesBelongToTheLaunch) {
  enable({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_RUNTIME});
  ASSERT_EQ(cudaGraphLaunch(graph, stream), cudaSuccess);
  ASSERT_EQ(cudaGraphLaunch(graph, stream), cudaSuccess);
  synchronizeAndFlush();
  const auto calls = byCorrelation(records<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_RUNTIME));
  const auto kernels = records<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  ASSERT_EQ(kernels.size(), 4u);
  uint32_t id = 0;
  ASSERT_EQ(cuptiGetGraphExecId(reinterpret_cast<CUgraphExec>(graph), &id), CUPTI_SUCCESS);
  for (const auto& kernel : kernels) {
    EXPECT_EQ(kernel.graphId, id);
    EXPECT_EQ(calls.at(kernel.correlationId).cbid,
              static_cast<uint32_t>(CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000));
  }
  EXPECT_EQ(kernels[0].correlationId, kernels[1].correlationId);
  EXPECT_NE(kernels[1].correlationId, kernels[2].correlationId);
  EXPECT_NE(kernels[0].graphNodeId, kernels[1].graphNodeId);
  EXPECT_EQ(kernels[0].graphNodeId, kernels[2].graphNodeId);
}

TEST_F(Graphs, AGraphTraceStandsForItsNodes) {
  enable({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_GRAPH_TRACE, CUPTI_ACTIVITY_KIND_RUNTIME});
  ASSERT_EQ(cudaGraphLaunch(graph, stream), cudaSuccess);
  ASSERT_EQ(launchFill(stream, data, 3, 1, 1), cudaSuccess);
  synchronizeAndFlush();
  EXPECT_EQ(records<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL).size(), 1u);
  const auto traces = records<CUpti_ActivityGraphTrace2>(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
  ASSERT_EQ(traces.size(), 1u);
  EXPECT_LE(traces[0].start, traces[0].end);
}

}  // namespace
