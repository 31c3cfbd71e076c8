// SPDX-License-Identifier: Apache-2.0
// The stand-ins in front of a fake cuBLAS: arguments and results go through unchanged, and the shape is recorded.
#include "plugins/cublas/calls.h"

#include <dlfcn.h>

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugins/cublas/cublas_abi.h"
#include "plugins/cublas/lane.h"
#include "tests/fakes/allocation_count.h"
#include "tests/fakes/fake_host.h"
#include "tests/unit/plugins/cublas/fake_cublas.h"

namespace plumb::cublas {
namespace {

using GemmEx = int (*)(void*, int, int, int, int, int, const void*, const void*, int, int, const void*, int, int,
                       const void*, void*, int, int, int, int);
using Sgemm = int (*)(void*, int, int, int, int, int, const float*, const float*, int, const float*, int, const float*,
                      float*, int);
using GemmStridedBatchedEx64 = int (*)(void*, int, int, int64_t, int64_t, int64_t, const void*, const void*, int,
                                       int64_t, long long, const void*, int, int64_t, long long, const void*, void*,
                                       int, int64_t, long long, int64_t, int, int);
using LtMatmul = int (*)(void*, void*, const void*, const void*, void*, const void*, void*, const void*, const void*,
                         void*, void*, void*, const void*, void*, size_t, void*);

template <class Function>
Function replacement(const char* name) {
  return reinterpret_cast<Function>(replacementOf(name));
}

void set(FakeLtObject& object, int attribute, uint64_t value, int bytes) {
  object.attributes[attribute] = value;
  object.isSet[attribute] = true;
  object.bytes[attribute] = bytes;
}

FakeLtObject layout(uint64_t type, uint64_t rows, uint64_t columns, uint64_t batch = 1) {
  FakeLtObject out{};
  set(out, abi::kLayoutType, type, 4);
  set(out, abi::kLayoutRows, rows, 8);
  set(out, abi::kLayoutColumns, columns, 8);
  set(out, abi::kLayoutBatchCount, batch, 4);
  return out;
}

class CublasCalls : public testing::Test {
 protected:
  CublasCalls() {
    fakeCublas() = FakeCublas{};
    for (const char* name : {"cublasSgemm_v2", "cublasGemmEx", "cublasGemmStridedBatchedEx_64", "cublasLtMatmul"}) {
      host.realFunctions[name] = dlsym(RTLD_DEFAULT, name);
    }
    lane().host = Host(host.raw());
    lane().isOn = true;
  }
  ~CublasCalls() override { lane().isOn = false; }

  int gemmEx(int m = 128, int n = 64, int k = 32, int type = abi::kR16BF) {
    return replacement<GemmEx>("cublasGemmEx")(nullptr, 1, 0, m, n, k, nullptr, nullptr, type, 32, nullptr, type, 32,
                                               nullptr, nullptr, type, 128, abi::kCompute32F, -1);
  }
  [[nodiscard]] std::vector<LibraryCallRecord> recorded() const {
    return host.all<LibraryCallRecord>(RecordKind::kLibraryCall);
  }

