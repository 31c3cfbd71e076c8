// SPDX-License-Identifier: Apache-2.0
// The work of operators in real recordings of other people, which are not part of the project: PLUMB_TEST_TRACES names
// the folder that holds them.
#include <gmock/gmock.h>

#include <cstdlib>
#include <map>
#include <string>
#include <utility>

#include "analyzer/analyses/roofline.h"
#include "analyzer/trace/trace.h"
#include "tests/unit/analyzer/import/support.h"

namespace plumb::test {
namespace {

class OperatorWorkTest : public ImportTest {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("PLUMB_TEST_TRACES");
    if (folder == nullptr || *folder == 0) GTEST_SKIP() << "PLUMB_TEST_TRACES names no folder of recordings";
    m_recordings = std::string(folder) + "/kineto/";
  }
  DeviceRoofline rooflineOf(const std::string& name) {
    std::remove(output().c_str());
    const auto result = import({m_recordings + name + ".json.gz"});
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
    auto trace = Trace::open(output());
    EXPECT_TRUE(trace.ok()) << (trace.ok() ? "" : trace.error().message);
    auto devices = analyzeRoofline(trace.value(), {}, RooflineBy::Operation);
    EXPECT_TRUE(devices.ok() && devices.value().size() == 1) << name;
    return devices.value().at(0);
  }
  std::string m_recordings;
};

RooflinePoint pointOf(const DeviceRoofline& roofline, std::string_view operation) {
  for (const RooflinePoint& point : roofline.points) {
    if (point.operation == operation) return point;
  }
  ADD_FAILURE() << operation;
  return {};
}

// 8.2 GFLOP (4.1 G multiply-adds) per picture are what papers give for ResNet-50; six steps of 32 pictures. Its
// recording has no values of arguments.
TEST_F(OperatorWorkTest, OfResNet50IsThatOfItsPaper) {
  const DeviceRoofline roofline = rooflineOf("resnet50_2021_memory");
  const RooflinePoint forward = pointOf(roofline, "aten::cudnn_convolution");
  EXPECT_NEAR(forward.flops / (6 * 32), 8.2e9, 0.05e9);
  EXPECT_DOUBLE_EQ(pointOf(roofline, "aten::cudnn_convolution_backward_weight").flops, forward.flops);
  // The first layer's input needs no gradient: 7 x 7 of 3 channels to 64 of 112 x 112.
  EXPECT_DOUBLE_EQ(pointOf(roofline, "aten::cudnn_convolution_backward_input").flops,
                   forward.flops - 2.0 * 6 * 32 * (64 * 112 * 112) * (7 * 7 * 3));
  EXPECT_LT(roofline.unknownDuration.ns() * 100, roofline.knownDuration.ns());
}

// torch names the operands' type; that they are multiplied in tf32 only the kernel's name tells.
TEST_F(ImportTest, ProductsOfFloatsAreInTf32WhereTheKernelSaysSo) {
  const auto product = [](const char* ts, int external) {
    return hostEvent("cpu_op", "aten::mm", ts, "5",
                     R"({"External id": )" + std::to_string(external) +
                         R"(, "Input Dims": [[64, 32], [32, 16]], "Input type": ["float", "float"]})");
  };
  const auto kernel = [](const char* name, const char* ts, int external) {
    return kernelEvent(name, ts, "7", external + 100, R"(, "External id": )" + std::to_string(external));
  };
  imported(traceOf({product("10", 1), product("20", 2), kernel("cutlass_80_tensorop_s1688gemm_128x128_nn", "30", 1),
                    kernel("ampere_sgemm_128x64_nn", "40", 2)}));
  auto trace = Trace::open(output());
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  const auto devices = analyzeRoofline(trace.value(), {}, RooflineBy::Kernel);
  ASSERT_TRUE(devices.ok() && devices.value().size() == 1);
  std::map<std::string, std::pair<std::string, bool>> precisions;
  for (const RooflinePoint& point : devices.value()[0].points)
    precisions[point.name] = {point.precision, point.precisionAssumed};
  using testing::Pair;
  EXPECT_THAT(precisions,
              testing::UnorderedElementsAre(Pair("cutlass_80_tensorop_s1688gemm_128x128_nn", Pair("tf32", false)),
                                            Pair("ampere_sgemm_128x64_nn", Pair("fp32", true))));
}

// 16 sequences of 559 tokens, 16 heads of 64, causal, in 24 layers.
TEST_F(OperatorWorkTest, OfALanguageModelsAttention) {
  const DeviceRoofline roofline = rooflineOf("mi300_qwen05b");
  const RooflinePoint attention = pointOf(roofline, "aten::_flash_attention_forward");
  EXPECT_DOUBLE_EQ(attention.flops, 24 * 2.0 * (16 * 16) * (559 * 560 / 2.0) * (64 + 64));
  EXPECT_DOUBLE_EQ(attention.bytes, 24 * 4.0 * (16 * 559 * 16 * 64) * 2);
  // 48 times the halves of rotated queries or keys, and once the angles in fp32.
  EXPECT_DOUBLE_EQ(pointOf(roofline, "aten::cat").bytes, 48 * 4.0 * (16 * 16 * 559 * 32) * 2 + 4.0 * (559 * 32) * 4);
  for (const UnknownWork& unknown : roofline.withoutFlops) EXPECT_EQ(unknown.operation, "") << unknown.name;
}

TEST_F(OperatorWorkTest, OfModelsWithoutGraphsIsKnownWhole) {
  for (const char* name : {"h100_bert_small", "h100_image_classifier", "mi300_bert_small", "rocm_mi250_minitoy"}) {
    const DeviceRoofline roofline = rooflineOf(name);
    EXPECT_TRUE(roofline.withoutFlops.empty()) << name;
    for (const RooflinePoint& point : roofline.points) {
      EXPECT_NE(point.verdict, Verdict::AboveRoof) << name << ": " << point.operation << ", " << point.reason;
    }
  }
}

}  // namespace
}  // namespace plumb::test
