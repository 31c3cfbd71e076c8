// SPDX-License-Identifier: Apache-2.0
#include "analyzer/compare/gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "analyzer/reports/reports.h"
#include "analyzer/sqlext/sql_surface.h"
#include "tests/unit/analyzer/testing.h"

namespace plumb::compare {
namespace {

using test::errorOf;
using test::valueOf;
using testing::HasSubstr;

class Gate : public testing::Test {
 protected:
  Gate() {
    test::makeSampleTrace(m_file.path(), {.ranks = 1, .layers = 1, .steps = 4});
    m_trace.emplace(valueOf(Trace::open(m_file.path())));
    valueOf(registerSqlSurface(*m_trace, valueOf(findReports({}))));
  }
  ~Gate() override { std::remove(m_rules.c_str()); }
  Result<std::vector<GateResult>> check(const std::string& rules, Trace* baseline = nullptr) {
    const bool isYaml = rules.find("rules:") == 0;
    std::ofstream(m_rules) << rules;
    return isYaml ? checkYamlRules(*m_trace, baseline, m_rules) : checkSqlRules(*m_trace, m_rules);
  }
  GateResult only(const std::string& rules, Trace* baseline = nullptr) {
    auto results = valueOf(check(rules, baseline));
    if (results.size() != 1) throw std::runtime_error("not one result");
    return results[0];
  }

