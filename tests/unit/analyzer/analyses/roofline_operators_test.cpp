// SPDX-License-Identifier: Apache-2.0
// What operators' own arguments do not tell and other records do: types of lists, sizes of convolutions, and why the
// rest is unknown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "analyzer/analyses/roofline.h"

#include "tests/unit/analyzer/testing.h"

namespace plumb::test {
namespace {

class OperatorLaunches : public testing::Test {
 protected:
  struct Operator {
    std::string name, dims, types;
    std::string parent = "NULL", sequence = "NULL";
  };
  // Its id.
  std::string add(const Operator& op) {
    std::string id = std::to_string(++m_count);
    m_builder.execute("INSERT INTO operator_argument_set VALUES (" + id + ", " + text(op.dims) + ", " + text(op.types) +
                      ", 0, 0, 0)");
    m_builder.execute(
        "INSERT INTO operator (id, process_id, thread_id, start_ns, duration_ns, name_id, parent_id, argument_set_id,"
        " sequence) VALUES (" +
        id + ", " + std::to_string(m_rank.process) + ", " + std::to_string(m_rank.thread) + ", 0, 50, " +
        text(op.name) + ", " + op.parent + ", " + id + ", " + op.sequence + ")");
    return id;
  }
  void launch(const std::string& id, std::string_view kernel) {
    const int64_t correlation = m_builder.newCorrelation();
    m_builder.execute("INSERT INTO operator_launch VALUES (" + std::to_string(m_rank.process) + ", " +
                      std::to_string(correlation) + ", " + id + ")");
    m_builder.addKernel(m_rank.work(10'000 * correlation, 1000, correlation), kernel);
  }
  DeviceRoofline analyze() {
    m_builder.finish();
    Trace trace = valueOf(Trace::open(m_file.path()));
    return valueOf(analyzeRoofline(trace, {}, RooflineBy::Operation)).at(0);
  }
  static const RooflinePoint* pointOf(const DeviceRoofline& roofline, std::string_view operation) {
    for (const RooflinePoint& point : roofline.points) {
      if (point.operation == operation) return &point;
    }
    return nullptr;
  }
  std::string text(const std::string& value) { return std::to_string(m_builder.text(value)); }

  TraceFile m_file;
  TraceBuilder m_builder{m_file.path()};
  OneRank m_rank{m_builder};
  int64_t m_count = 0;
};

TEST_F(OperatorLaunches, AnyKernelOfAListTellsItsType) {
  const std::string norm = add({"aten::_foreach_norm", "[[[100], [20]], []]", R"(["TensorList", "Scalar"])"});
  launch(norm, "lpnorm_cleanup<…>(float*)");
  launch(norm, "multi_tensor_apply_kernel<TensorListMetadata<1>, LpNormFunctor<c10::Half, float, 1, 1, 0> >(int)");
  const DeviceRoofline roofline = analyze();
  const RooflinePoint* point = pointOf(roofline, "aten::_foreach_norm");
  ASSERT_TRUE(point);
  EXPECT_EQ(point->kernelCount, 2);
  EXPECT_EQ(point->bytes, 120 * 2);
  EXPECT_EQ(point->flops, 2 * 120);
  EXPECT_TRUE(roofline.withoutFlops.empty());
}

TEST_F(OperatorLaunches, AListWhoseTypeNoKernelTellsIsUnknown) {
  launch(add({"aten::cat", "[[[100], [20]], []]", R"(["TensorList", "Scalar"])"}), "somebody's_cat_kernel");
  const DeviceRoofline roofline = analyze();
  EXPECT_TRUE(roofline.points.empty());
  ASSERT_EQ(roofline.withoutFlops.size(), 1u);
  const UnknownWork& unknown = roofline.withoutFlops[0];
  EXPECT_EQ(unknown.operation, "aten::cat");
  EXPECT_EQ(unknown.count, 1);
  EXPECT_EQ(unknown.duration, Duration(1000));
  EXPECT_THAT(unknown.why, testing::HasSubstr("no kernel's name tells them"));
}

TEST_F(OperatorLaunches, AConvolutionWithoutValuesHasTheSizesOfItsBackward) {
  const char* types = R"(["float", "float", "", "GenericList"])";
  launch(add({.name = "aten::cudnn_convolution",
              .dims = "[[2, 3, 8, 8], [4, 3, 3, 3], [], []]",
              .types = types,
              .sequence = "7"}),
         "forward");
  launch(add({.name = "aten::cudnn_convolution",
              .dims = "[[2, 3, 9, 9], [4, 3, 3, 3], [], []]",
              .types = types,
              .sequence = "7"}),  // of another thread, for instance
         "other");
  const std::string node =
      add({.name = "CudnnConvolutionBackward", .dims = "[[2, 4, 6, 6]]", .types = R"(["float"])", .sequence = "7"});
  const std::string around = add({.name = "aten::cudnn_convolution_backward",
                                  .dims = "[[2, 3, 8, 8], [2, 4, 6, 6], [4, 3, 3, 3]]",
                                  .types = R"(["float", "float", "float"])",
                                  .parent = node});
  launch(add({.name = "aten::cudnn_convolution_backward_input",
              .dims = "[[], [2, 4, 6, 6], [4, 3, 3, 3]]",
              .types = R"(["GenericList", "float", "float"])",
              .parent = around}),
         "backward");
  const DeviceRoofline roofline = analyze();
  constexpr double kFlops = 2.0 * (2 * 4 * 36) * (3 * 9), kBytes = 4.0 * (2 * 3 * 64 + 2 * 4 * 36 + 4 * 27);
  for (const char* name : {"aten::cudnn_convolution", "aten::cudnn_convolution_backward_input"}) {
    const RooflinePoint* point = pointOf(roofline, name);
    ASSERT_TRUE(point) << name;
    EXPECT_EQ(point->kernelCount, 1);
    EXPECT_EQ(point->flops, kFlops);
    EXPECT_EQ(point->bytes, kBytes);
  }
  ASSERT_EQ(roofline.withoutFlops.size(), 1u);
  EXPECT_EQ(roofline.withoutFlops[0].name, "other");
  EXPECT_THAT(roofline.withoutFlops[0].why, testing::HasSubstr("values of its arguments"));
}

TEST_F(OperatorLaunches, KernelsOfOneNameAreToldApartByWhatLaunchedThem) {
  launch(add({"aten::index", "[[8], []]", R"(["float", ""])"}), "elementwise_kernel");
  launch(add({"mine::op", "[[8]]", R"(["float"])"}), "elementwise_kernel");
  m_builder.addKernel(m_rank.work(500'000, 10), "elementwise_kernel");
  const DeviceRoofline roofline = analyze();
  ASSERT_EQ(roofline.withoutFlops.size(), 3u);
  std::set<std::string> operations;
  for (const UnknownWork& unknown : roofline.withoutFlops) {
    EXPECT_EQ(unknown.name, "elementwise_kernel");
    EXPECT_EQ(unknown.why.empty(), unknown.operation.empty());
    operations.insert(unknown.operation);
  }
  EXPECT_EQ(operations, (std::set<std::string>{"", "aten::index", "mine::op"}));
}

}  // namespace
}  // namespace plumb::test
