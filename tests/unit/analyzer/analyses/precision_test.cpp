// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/precision.h"

#include <gtest/gtest.h>

#include "tests/unit/analyzer/testing.h"

namespace plumb::test {
namespace {

TEST(Precision, OfLibraryCalls) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    trace.addRange(rank.process, rank.thread, 0, 1000, "autocast forward");
    int64_t external = 1;
    for (const char* type : {"bf16", "bf16", "fp32"}) {
      trace.addLibraryCall({.process = rank.process,
                            .thread = rank.thread,
                            .startNs = external * 100,
                            .durationNs = 10,
                            .m = 2,
                            .n = 3,
                            .k = 5,
                            .computeType = type,
                            .externalId = external});
      trace.addLink(rank.process, external, external + 50);
      trace.addKernel(rank.work(external * 100 + 20, 40, external + 50), "gemm");
      ++external;
    }
    const int64_t cast = trace.addRange(rank.process, rank.thread, 500, 10, "cast", 1);
    trace.addPayload(cast, "bytes", int64_t{600});
    trace.addPayload(cast, "flops", int64_t{0});
    trace.addApiCall(rank.process, rank.thread, 502, 3, "cudaLaunchKernel", 90);
    trace.addKernel(rank.work(520, 7, 90), "cast");
    const int64_t unscale = trace.addRange(rank.process, rank.thread, 600, 10, "unscale", 1);
    trace.addPayload(unscale, "payload", int64_t{65536});
    trace.addRange(rank.process, rank.thread, 620, 1, "skipped step", 1);
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const auto processes = valueOf(analyzePrecision(trace, {}));
  ASSERT_EQ(processes.size(), 1u);
  const ProcessPrecision& p = processes[0];
  ASSERT_EQ(p.products.size(), 2u);
  EXPECT_EQ(p.products[0].dtype, "bf16");
  EXPECT_EQ(p.products[0].count, 2);
  EXPECT_DOUBLE_EQ(*p.products[0].flops, 120);
  EXPECT_EQ(p.products[0].gpuTime, Duration(80));
  EXPECT_EQ(p.products[1].inAutocast, 1);
  ASSERT_EQ(p.conversions.size(), 1u);
  EXPECT_EQ(p.conversions[0].bytes, 600);
  EXPECT_EQ(p.conversions[0].gpuTime, Duration(7));
  ASSERT_EQ(p.scales.size(), 1u);
  EXPECT_DOUBLE_EQ(p.scales[0].scale, 65536);
  EXPECT_EQ(p.skippedSteps.size(), 1u);
}

TEST(Precision, OfAFrameworksOperators) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    const auto id = [&](const char* text) { return std::to_string(trace.text(text)); };
    const std::string common = std::to_string(rank.process) + "," + std::to_string(rank.thread);
    trace.execute("INSERT INTO operator_argument_set VALUES(1," + id("[[5], [4, 3], [3, 5], [], []]") + "," +
                  id(R"(["c10::Half", "c10::Half", "c10::Half", "Scalar", "Scalar"])") + ",0,0,0),(2," +
                  id("[[10, 2], [10, 2], []]") + "," + id(R"(["float", "c10::BFloat16", "Scalar"])") + ",0,0,0)");
    trace.execute(
        "INSERT INTO operator(id, process_id, thread_id, start_ns, duration_ns, name_id, argument_set_id) VALUES"
        "(1," +
        common + ",0,10," + id("aten::addmm") + ",1),(2," + common + ",20,10," + id("aten::copy_") + ",2)");
    trace.execute("INSERT INTO operator_launch VALUES(" + std::to_string(rank.process) + ",7,1),(" +
                  std::to_string(rank.process) + ",8,2)");
    trace.addKernel(rank.work(100, 40, 7), "gemm");
    trace.addKernel(rank.work(150, 5, 8), "copy");
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const auto processes = valueOf(analyzePrecision(trace, {}));
  ASSERT_EQ(processes.size(), 1u);
  ASSERT_EQ(processes[0].products.size(), 1u);
  EXPECT_EQ(processes[0].products[0].dtype, "fp16");
  EXPECT_DOUBLE_EQ(*processes[0].products[0].flops, 2.0 * 4 * 3 * 5);
  EXPECT_EQ(processes[0].products[0].gpuTime, Duration(40));
  EXPECT_EQ(processes[0].products[0].inAutocast, std::nullopt);
  ASSERT_EQ(processes[0].conversions.size(), 1u);
  EXPECT_EQ(processes[0].conversions[0].types, "bf16 to fp32");
  EXPECT_EQ(processes[0].conversions[0].bytes, 20 * 6);
  EXPECT_EQ(processes[0].conversions[0].gpuTime, Duration(5));
}

TEST(Precision, OfKernelNames) {
  EXPECT_EQ(formatOfGemmKernel("ampere_sgemm_128x64_tn"), "fp32");
  EXPECT_EQ(formatOfGemmKernel("ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_tn"), "fp16");
  EXPECT_EQ(formatOfGemmKernel("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64_cublas"), "bf16");
  EXPECT_EQ(formatOfGemmKernel("cutlass_80_tensorop_s1688gemm_128x128_16x5_nn_align4"), "tf32");
  EXPECT_EQ(formatOfGemmKernel("volta_h884gemm_128x64_ldg8_nn"), "fp16");
  EXPECT_EQ(formatOfGemmKernel("Cijk_Alik_Bljk_B_BS_BH_Bias_HA_S_SAV"), "bf16");
  EXPECT_EQ(formatOfGemmKernel("Cijk_Ailk_Bljk_SB_MT128x128x16"), "fp32");
  EXPECT_EQ(formatOfGemmKernel("some_gemm"), "unknown");
  EXPECT_EQ(formatOfGemmKernel("vectorized_elementwise_kernel"), "");
}

TEST(Precision, AFallOfTheScaleIsASkippedStep) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    int64_t at = 0;
    for (const int64_t scale : {1024, 512, 512, 1024}) {
      trace.execute("INSERT INTO counter_sample VALUES(" + std::to_string(rank.process) + "," + std::to_string(++at) +
                    "," + std::to_string(trace.text("grad_scaler/loss_scale")) + "," + std::to_string(scale) + ")");
    }
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const auto processes = valueOf(analyzePrecision(trace, {}));
  ASSERT_EQ(processes.size(), 1u);
  EXPECT_FALSE(processes[0].skipsAreDeclared);
  EXPECT_EQ(processes[0].skippedSteps, std::vector<TimePoint>{TimePoint(2)});
}

}  // namespace
}  // namespace plumb::test