  test::FakeHost host;
};

TEST_F(CublasCalls, ACallGoesThroughAndIsRecorded) {
  EXPECT_EQ(gemmEx(), 0);
  EXPECT_STREQ(fakeCublas().lastFunction, "cublasGemmEx");
  EXPECT_EQ(fakeCublas().m, 128);
  EXPECT_EQ(fakeCublas().lda, 32);
  ASSERT_EQ(recorded().size(), 1u);
  const LibraryCallRecord call = recorded()[0];
  EXPECT_EQ(host.text(call.name), "cublasGemmEx");
  EXPECT_EQ(host.text(call.datatype_a), "bf16");
  EXPECT_EQ(host.text(call.compute_type), "bf16");
  EXPECT_EQ(call.m, 128);
  EXPECT_EQ(call.n, 64);
  EXPECT_EQ(call.k, 32);
  EXPECT_EQ(call.transpose_a, 1u);
  EXPECT_EQ(call.transpose_b, 0u);
  EXPECT_EQ(call.flops, 2.0 * 128 * 64 * 32);
  EXPECT_GE(call.end_ns, call.start_ns);
}

TEST_F(CublasCalls, WhatIsLaunchedInsideIsLinkedToTheCall) {
  gemmEx();
  EXPECT_THAT(host.correlationCalls(),
              testing::ElementsAre("push " + std::to_string(recorded()[0].external_id), "pop"));
}

TEST_F(CublasCalls, ACallOfCublasToItselfIsNotCounted) {
  fakeCublas().callsNested = true;
  fakeCublas().nested = [] {
    return replacement<Sgemm>("cublasSgemm_v2")(nullptr, 0, 0, 1, 1, 1, nullptr, nullptr, 1, nullptr, 1, nullptr,
                                                nullptr, 1);
  };
  gemmEx();
  EXPECT_EQ(fakeCublas().calls, 2);
  ASSERT_EQ(recorded().size(), 1u);
  EXPECT_EQ(host.text(recorded()[0].name), "cublasGemmEx");
  gemmEx();
  EXPECT_EQ(recorded().size(), 2u) << "the guard is released";
}

TEST_F(CublasCalls, ErrorsOfTheLibraryAreTheCallers) {
  fakeCublas().result = 13;
  EXPECT_EQ(gemmEx(), 13);
  EXPECT_EQ(recorded().size(), 1u);
}

TEST_F(CublasCalls, FloatMultiplicationsAskForTheMathMode) {
  const auto sgemm = replacement<Sgemm>("cublasSgemm_v2");
  sgemm(nullptr, 0, 0, 2, 2, 2, nullptr, nullptr, 2, nullptr, 2, nullptr, nullptr, 2);
  EXPECT_EQ(host.text(recorded()[0].compute_type), "fp32");
  fakeCublas().mathMode = abi::kMathTf32;
  sgemm(nullptr, 0, 0, 2, 2, 2, nullptr, nullptr, 2, nullptr, 2, nullptr, nullptr, 2);
  EXPECT_EQ(host.text(recorded()[1].compute_type), "tf32");
  EXPECT_EQ(host.text(recorded()[1].datatype_a), "fp32");
  const int queries = fakeCublas().mathModeQueries;
  gemmEx();
  EXPECT_EQ(fakeCublas().mathModeQueries, queries) << "bf16 operands leave no choice";
}

TEST_F(CublasCalls, BatchesAndWideSizes) {
  const int64_t large = int64_t{1} << 33;
  replacement<GemmStridedBatchedEx64>("cublasGemmStridedBatchedEx_64")(
      nullptr, 0, 1, large, 2, 3, nullptr, nullptr, abi::kR16F, large, 0, nullptr, abi::kR16F, 3, 0, nullptr, nullptr,
      abi::kR32F, large, 0, 7, abi::kCompute32F, -1);
  EXPECT_EQ(fakeCublas().m, large);
  EXPECT_EQ(fakeCublas().batch, 7);
  ASSERT_EQ(recorded().size(), 1u);
  EXPECT_EQ(recorded()[0].m, large);
  EXPECT_EQ(recorded()[0].batch, 7);
  EXPECT_EQ(host.text(recorded()[0].datatype_c), "fp32");
  EXPECT_EQ(recorded()[0].flops, 2.0 * static_cast<double>(large) * 2 * 3 * 7);
}

TEST_F(CublasCalls, LtShapesComeFromTheDescriptors) {
  FakeLtObject desc{};
  set(desc, abi::kDescComputeType, abi::kCompute32FFastTf32, 4);
  set(desc, abi::kDescTransposeA, 1, 4);
  set(desc, abi::kDescTransposeB, 0, 4);
  FakeLtObject a = layout(abi::kR32F, 32, 128, 5);  // transposed: k rows, m columns
  FakeLtObject b = layout(abi::kR32F, 32, 64, 5);
  FakeLtObject d = layout(abi::kR32F, 128, 64, 5);
  replacement<LtMatmul>("cublasLtMatmul")(nullptr, &desc, nullptr, nullptr, &a, nullptr, &b, nullptr, nullptr, &d,
                                          nullptr, &d, nullptr, nullptr, 99, nullptr);
  EXPECT_EQ(fakeCublas().lda, 99) << "the last arguments go through as well";
  ASSERT_EQ(recorded().size(), 1u);
  const LibraryCallRecord call = recorded()[0];
  EXPECT_EQ(call.m, 128);
  EXPECT_EQ(call.n, 64);
  EXPECT_EQ(call.k, 32);
  EXPECT_EQ(call.batch, 5);
  EXPECT_EQ(call.transpose_a, 1u);
  EXPECT_EQ(host.text(call.compute_type), "tf32");
}

TEST_F(CublasCalls, LtWithoutAReadableShapeIsOnlyPassedOn) {
  FakeLtObject empty{};
  replacement<LtMatmul>("cublasLtMatmul")(nullptr, &empty, nullptr, nullptr, &empty, nullptr, &empty, nullptr, nullptr,
                                          &empty, nullptr, &empty, nullptr, nullptr, 1, nullptr);
  EXPECT_EQ(fakeCublas().calls, 1);
  EXPECT_TRUE(recorded().empty());
}

TEST_F(CublasCalls, WithoutTheLibraryTheCallSaysSo) {
  constexpr int kNotInitialized = 1;
  using Hgemm =
      int (*)(void*, int, int, int, int, int, const void*, const void*, int, const void*, int, const void*, void*, int);
  EXPECT_EQ(
      replacement<Hgemm>("cublasHgemm")(nullptr, 0, 0, 1, 1, 1, nullptr, nullptr, 1, nullptr, 1, nullptr, nullptr, 1),
      kNotInitialized);
}

TEST_F(CublasCalls, OffItOnlyPassesOn) {
  lane().isOn = false;
  EXPECT_EQ(gemmEx(), 0);
  EXPECT_EQ(fakeCublas().calls, 1);
  EXPECT_EQ(host.recordCount(), 0u);
  EXPECT_TRUE(host.correlationCalls().empty());
}

TEST_F(CublasCalls, RecordingAllocatesNothing) {
  if (!test::allocationsAreCounted()) {
    GTEST_SKIP() << "a sanitizer counts allocations itself";
  }
  PlumbHost quiet = *host.raw();  // the fake's log of pushes allocates
  quiet.push_correlation = [](uint64_t) {};
  quiet.pop_correlation = [] {};
  lane().host = Host(&quiet);
  gemmEx();
  const size_t before = test::allocationsOfThisThread();
  gemmEx();
  EXPECT_EQ(test::allocationsOfThisThread(), before);
}

}  // namespace
}  // namespace plumb::cublas
