// SPDX-License-Identifier: Apache-2.0
// Bundled rules about matrix products, memory-bound chains, 16-bit weights and loss scales.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/analyzer/advice/rules.h"

namespace plumb::test {
namespace {

using testing::HasSubstr;

void addProduct(const Host& host, int64_t startNs, const char* type, int64_t m, int64_t n = 1024) {
  const int64_t correlation = host.trace.newCorrelation();
  host.trace.addLibraryCall({.process = host.rank.process,
                             .thread = host.rank.thread,
                             .startNs = startNs,
                             .m = m,
                             .n = n,
                             .k = 1024,
                             .computeType = type,
                             .externalId = correlation});
  host.trace.addLink(host.rank.process, correlation, correlation);
  host.trace.addApiCall(host.rank.process, host.rank.thread, startNs, kUs, "cudaLaunchKernel", correlation);
  host.trace.addKernel(host.rank.work(startNs + 2 * kUs, 100 * kUs, correlation), "gemm");
}

TEST(Rules, Fp32MatrixProductsByMeasuredRoofs) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const Host host{trace, OneRank(trace)};
    trace.addRoof(host.rank.process, 0, "fp32", 1e12);
    trace.addRoof(host.rank.process, 0, "bf16", 4e12);
    for (int64_t i = 0; i < 4; ++i) addProduct(host, i * 200 * kUs, "fp32", 512);
  }
  EXPECT_EQ(gainOf(adviceOn(file), "fp32_gemms"), 300 * kUs);  // 400 µs x (1 - 1/4)
}

TEST(Rules, Fp32MatrixProductsAreNoFaultOfADeviceThatIsFastestInThem) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const Host host{trace, OneRank(trace)};
    trace.addRoof(host.rank.process, 0, "fp32", 1e12);
    trace.addRoof(host.rank.process, 0, "bf16", 1e11);
    addProduct(host, 0, "fp32", 512);
  }
  EXPECT_EQ(gainOf(adviceOn(file), "fp32_gemms"), -1);
}

TEST(Rules, Fp32MatrixProductsOfADeviceWithoutRoofs) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    addProduct({trace, OneRank(trace)}, 0, "fp32", 512);
  }
  EXPECT_THAT(reasonOf(adviceOn(file), "fp32_gemms"), HasSubstr("how fast the device is in smaller formats"));
}

TEST(Rules, WhatFp32MatrixProductsOfAGpuWithoutRoofsGainCannotBeSaid) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    addProduct({trace, OneRank(trace)}, 0, "fp32", 512);
    trace.execute("UPDATE device SET kind = 'gpu', compute_major = 8");
  }
  const auto finding = findingOf(adviceOn(file), "fp32_gemms");
  ASSERT_TRUE(finding);
  EXPECT_FALSE(finding->gain);
  EXPECT_THAT(finding->arithmetic, HasSubstr("cannot say how much of their"));
}

TEST(Rules, Fp32MatrixProductsOfAKnownGpuGainByItsDatasheet) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    addProduct({trace, OneRank(trace)}, 0, "fp32", 512);
    trace.execute("UPDATE device SET kind = 'gpu', compute_major = 8, name_id = " +
                  std::to_string(trace.text("NVIDIA A100-SXM4-80GB")));
  }
  const auto finding = findingOf(adviceOn(file), "fp32_gemms");
  ASSERT_TRUE(finding);
  // 19.5 TFLOP/s in fp32, 312 in bf16.
  EXPECT_NEAR(static_cast<double>(finding->gain.value_or(Duration()).ns()), (1 - 19.5 / 312) * 100e3, 1e3);
  EXPECT_THAT(finding->arithmetic, HasSubstr("the datasheet FLOP/s"));
}

TEST(Rules, OfProductsOfUnknownTypeNothingIsSaid) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const Host host{trace, OneRank(trace)};
    host.launch(0, 5 * kUs, 100 * kUs, "some_gemm");
    host.launch(200 * kUs, 205 * kUs, 5 * kUs, "ampere_sgemm_32x32_sliced1x4_tn");
  }
  const Advice advice = adviceOn(file);
  for (const char* rule : {"fp32_gemms", "fp16_without_scaler"}) {
    EXPECT_THAT(reasonOf(advice, rule), HasSubstr("of most matrix products")) << rule;
  }
}

