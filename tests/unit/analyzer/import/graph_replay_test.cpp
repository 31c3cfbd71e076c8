// SPDX-License-Identifier: Apache-2.0
// The operators of what a graph replays, from the trace of its capture.
#include "analyzer/analyses/tracelens_gemm.h"
#include "analyzer/trace/trace.h"
#include "tests/unit/analyzer/import/support.h"

namespace plumb::test {
namespace {

std::string multiply(const std::string& ts, const std::string& rows) {
  return hostEvent("cpu_op", "aten::mm", ts, "8",
                   R"({"Input Dims": [[)" + rows + R"(, 4], [4, 2]], "Input type": ["float", "float"]})");
}

std::string call(const std::string& name, const std::string& ts, int correlation) {
  return hostEvent("cuda_runtime", name, ts, "1", R"({"correlation": )" + std::to_string(correlation) + "}");
}

// Two products; their launches have no work, as the stream is being captured.
std::vector<std::string> captureAt(int us, const std::string& rows) {
  const auto at = [&](int after) { return std::to_string(us + after); };
  return {call("cudaStreamBeginCapture_v10000", at(0), 100 * us), multiply(at(10), rows),
          call("cudaLaunchKernel", at(12), 100 * us + 1),         multiply(at(20), rows),
          call("cudaLaunchKernel", at(22), 100 * us + 2),         call("cudaStreamEndCapture", at(40), 100 * us + 3)};
}

std::vector<std::string> replay() {
  return {call("cudaGraphLaunch", "900", 7), kernelEvent("gemm", "910", "3", 7), kernelEvent("gemm", "920", "5", 7)};
}

class GraphReplayTest : public ImportTest {
 protected:
  std::vector<CellRow> productsIn(std::vector<std::string> events, const std::vector<std::string>& more) {
    events.insert(events.end(), more.begin(), more.end());
    imported(traceOf(events));
    auto trace = Trace::open(output());
    EXPECT_TRUE(trace.ok());
    auto rows = traceLensGemmRows(trace.value(), {});
    EXPECT_TRUE(rows.ok());
    return rows.value();
  }
};

constexpr size_t kName = 1, kM = 3, kCalls = 14, kTime = 15;

TEST_F(GraphReplayTest, ProductsAreThoseOfTheCapture) {
  const auto rows = productsIn(captureAt(10, "16"), replay());
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(std::get<std::string>(rows[0][kName]), "aten::mm");
  EXPECT_EQ(std::get<int64_t>(rows[0][kM]), 16);
  EXPECT_EQ(std::get<int64_t>(rows[0][kCalls]), 2);
  EXPECT_NEAR(std::get<double>(rows[0][kTime]), 8, 0.01);
}

// Graphs for several batch sizes have the same number of nodes: nothing tells which one was replayed.
TEST_F(GraphReplayTest, OfCapturesThatFitAlikeNoneIsChosen) {
  std::vector<std::string> captures = captureAt(10, "16");
  const auto second = captureAt(100, "32");
  captures.insert(captures.end(), second.begin(), second.end());
  const auto rows = productsIn(captures, replay());
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<std::nullptr_t>(rows[0][kName]));
  EXPECT_EQ(std::get<int64_t>(rows[0][kCalls]), 2);
  EXPECT_NE(std::get<std::string>(rows[0].back()).find("of the 2 captures"), std::string::npos);
}

}  // namespace
}  // namespace plumb::test