  test::TraceFile m_file;
  std::optional<Trace> m_trace;
  std::string m_rules = m_file.path() + ".rules";
};

TEST_F(Gate, SqlThatFindsNoViolationPasses) {
  const GateResult result = only("-- check: kernels have a name\nSELECT * FROM kernels WHERE name = '';");
  EXPECT_TRUE(result.passed);
  EXPECT_EQ(result.name, "kernels have a name");
}

TEST_F(Gate, SqlThatFindsViolationsFailsWithTheFirstRow) {
  const GateResult result = only("SELECT 7 AS id, 'slow' AS why UNION ALL SELECT 8, NULL");
  EXPECT_FALSE(result.passed);
  EXPECT_EQ(result.name, "statement 1");
  EXPECT_EQ(result.detail, "id = 7, why = slow (and 1 more rows)");
}

TEST_F(Gate, SqlOfTruthHasOneResultPerRow) {
  const auto results = valueOf(check(
      "SELECT 'a' AS check_name, 1 AS passed, 5 AS detail UNION ALL SELECT 'b', 0, 6 UNION ALL SELECT 'c', NULL, 7"));
  ASSERT_EQ(results.size(), 3u);
  EXPECT_TRUE(results[0].passed);
  EXPECT_FALSE(results[1].passed);
  EXPECT_EQ(results[1].name, "b");
  EXPECT_THAT(results[1].detail, HasSubstr("detail = 6"));
  EXPECT_FALSE(results[2].passed) << "an unknown truth is not a pass";
}

TEST_F(Gate, SqlOfTruthWithoutRowsFails) { EXPECT_FALSE(only("SELECT 1 AS passed WHERE 0").passed); }

TEST_F(Gate, SqlStatementsAreAllChecked) {
  const auto results = valueOf(check("-- check: one\nSELECT 1 WHERE 0;\n-- check: two\nSELECT 2;\n\n-- the end\n"));
  ASSERT_EQ(results.size(), 2u);
  EXPECT_TRUE(results[0].passed);
  EXPECT_EQ(results[1].name, "two");
  EXPECT_FALSE(results[1].passed);
}

TEST_F(Gate, SqlErrorsNameThePlace) {
  const std::string error = errorOf(check("SELECT 1 WHERE 0;\nSELECT * FROM nowhere;"));
  EXPECT_THAT(error, HasSubstr(".rules"));
  EXPECT_THAT(error, HasSubstr("nowhere"));
  EXPECT_THAT(error, HasSubstr("line 2"));
}

TEST_F(Gate, SqlCannotWrite) { EXPECT_NE(errorOf(check("DELETE FROM kernel")), ""); }

TEST_F(Gate, RulesWithoutAStatementAreAnError) {
  EXPECT_THAT(errorOf(check("-- nothing\n")), HasSubstr("no statement"));
  EXPECT_THAT(errorOf(checkSqlRules(*m_trace, "/does/not/exist.sql")), HasSubstr("cannot be read"));
}

TEST_F(Gate, YamlLimitsWithUnits) {
  const auto results =
      valueOf(check("rules:\n"
                    "  - {name: at most, value: SELECT 2000000, max: 2ms}\n"
                    "  - {name: too much, value: SELECT 2000001, max: 2ms}\n"
                    "  - {name: between, value: SELECT 5, min: 1, max: 10}\n"
                    "  - {name: equal, value: SELECT 1073741824, equals: 1 GiB}\n"
                    "  - {value: SELECT 5, min: 6}\n"));
  ASSERT_EQ(results.size(), 5u);
  EXPECT_TRUE(results[0].passed);
  EXPECT_FALSE(results[1].passed);
  EXPECT_THAT(results[1].detail, HasSubstr("2000001 = 2.00 ms (max 2ms)"));
  EXPECT_TRUE(results[2].passed);
  EXPECT_TRUE(results[3].passed);
  EXPECT_EQ(results[4].name, "rule 5");
  EXPECT_FALSE(results[4].passed);
}

TEST_F(Gate, YamlReadsReports) {
  EXPECT_TRUE(only("rules:\n  - {name: steps, value: SELECT count(*) FROM analysis_steps, equals: 4}\n").passed);
}

TEST_F(Gate, YamlNullFails) {
  const GateResult result = only("rules:\n  - {name: unknown, value: SELECT NULL, max: 1}\n");
  EXPECT_FALSE(result.passed);
  EXPECT_EQ(result.detail, "cannot say, because the value is NULL");
  EXPECT_FALSE(only("rules:\n  - {name: no row, value: SELECT 1 WHERE 0, max: 1}\n").passed);
}

TEST_F(Gate, YamlErrorsNameTheLine) {
  const std::pair<const char*, const char*> kBad[] = {
      {"rules:\n  - {name: a, value: SELECT 1}\n", "line 2: the rule has a value but neither"},
      {"rules:\n  - name: a\n    value: SELECT 1\n    max: soon\n", "line 4: 'soon' is no number"},
      {"rules:\n  - name: a\n    value: SELEC 1\n    max: 1\n", "line 3: "},
      {"rules:\n  - {name: a}\n", "line 2: the rule has neither"},
      {"rules:\n  - just a text\n", "line 2: a rule is a map"},
      {"rules: 5\n", "no list 'rules'"},
      {"rules:\n  - {name: [\n", "line "},
      {"rules:\n  - {name: a, value: SELECT 1, maximum: 3, max: 5}\n", "line 2: 'maximum' is none of"},
      {"rules:\n  - {name: a, max_slowdown_pct: 3}\n", "needs --baseline"}};
  for (const auto& [rules, message] : kBad) EXPECT_THAT(errorOf(check(rules)), HasSubstr(message)) << rules;
}

TEST_F(Gate, SlowdownAgainstABaseline) {
  Trace same = valueOf(Trace::open(m_file.path()));
  const GateResult result = only("rules:\n  - {name: no slower, max_slowdown_pct: 3}\n", &same);
  EXPECT_TRUE(result.passed) << result.detail;
  EXPECT_THAT(result.detail, HasSubstr("allowed +3.00 %"));
}

TEST(Quantity, HasAUnit) {
  EXPECT_EQ(parseQuantity("3"), 3);
  EXPECT_EQ(parseQuantity("1.5ms"), 1.5e6);
  EXPECT_EQ(parseQuantity("2 us"), 2e3);
  EXPECT_EQ(parseQuantity("2 GiB"), 2147483648.0);
  EXPECT_EQ(parseQuantity("-1"), -1);
  EXPECT_EQ(parseQuantity("1 fortnight"), std::nullopt);
  EXPECT_EQ(parseQuantity(""), std::nullopt);
  EXPECT_EQ(parseQuantity("nan"), std::nullopt);
}

}  // namespace
}  // namespace plumb::compare