TEST(Rules, MisalignedMatrixProducts) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const Host host{trace, OneRank(trace)};
    addProduct(host, 0, "bf16", 512);
    addProduct(host, 200 * kUs, "bf16", 50257);
    addProduct(host, 400 * kUs, "bf16", 1001);
  }
  const auto finding = findingOf(adviceOn(file), "misaligned_gemms");
  ASSERT_TRUE(finding);
  EXPECT_THAT(finding->finding, HasSubstr("2 bf16 matrix products"));
  EXPECT_THAT(finding->finding, HasSubstr("m x n x k = 50257 x 1024 x 1024: m = 50257"));
  EXPECT_EQ(finding->gain, std::nullopt);
  EXPECT_THAT(finding->evidence, testing::ElementsAre("library_call 2"));
}

TEST(Rules, AnOddNumberOfTokensIsNoMisalignment) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    addProduct({trace, OneRank(trace)}, 0, "bf16", 3072, 788 + 1);  // no matrix lies along n
  }
  EXPECT_FALSE(findingOf(adviceOn(file), "misaligned_gemms"));
}

// torch's linear layer: x [tokens, 768] times the transposed weight [768, outputs].
std::optional<Finding> misalignedLinear(int64_t tokens, int64_t outputs) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const Host host{trace, OneRank(trace)};
    host.launch(0, 5 * kUs, 100 * kUs);
    const auto number = [](int64_t value) { return std::to_string(value); };
    const std::string dims =
        "[[" + number(outputs) + "], [" + number(tokens) + ", 768], [768, " + number(outputs) + "]]";
    trace.execute("INSERT INTO operator_argument_set VALUES(1, " + number(trace.text(dims)) + ", " +
                  number(trace.text(R"(["c10::BFloat16", "c10::BFloat16", "c10::BFloat16"])")) + ", " +
                  number(trace.text("[[1], [768, 1], [1, 768]]")) + ", 0, 0)");
    trace.execute(
        "INSERT INTO operator(process_id, thread_id, start_ns, duration_ns, name_id, argument_set_id) VALUES(" +
        number(host.rank.process) + ", " + number(host.rank.thread) + ", 0, 100, " + number(trace.text("aten::addmm")) +
        ", 1)");
  }
  return findingOf(adviceOn(file), "misaligned_gemms");
}

TEST(Rules, OfALinearLayerTheOutputsNeedAlignmentAndTheTokensDoNot) {
  EXPECT_FALSE(misalignedLinear(788 + 1, 3072));
  const auto finding = misalignedLinear(788, 50257);
  ASSERT_TRUE(finding);
  EXPECT_THAT(finding->finding, HasSubstr("m x n x k = 788 x 50257 x 768: n = 50257"));
}

TEST(Rules, WithoutAGainTheSetUpIsNotNamedBesideTheSteps) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const Host host{trace, OneRank(trace)};
    addProduct(host, 0, "bf16", 50257);
    for (int64_t step = 0; step < 5; ++step) {
      const int64_t begin = (10 + step) * kMs;
      trace.addRange(host.rank.process, host.rank.thread, begin, kMs, "step");
      host.launch(begin, begin + 5 * kUs, 600 * kUs);
      addProduct(host, begin + 700 * kUs, "bf16", 1001);
    }
  }
  const Advice advice = adviceOn(file);
  ASSERT_TRUE(advice.steps);
  EXPECT_EQ(std::ranges::count(advice.findings, "misaligned_gemms", &Finding::rule), 1);
  EXPECT_FALSE(findingOf(advice, "misaligned_gemms")->isOutsideSteps);
}

TEST(Rules, MemoryBoundChain) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const Host host{trace, OneRank(trace)};
    trace.addRoof(host.rank.process, 0, "memory", 1e9);
    trace.addRoof(host.rank.process, 0, "fp32", 1e12);
    for (int64_t i = 0; i < 4; ++i) {
      const int64_t begin = i * kMs;
      const int64_t range = trace.addRange(host.rank.process, host.rank.thread, begin, 10 * kUs, "gelu");
      trace.addPayload(range, "flops", int64_t{1000});
      trace.addPayload(range, "bytes", int64_t{900'000});
      host.launch(begin + kUs, begin + 20 * kUs, kMs - 20 * kUs, "gelu");
    }
  }
  EXPECT_EQ(gainOf(adviceOn(file), "fusion"), 4 * (kMs - 20 * kUs) / 2);  // in pairs: what is read is not declared
}

