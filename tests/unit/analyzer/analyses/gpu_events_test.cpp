// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/gpu_events.h"

#include <gtest/gtest.h>

namespace plumb::test {
namespace {

TEST(CommunicationByName, IsWhatLibrariesAndFrameworksCallTheirKernels) {
  for (const char* name :
       {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "rcclGenericKernel",
        "hcclAllReduce_fp32", "oneccl::allreduce_kernel", "mscclKernel_Sum_float_LL128", "nvshmemi_put_kernel",
        "deep_ep::internode::dispatch<false>", "multimem_all_reduce_kernel<c10::BFloat16, 16>",
        "two_shot_all_reduce_kernel<c10::BFloat16, 16>", "vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>"}) {
    EXPECT_TRUE(isCommunicationName(name)) << name;
  }
  for (const char* name : {"ampere_sgemm_128x64_nn", "reduce_kernel<512, 1>", "allocate_rows", "elementwise_kernel"}) {
    EXPECT_FALSE(isCommunicationName(name)) << name;
  }
}

}  // namespace
}  // namespace plumb::test
