// SPDX-License-Identifier: Apache-2.0
// Subscribers and callbacks.
#include <cupti.h>
#include <cupti_runtime_cbid.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/unit/workloads/softcuda/cupti/client.h"

namespace {

struct Seen {
  uint32_t domain;
  uint32_t id;
  CUpti_ApiCallbackSite site;
  std::string name;
  std::string symbol;
  uint32_t correlation;
  int result;
  bool kept;  // what was stored at the entry is there at the exit
  uint64_t graphNode = 0;
};

class Callbacks : public Client {
 protected:
  void SetUp() override {
    Client::SetUp();
    ASSERT_EQ(cuptiSubscribe(&subscriber, &callback, this), CUPTI_SUCCESS);
  }
  static void CUPTIAPI callback(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
    Seen entry{static_cast<uint32_t>(domain), id, CUPTI_API_ENTER, "", "", 0, -1, false};
    if (domain == CUPTI_CB_DOMAIN_RUNTIME_API) {
      const auto* call = static_cast<const CUpti_CallbackData*>(data);
      entry.site = call->callbackSite;
      entry.name = call->functionName;
      entry.symbol = call->symbolName ? call->symbolName : "";
      entry.correlation = call->correlationId;
      if (call->callbackSite == CUPTI_API_ENTER) {
        *call->correlationData = 4711;
      } else {
        entry.result = *static_cast<const int*>(call->functionReturnValue);
        entry.kept = *call->correlationData == 4711;
      }
    }
    if (domain == CUPTI_CB_DOMAIN_RESOURCE && static_cast<Callbacks*>(self)->ofGraphs) {
      const auto* resource = static_cast<const CUpti_ResourceData*>(data);
      const auto* graph = static_cast<const CUpti_GraphData*>(resource->resourceDescriptor);
      EXPECT_EQ(cuptiGetGraphNodeId(graph->node, &entry.graphNode), CUPTI_SUCCESS);
      EXPECT_EQ(graph->nodeType, CU_GRAPH_NODE_TYPE_KERNEL);
    }
    static_cast<Callbacks*>(self)->seen.push_back(entry);
  }
  CUpti_SubscriberHandle subscriber = nullptr;
  std::vector<Seen> seen;
  bool ofGraphs = false;
};

TEST_F(Callbacks, ComeBeforeAndAfterACall) {
  ASSERT_EQ(
      cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000),
      CUPTI_SUCCESS);
  ASSERT_EQ(launchFill(stream, data, 1, 1, 1), cudaSuccess);
  ASSERT_EQ(launchFill(stream, data, 1, 0, 1), cudaErrorInvalidConfiguration);
  cudaGetLastError();
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  ASSERT_EQ(seen.size(), 4u);
  EXPECT_EQ(seen[0].site, CUPTI_API_ENTER);
  EXPECT_EQ(seen[0].name, "cudaLaunchKernel");
  EXPECT_EQ(seen[0].symbol, "_Z4fillPii");
  EXPECT_EQ(seen[1].site, CUPTI_API_EXIT);
  EXPECT_EQ(seen[1].correlation, seen[0].correlation);
  EXPECT_TRUE(seen[1].kept);
  EXPECT_EQ(seen[1].result, cudaSuccess);
  EXPECT_EQ(seen[3].result, cudaErrorInvalidConfiguration);
}

TEST_F(Callbacks, OfAWholeDomain) {
  ASSERT_EQ(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE), CUPTI_SUCCESS);
  cudaStream_t created = nullptr;
  ASSERT_EQ(cudaStreamCreate(&created), cudaSuccess);
  ASSERT_EQ(cudaStreamDestroy(created), cudaSuccess);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].id, static_cast<uint32_t>(CUPTI_CBID_RESOURCE_STREAM_CREATED));
  EXPECT_EQ(seen[1].id, static_cast<uint32_t>(CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING));
  ASSERT_EQ(cuptiEnableDomain(0, subscriber, CUPTI_CB_DOMAIN_RESOURCE), CUPTI_SUCCESS);
  ASSERT_EQ(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_SYNCHRONIZE), CUPTI_SUCCESS);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(seen.back().id, static_cast<uint32_t>(CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED));
}