TEST(Rules, LossScaleSkips) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const Host host{trace, OneRank(trace)};
    for (int64_t step = 0; step < 10; ++step) {
      trace.addRange(host.rank.process, host.rank.thread, step * kMs, 900 * kUs, "step");
      host.launch(step * kMs + kUs, step * kMs + 5 * kUs, 800 * kUs);
      if (step < 3) trace.addRange(host.rank.process, host.rank.thread, step * kMs + 850 * kUs, kUs, "skipped step", 1);
    }
  }
  const Advice advice = adviceOn(file);
  EXPECT_EQ(gainOf(advice, "loss_scale_skips"), 3 * 900 * kUs);
  EXPECT_THAT(findingOf(advice, "loss_scale_skips")->finding, HasSubstr("3 of 10 steps"));
}

TEST(Rules, TheWholeModelInHalf) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const Host host{trace, OneRank(trace)};
    for (int64_t i = 0; i < 3; ++i)
      host.launch(i * kMs, i * kMs + 5 * kUs, 100 * kUs, "adamwInHalf(__half*, __half const*)");
    host.launch(4 * kMs, 4 * kMs + 5 * kUs, 100 * kUs, "adamw(float*, float const*)");
    trace.addPayload(trace.addRange(host.rank.process, host.rank.thread, 3 * kMs, kUs, "weights that are inf or nan"),
                     "payload", int64_t{17});
  }
  const auto finding = findingOf(adviceOn(file), "half_model");
  ASSERT_TRUE(finding);
  EXPECT_THAT(finding->finding, HasSubstr("3 times; the program counted weights that are inf or nan: 17"));
  EXPECT_EQ(finding->gain, std::nullopt);
}

TEST(Rules, MasterWeightsAreNoModelInHalf) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const Host host{trace, OneRank(trace)};
    host.launch(0, 5 * kUs, 100 * kUs, "multi_tensor_apply_kernel<AdamFunctorMaster<c10::Half, float>>(int)");
    host.launch(kMs, kMs + 5 * kUs, 100 * kUs, "FusedAdamMathFunctor<float, 4>(float const*)");
  }
  EXPECT_EQ(gainOf(adviceOn(file), "half_model"), -1);
}

// Matrix products in steps with a backward pass; where the loss is scaled, with ranges called unscale.
void addTraining(const Host& host, const char* type, bool isScaled) {
  for (int64_t step = 0; step < 5; ++step) {
    const int64_t begin = step * kMs;
    host.trace.addRange(host.rank.process, host.rank.thread, begin, 300 * kUs, "backward");
    addProduct(host, begin + 10 * kUs, type, 512);
    if (!isScaled) continue;
    const int64_t range =
        host.trace.addRange(host.rank.process, host.rank.thread, begin + 400 * kUs, 100 * kUs, "unscale");
    host.trace.addPayload(range, "payload", int64_t{65536});
    host.launch(begin + 410 * kUs, begin + 420 * kUs, 50 * kUs, "scaleAndCheck");
  }
}

TEST(Rules, Fp16NeedsALossScale) {
  for (const bool isScaled : {false, true}) {
    const TraceFile file;
    {
      TraceBuilder trace(file.path());
      addTraining({trace, OneRank(trace)}, "fp16", isScaled);
    }
    const Advice advice = adviceOn(file);
    EXPECT_EQ(findingOf(advice, "fp16_without_scaler").has_value(), !isScaled);
    EXPECT_FALSE(findingOf(advice, "needless_scaler"));
  }
}

TEST(Rules, AScalerWhoseNumbersWereNotRecordedIsOne) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const Host host{trace, OneRank(trace)};
    addTraining(host, "fp16", false);
    host.launch(6 * kMs, 6 * kMs + 10 * kUs, 5 * kUs, "amp_update_scale_cuda_kernel");
  }
  EXPECT_FALSE(findingOf(adviceOn(file), "fp16_without_scaler"));
}

TEST(Rules, Bf16NeedsNoLossScale) {
  for (const bool isScaled : {false, true}) {
    const TraceFile file;
    {
      TraceBuilder trace(file.path());
      addTraining({trace, OneRank(trace)}, "bf16", isScaled);
    }
    const Advice advice = adviceOn(file);
    EXPECT_EQ(gainOf(advice, "needless_scaler"), isScaled ? 5 * 50 * kUs : -1);
    EXPECT_FALSE(findingOf(advice, "fp16_without_scaler"));
  }
}

TEST(Rules, InferenceInFp16NeedsNoLossScale) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    addProduct({trace, OneRank(trace)}, 0, "fp16", 512);
  }
  EXPECT_EQ(gainOf(adviceOn(file), "fp16_without_scaler"), -1);
}

}  // namespace
}  // namespace plumb::test
