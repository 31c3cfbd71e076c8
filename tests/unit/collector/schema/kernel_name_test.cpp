// SPDX-License-Identifier: Apache-2.0
#include "collector/schema/kernel_name.h"

#include <gtest/gtest.h>

namespace plumb::schema {
namespace {

struct Name {
  const char* demangled;
  const char* shortName;
};

class ShortName : public testing::TestWithParam<Name> {};

TEST_P(ShortName, IsWhatAPersonCallsTheKernel) {
  EXPECT_EQ(shortKernelName(GetParam().demangled), GetParam().shortName);
}

INSTANTIATE_TEST_SUITE_P(
    Names, ShortName,
    testing::Values(Name{"softgemm_bf16_tn", "softgemm_bf16_tn"}, Name{"f()", "f"}, Name{"void f<int>(int)", "f"},
                    Name{"void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm<(Layout)1> >(Params)", "Kernel2"},
                    Name{"ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                         "ncclDevKernel_AllGather_RING_LL"},
                    Name{"void at::native::(anonymous namespace)::softmax<float, 4>(float*, int)", "softmax"},
                    Name{"(anonymous namespace)::scale(float*)", "scale"},
                    Name{"std::enable_if<((4)>(2)), void>::type nn::add<float>(float*)", "add"},
                    Name{"void run<f(int)::{lambda(int)#1}>(f(int)::{lambda(int)#1})", "run"},
                    Name{"f(int)::{lambda(int)#1}::operator()(int) const", "operator()"},
                    Name{"Matrix::operator<<(int)", "operator<<"},
                    Name{"bool ns::operator< <int>(A<int>, A<int>)", "operator<"},
                    Name{"A::operator bool() const", "operator bool"}, Name{"Box<int>::get() const", "get"},
                    Name{"unsigned long long reduce<unsigned long long>(unsigned long long*)", "reduce"},
                    Name{"outer(int)::inner::work(float)", "work"}, Name{"", ""}, Name{"<<<", "<<<"}, Name{"(", "("}));

TEST(Demangle, LeavesAloneWhatIsNotMangled) {
  EXPECT_EQ(demangle("_Z3addPfi"), "add(float*, int)");
  EXPECT_EQ(demangle("triton_poi_fused_add_0"), "triton_poi_fused_add_0");
  EXPECT_EQ(demangle("_Znonsense"), "_Znonsense");
  EXPECT_EQ(demangle(""), "");
}

}  // namespace
}  // namespace plumb::schema