// So that a launched graph's kernel can be led back to where it was captured.
TEST_F(Callbacks, OfGraphNodesGiveTheIdsThatRecordsHave) {
  ofGraphs = true;
  enable({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
  for (const auto id : {CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED}) {
    ASSERT_EQ(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, id), CUPTI_SUCCESS);
  }
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), cudaSuccess);
  ASSERT_EQ(launchFill(stream, data, 1, 1, 1), cudaSuccess);
  ASSERT_EQ(seen.size(), 1u) << "within the capture";
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  ASSERT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
  synchronizeAndFlush();
  ASSERT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[1].id, static_cast<uint32_t>(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED));
  const auto kernels = records<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].graphNodeId, seen[0].graphNode);
  EXPECT_EQ(kernels[0].graphNodeId, seen[1].graphNode);
  uint64_t id = 0;
  EXPECT_EQ(cuptiGetGraphNodeId(reinterpret_cast<CUgraphNode>(&id), &id), CUPTI_ERROR_INVALID_PARAMETER);
}

TEST_F(Callbacks, AreForOneSubscriberOnly) {
  CUpti_SubscriberHandle second = nullptr;
  EXPECT_EQ(cuptiSubscribe(&second, &callback, nullptr), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  char holder[64] = {};
  CUpti_SubscriberParams params{};
  params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
  params.subscriberName = "second";
  params.oldSubscriberName = holder;
  params.oldSubscriberSize = sizeof(holder);
  EXPECT_EQ(cuptiSubscribe_v2(&second, &callback, nullptr, &params), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  EXPECT_STREQ(holder, "CUPTI");
  ASSERT_EQ(cuptiUnsubscribe(subscriber), CUPTI_SUCCESS);
  EXPECT_EQ(cuptiSubscribe_v2(&second, &callback, nullptr, &params), CUPTI_SUCCESS);
  EXPECT_EQ(cuptiUnsubscribe(subscriber), CUPTI_ERROR_INVALID_PARAMETER) << "it is nobody's now";
  EXPECT_EQ(cuptiUnsubscribe(second), CUPTI_SUCCESS);
}

TEST_F(Callbacks, RefuseWrongSubscribersDomainsAndIds) {
  EXPECT_EQ(cuptiEnableDomain(1, nullptr, CUPTI_CB_DOMAIN_RUNTIME_API), CUPTI_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(cuptiEnableDomain(1, subscriber, static_cast<CUpti_CallbackDomain>(99)), CUPTI_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, 5000), CUPTI_ERROR_INVALID_PARAMETER);
  uint32_t on = 7;
  EXPECT_EQ(cuptiGetCallbackState(&on, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, 20), CUPTI_SUCCESS);
  EXPECT_EQ(on, 0u);
}

TEST_F(Callbacks, StreamsAndContextHaveIds) {
  uint32_t id = 0;
  EXPECT_EQ(cuptiGetContextId(nullptr, &id), CUPTI_SUCCESS);
  EXPECT_EQ(id, 1u);
  EXPECT_EQ(cuptiGetDeviceId(nullptr, &id), CUPTI_SUCCESS);
  EXPECT_EQ(id, 0u);
  EXPECT_EQ(cuptiGetStreamIdEx(nullptr, nullptr, 0, &id), CUPTI_SUCCESS);
  EXPECT_EQ(id, 7u);
  EXPECT_EQ(cuptiGetStreamIdEx(nullptr, reinterpret_cast<CUstream>(stream), 0, &id), CUPTI_SUCCESS);
  EXPECT_GE(id, 13u);
  int nobody = 0;
  EXPECT_EQ(cuptiGetStreamIdEx(nullptr, reinterpret_cast<CUstream>(&nobody), 0, &id), CUPTI_ERROR_INVALID_STREAM);
}

}  // namespace
