// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/trace/trace.h"
#include "tests/unit/analyzer/testing.h"

namespace plumb::test {
namespace {

class Functions : public testing::Test {
 protected:
  Functions() {
    TraceBuilder(m_file.path()).finish();
    m_trace.emplace(valueOf(Trace::open(m_file.path())));
  }
  // "null" for NULL.
  std::string value(const std::string& expression, const std::string& values) {
    auto rows = valueOf(m_trace->query("WITH t(x) AS (VALUES " + values + ") SELECT " + expression + " FROM t"));
    if (!rows.next()) return errorOf(rows.status());
    return rows.isNull(0) ? "null" : std::string(rows.text(0));
  }
  TraceFile m_file;
  std::optional<Trace> m_trace;
};

TEST_F(Functions, Median) {
  EXPECT_EQ(value("median(x)", "(3),(1),(2)"), "2.0");
  EXPECT_EQ(value("median(x)", "(4),(1),(2),(3)"), "2.5");
  EXPECT_EQ(value("median(x)", "(5),(NULL)"), "5.0");
  EXPECT_EQ(value("median(x)", "(NULL)"), "null");
}

TEST_F(Functions, TakeNoTextForANumber) {
  EXPECT_THAT(value("median(x)", "(1),('abc')"), testing::HasSubstr("is no number"));
  EXPECT_THAT(value("percentile(x, 'half')", "(1)"), testing::HasSubstr("is no number"));
  EXPECT_EQ(value("median(x)", "('2'),(4)"), "3.0");
}

TEST_F(Functions, PercentileInterpolates) {
  EXPECT_EQ(value("percentile(x, 0)", "(10),(20),(30)"), "10.0");
  EXPECT_EQ(value("percentile(x, 100)", "(10),(20),(30)"), "30.0");
  EXPECT_EQ(value("percentile(x, 25)", "(10),(20),(30)"), "15.0");
  EXPECT_THAT(value("percentile(x, 101)", "(1)"), testing::HasSubstr("from 0 to 100"));
}

TEST_F(Functions, DeviationIsOfASample) {
  EXPECT_EQ(value("round(stddev(x), 6)", "(2),(4),(4),(4),(5),(5),(7),(9)"), "2.13809");
  EXPECT_EQ(value("stddev(x)", "(2)"), "null");
}

TEST_F(Functions, GeometricMeanIsOfPositiveValues) {
  EXPECT_EQ(value("round(geometric_mean(x), 9)", "(1),(10),(100),(NULL)"), "10.0");
  EXPECT_EQ(value("round(geometric_mean(x) / 1e300, 9)", "(1e300),(1e300)"), "1.0");
  EXPECT_EQ(value("geometric_mean(x)", "(1),(0)"), "null");
  EXPECT_EQ(value("geometric_mean(x)", "(NULL)"), "null");
}

TEST_F(Functions, HistogramCountsEveryValueOnce) {
  EXPECT_EQ(value("histogram(x, 2)", "(0),(1),(2),(3),(4),(NULL)"),
            R"([{"low":0,"high":2,"count":2},{"low":2,"high":4,"count":3}])");
  EXPECT_EQ(value("histogram(x, 5)", "(7),(7)"), R"([{"low":7,"high":7,"count":2}])");
  EXPECT_EQ(value("json_array_length(histogram(x))", "(0),(1)"), "10");
  EXPECT_EQ(value("(SELECT sum(json_extract(b.value, '$.count')) FROM json_each(histogram(x, 7)) b)",
                  "(-1e308),(1e308),(0),(9e999)"),
            "4");
  EXPECT_EQ(value("histogram(x, 2)", "(9e999)"), R"([{"low":null,"high":null,"count":1}])");
  EXPECT_EQ(value("histogram(x, 1)", "(9e999),(0),(2),(-9e999),(9e999)"),
            R"([{"low":null,"high":0,"count":1},{"low":0,"high":2,"count":2},{"low":2,"high":null,"count":2}])");
  EXPECT_EQ(value("histogram(x, 2)", "(NULL)"), "null");
  EXPECT_THAT(value("histogram(x, 0)", "(1)"), testing::HasSubstr("1 to 10000"));
  EXPECT_THAT(value("histogram(x, 1e9)", "(1)"), testing::HasSubstr("1 to 10000"));
}

TEST_F(Functions, DemangleLeavesOtherTextAlone) {
  EXPECT_EQ(value("demangle(x)", "('_Z6kernelIfEvPT_i')"), "void kernel<float>(float*, int)");
  for (const char* plain : {"i", "gemm", "_Znonsense", ""}) {
    EXPECT_EQ(value("demangle(x)", std::string("('") + plain + "')"), plain);
  }
  EXPECT_EQ(value("demangle(x)", "(NULL)"), "null");
  EXPECT_EQ(value("typeof(demangle(x))", "(5)"), "integer");
}

TEST_F(Functions, WorkPerGroup) {
  auto rows = valueOf(m_trace->query(
      "WITH t(g, x) AS (VALUES ('a', 1), ('b', 7), ('a', 3)) SELECT g, median(x) FROM t GROUP BY g ORDER BY g"));
  ASSERT_TRUE(rows.next());
  EXPECT_EQ(rows.real(1), 2);
  ASSERT_TRUE(rows.next());
  EXPECT_EQ(rows.real(1), 7);
}

}  // namespace
}  // namespace plumb::test
