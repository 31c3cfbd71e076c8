// SPDX-License-Identifier: Apache-2.0
// From a kernel's symbol to names for people.
#pragma once
#include <string>
#include <string_view>

namespace plumb::schema {

// The demangled name; a name that is not mangled (softgemm_bf16_tn, ncclDevKernel_…) as it is.
[[nodiscard]] std::string demangle(const std::string& mangled);

// Of a demangled name, what a person calls the kernel: no return type, namespaces, template arguments and parameters.
//   void at::native::softmax<float, 4>(float*) -> softmax      f(int)::{lambda(int)#1}::operator()(int) const ->
//   operator()
// Of the entry points of CUTLASS and ck_tile, which many kernels share, the template argument that tells them apart:
//   void cutlass::Kernel2<cutlass_80_tensorop_gemm>(Params) -> cutlass_80_tensorop_gemm
// A name that does not look like a C++ function ("fused attention fwd") is returned as it is. Never empty unless the
// name is.
[[nodiscard]] std::string shortKernelName(std::string_view demangled);

}  // namespace plumb::schema
