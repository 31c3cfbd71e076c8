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

// aten::conv2d calls _convolution calls cudnn_convolution, which launches one kernel per call.
struct Convolutions {
  const char* types = "";  // of the operands, JSON; "": not recorded
  const char* kernel = "";
  int64_t computeMajor = 7;
};

std::vector<MatrixProducts> productsOf(const Convolutions& made) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    trace.execute("UPDATE device SET kind = 'gpu', compute_major = " + std::to_string(made.computeMajor));
    const auto id = [&](const char* text) { return std::to_string(trace.text(text)); };
    const std::string process = std::to_string(rank.process);
    const bool isTold = *made.types != '\0';
    if (isTold) {
      trace.execute("INSERT INTO operator_argument_set VALUES(1," + id("[[8, 3, 9, 9], [4, 3, 3, 3]]") + "," +
                    id(made.types) + ",0,0,0)");
    }
    int64_t at = 0;
    for (const char* name : {"aten::conv2d", "aten::_convolution", "aten::cudnn_convolution"}) {
      trace.execute(
          "INSERT INTO operator(id, process_id, thread_id, start_ns, duration_ns, name_id, argument_set_id) VALUES(" +
          std::to_string(at + 1) + "," + process + "," + std::to_string(rank.thread) + "," + std::to_string(at) + "," +
          std::to_string(90 - 2 * at) + "," + id(name) + "," + (isTold ? "1" : "NULL") + ")");
      ++at;
    }
    trace.execute("INSERT INTO operator_launch VALUES(" + process + ",7,3)");
    trace.addKernel(rank.work(100, 40, 7), made.kernel);
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const auto processes = valueOf(analyzePrecision(trace, {}));
  return processes.empty() ? std::vector<MatrixProducts>() : processes[0].products;
}

TEST(Precision, OfConvolutions) {
  const char* const fp32 = R"(["float", "float"])";
  const std::pair<Convolutions, const char*> kCases[] = {
      {{fp32, "volta_scudnn_128x64_relu_interior_nn_v1"}, "fp32"},
      {{R"(["c10::Half", "c10::Half"])", "implicit"}, "fp16"},
      {{"", "volta_scudnn_128x64_relu_interior_nn_v1"}, "fp32"},
      {{"", "some_kernel"}, "unknown"},
      {{fp32, "sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nchw", 8}, "tf32"},
      {{fp32, "some_kernel"}, "fp32"},
      {{fp32, "some_kernel", 8}, "unknown"}};
  for (const auto& [made, dtype] : kCases) {
    const auto products = productsOf(made);
    ASSERT_EQ(products.size(), 1u) << made.types << made.kernel;
    EXPECT_EQ(products[0].dtype, dtype) << made.types << made.kernel;
    EXPECT_EQ(products[0].count, 1) << "the innermost operator";
    EXPECT_EQ(products[0].gpuTime, Duration(40));
  }
}

TEST(Precision, OfKernelNames) {
  EXPECT_EQ(formatOfGemmKernel("ampere_sgemm_128x64_tn"), "fp32");
  EXPECT_EQ(formatOfGemmKernel("ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_tn"), "fp16");
  EXPECT_EQ(formatOfGemmKernel("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64_cublas"), "bf16");
  EXPECT_EQ(formatOfGemmKernel("cutlass_80_tensorop_s1688gemm_128x128_16x5_nn_align4"), "tf32");
  EXPECT_EQ(formatOfGemmKernel("volta_h884gemm_128x64_ldg8_nn"), "fp16");
  EXPECT_EQ(formatOfGemmKernel("Cijk_Alik_Bljk_B_BS_BH_Bias_HA_S_SAV"), "bf16");
  EXPECT_EQ(formatOfGemmKernel("Cijk_Ailk_Bljk_SB_MT128x128x16"), "fp32");
  EXPECT_EQ(formatOfGemmKernel("turing_fp16_s1688gemm_fp16_128x128_ldg8_f2f_tn"), "fp16");
  EXPECT_EQ(formatOfGemmKernel("volta_fp16_s884cudnn_fp16_256x64_ldg8_relu_f2f_exp_small_nhwc_tn_v1"), "fp16");
  EXPECT_EQ(formatOfGemmKernel("void implicit_convolve_sgemm<__half, __half, 128, 6, 7>(int)"), "fp16");
  EXPECT_EQ(formatOfGemmKernel("void implicit_convolve_sgemm<float, float, 128, 6, 7>(int)"), "fp32");
  EXPECT_EQ(formatOfGemmKernel("void cudnn::cnn::wgrad_alg0_engine<float, 128, 6, 7>(int)"), "fp32");
  EXPECT_EQ(formatOfGemmKernel("cutlass_tensorop_bf16_s16816fprop_optimized_bf16_256x64_32x4_nhwc_align8"), "bf16");
  EXPECT_EQ(formatOfGemmKernel("miopenSp3AsmConv_v30_3_1_gfx9_fp32_f2x3_stride1"), "fp32");
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
