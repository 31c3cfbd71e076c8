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
    testing::Values(
        Name{"softgemm_bf16_tn", "softgemm_bf16_tn"}, Name{"f()", "f"}, Name{"void f<int>(int)", "f"},
        Name{"void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm<(Layout)1> >(Params)",
             "cutlass_80_tensorop_bf16_s16816gemm"},
        Name{"void cutlass__5x_cudnn::Kernel<cutlass_tensorop_fprop>(cutlass_tensorop_fprop::Params)",
             "cutlass_tensorop_fprop"},
        Name{"void cutlass::Kernel2<cutlass::gemm::kernel::GemmUniversal<int, (T)2> >(P)", "GemmUniversal"},
        Name{"void ck_tile::kentry<1, ck_tile::Rmsnorm2dFwd<ck_tile::OnePass>, K>(K)", "Rmsnorm2dFwd"},
        Name{"void mine::Kernel2<int>(int)", "Kernel2"}, Name{"void cutlass::Kernel2(int)", "Kernel2"},
        Name{"void cutlass::Kernel<1, true>(int)", "Kernel"}, Name{"cutlass::Kernel<", "Kernel"},
        Name{"ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "ncclDevKernel_AllGather_RING_LL"},
        Name{"void at::native::(anonymous namespace)::softmax<float, 4>(float*, int)", "softmax"},
        Name{"(anonymous namespace)::scale(float*)", "scale"},
        Name{"std::enable_if<((4)>(2)), void>::type nn::add<float>(float*)", "add"},
        Name{"void run<f(int)::{lambda(int)#1}>(f(int)::{lambda(int)#1})", "run"},
        Name{"f(int)::{lambda(int)#1}::operator()(int) const", "operator()"},
        Name{"Matrix::operator<<(int)", "operator<<"}, Name{"bool ns::operator< <int>(A<int>, A<int>)", "operator<"},
        Name{"A::operator bool() const", "operator bool"}, Name{"Box<int>::get() const", "get"},
        Name{"unsigned long long reduce<unsigned long long>(unsigned long long*)", "reduce"},
        Name{"outer(int)::inner::work(float)", "work"}, Name{"void scale<float>(float*) [clone .kd]", "scale"},
        Name{"scale [clone .kd]", "scale"}, Name{"void at::native::softmax<float, at::na", "softmax"}, Name{"", ""},
        Name{"<<<", "<<<"}, Name{"(", "("}));

// Names that people gave are no signatures: what stands before a blank is no return type.
INSTANTIATE_TEST_SUITE_P(Given, ShortName,
                         testing::Values(Name{"fused attention fwd", "fused attention fwd"},
                                         Name{"flash attention fwd", "flash attention fwd"}, Name{"op: add", "op: add"},
                                         Name{"layer 1", "layer 1"},
                                         Name{"attention fwd (causal)", "attention fwd (causal)"},
                                         Name{"gemm <fp16>", "gemm <fp16>"}, Name{"nn::gemm 2", "nn::gemm 2"},
                                         Name{"void and nothing", "void and nothing"}, Name{" ", " "},
                                         Name{"my kernel fwd(x)", "my kernel fwd(x)"},
                                         Name{"void my kernel fwd(x)", "void my kernel fwd(x)"}));

TEST(Demangle, LeavesAloneWhatIsNotMangled) {
  EXPECT_EQ(demangle("_Z3addPfi"), "add(float*, int)");
  EXPECT_EQ(demangle("triton_poi_fused_add_0"), "triton_poi_fused_add_0");
  EXPECT_EQ(demangle("_Znonsense"), "_Znonsense");
  EXPECT_EQ(demangle("_ZnonsenseDF16b"), "_ZnonsenseDF16b");
  EXPECT_EQ(demangle(""), "");
}

TEST(Demangle, KnowsBfloat16WithAnyCompiler) {
  EXPECT_EQ(demangle("_Z4normDF16bf"), "norm(std::bfloat16_t, float)");
  EXPECT_EQ(demangle("_ZN7ck_tile6kentryILi1ENS_4NormIDF16bEEEEvT0_"),
            "void ck_tile::kentry<1, ck_tile::Norm<std::bfloat16_t> >(ck_tile::Norm<std::bfloat16_t>)");
}

}  // namespace
}  // namespace plumb::schema
