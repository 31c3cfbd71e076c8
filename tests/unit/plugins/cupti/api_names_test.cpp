// SPDX-License-Identifier: Apache-2.0
#include "plugins/cupti/api_names.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/fakes/fake_host.h"
#include "tests/fakes/scripted_cupti.h"

namespace plumb::cupti {
namespace {

std::string plain(const char* name) {
  char out[256];
  return {out, plainApiName(name, out, sizeof out)};
}

TEST(PlainApiName, DropsVersionsAndDefaultStreamSuffixes) {
  EXPECT_EQ(plain("cudaLaunchKernel_v7000"), "cudaLaunchKernel");
  EXPECT_EQ(plain("__cudaLaunchKernel_v13000"), "cudaLaunchKernel");
  EXPECT_EQ(plain("__cudaLaunchKernel_ptsz_v13000"), "cudaLaunchKernel");
  EXPECT_EQ(plain("cudaMemcpyAsync_ptsz_v7000"), "cudaMemcpyAsync");
  EXPECT_EQ(plain("cudaStreamGetCaptureInfo_v2_ptsz_v11030"), "cudaStreamGetCaptureInfo");
  EXPECT_EQ(plain("cuMemAlloc_v2"), "cuMemAlloc");
  EXPECT_EQ(plain("cuLaunchKernel_ptsz"), "cuLaunchKernel");
}

TEST(PlainApiName, LeavesOtherNamesAlone) {
  EXPECT_EQ(plain("cuLaunchKernelEx"), "cuLaunchKernelEx");
  EXPECT_EQ(plain("cudaMemcpy2D"), "cudaMemcpy2D");
  EXPECT_EQ(plain("cudaDev2"), "cudaDev2");
  EXPECT_EQ(plain("_v2"), "v2");
  EXPECT_EQ(plain(""), "");
}

TEST(ApiNames, AsksCuptiOncePerFunction) {
  test::FakeHost host;
  test::ScriptedCupti cupti;
  static ApiNames names;
  const CuptiTable table = cupti.table();
  const uint32_t cbid = CUPTI_RUNTIME_TRACE_CBID___cudaLaunchKernel_v13000;
  const StringId first = names.runtime(table, Host(host.raw()), cbid);
  EXPECT_EQ(host.text(first), "cudaLaunchKernel");
  EXPECT_EQ(names.runtime(table, Host(host.raw()), cbid), first);
  EXPECT_EQ(cupti.calls("cuptiGetCallbackName"), 1u);
}

TEST(ApiNames, NamesAnUnknownFunctionByItsNumber) {
  test::FakeHost host;
  test::ScriptedCupti cupti;
  static ApiNames names;
  EXPECT_EQ(host.text(names.runtime(cupti.table(), Host(host.raw()), 99)), "cuda function 99");
  EXPECT_EQ(host.text(names.driver(cupti.table(), Host(host.raw()), 1'000'000)), "cu function 1000000");
}

}  // namespace
}  // namespace plumb::cupti
