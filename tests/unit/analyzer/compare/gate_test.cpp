// SPDX-License-Identifier: Apache-2.0
#include "analyzer/compare/gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
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
  // Why the only rule could not be run.
  std::string problemOf(const std::string& rules) { return only(rules).error; }
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

TEST_F(Gate, SqlColumnsHaveNoCase) {
  const GateResult result = only("SELECT 'a' AS Check_Name, 0 AS PASSED");
  EXPECT_EQ(result.name, "a");
  EXPECT_FALSE(result.passed);
  EXPECT_TRUE(only("SELECT 1 AS Passed").passed);
}

TEST_F(Gate, SqlOfTruthWithoutRowsFails) { EXPECT_FALSE(only("SELECT 1 AS passed WHERE 0").passed); }

TEST_F(Gate, SqlStatementsAreAllChecked) {
  const auto results = valueOf(check("-- check: one\nSELECT 1 WHERE 0;\n-- check: two\nSELECT 2;\n\n-- the end\n"));
  ASSERT_EQ(results.size(), 2u);
  EXPECT_TRUE(results[0].passed);
  EXPECT_EQ(results[1].name, "two");
  EXPECT_FALSE(results[1].passed);
}

TEST_F(Gate, SqlErrorsNameThePlaceAndTheOthersAreChecked) {
  const auto results =
      valueOf(check("SELECT 1 WHERE 0;\n-- check: typo\nSELECT * FROM nowhere WHERE name = ';';\nSELECT (;\n-- check: "
                    "last\nSELECT 5;"));
  ASSERT_EQ(results.size(), 4u);
  EXPECT_TRUE(results[0].passed);
  EXPECT_EQ(results[1].name, "typo");
  EXPECT_FALSE(results[1].passed);
  for (const char* part : {".rules, line 3, typo", "nowhere"}) EXPECT_THAT(results[1].error, HasSubstr(part));
  EXPECT_THAT(results[2].error, HasSubstr("line 4, statement 3"));
  EXPECT_EQ(results[3].name, "last");
  EXPECT_EQ(results[3].error, "");
  EXPECT_FALSE(results[3].passed);
}

TEST_F(Gate, SqlCannotWrite) {
  EXPECT_THAT(problemOf("DELETE FROM kernel"), HasSubstr("opened for reading only"));
  EXPECT_THAT(problemOf("ATTACH '/tmp/other.sqlite' AS other"), HasSubstr("opened for reading only"));
}

constexpr const char* kEndless =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) AS count FROM n";

TEST_F(Gate, AnEndlessRuleIsStoppedAndTheOthersAreChecked) {
  const std::chrono::milliseconds limit(200);
  std::ofstream(m_rules) << "-- check: endless\n" << kEndless << ";\nSELECT 1 WHERE 0;";
  const auto results = valueOf(checkSqlRules(*m_trace, m_rules, limit));
  ASSERT_EQ(results.size(), 2u);
  EXPECT_THAT(results[0].error, HasSubstr("it ran longer than 0.2 s and was stopped"));
  EXPECT_TRUE(results[1].passed);
  std::ofstream(m_rules) << "rules:\n  - {name: endless, value: '" << kEndless
                         << "', max: 1}\n  - {value: SELECT 1, max: 1}\n";
  const auto yaml = valueOf(checkYamlRules(*m_trace, nullptr, m_rules, limit));
  ASSERT_EQ(yaml.size(), 2u);
  EXPECT_THAT(yaml[0].error, HasSubstr("line 2: it ran longer than 0.2 s"));
  EXPECT_TRUE(yaml[1].passed);
}

TEST_F(Gate, RulesWithoutAStatementAreAnError) {
  EXPECT_THAT(errorOf(check("-- nothing\n")), HasSubstr("no statement"));
  EXPECT_THAT(errorOf(check("")), HasSubstr("is empty"));
  EXPECT_THAT(errorOf(check(std::string("SELECT 1;\0\1\2", 12))), HasSubstr("is not text"));
  EXPECT_THAT(errorOf(check(std::string(17 << 20, ' '))), HasSubstr("bytes: at most"));
  EXPECT_THAT(errorOf(checkSqlRules(*m_trace, "/does/not/exist.sql")), HasSubstr("cannot be read"));
  EXPECT_THAT(errorOf(checkSqlRules(*m_trace, "/dev/zero")), HasSubstr("not a regular file"));
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
  EXPECT_THAT(results[1].detail, HasSubstr("2.00 ms (2000001 ns), wanted at most 2ms"));
  EXPECT_TRUE(results[2].passed);
  EXPECT_TRUE(results[3].passed);
  EXPECT_EQ(results[4].name, "rule 5");
  EXPECT_FALSE(results[4].passed);
}

TEST_F(Gate, WholeNumbersAreComparedToTheLastDigit) {
  const auto passes = [&](const std::string& value, const std::string& limit) {
    return only("rules:\n  - {value: SELECT " + value + ", " + limit + "}\n").passed;
  };
  EXPECT_FALSE(passes("9007199254740993", "max: 9007199254740992"));
  EXPECT_TRUE(passes("9007199254740993", "max: 9007199254740993"));
  EXPECT_FALSE(passes("9007199254740992", "equals: 9007199254740993"));
  EXPECT_FALSE(passes("-9223372036854775808", "min: -9223372036854775807"));
  EXPECT_FALSE(passes("9223372036000000001", "max: 9223372036 s"));
  EXPECT_TRUE(passes("9223372036854775807", "max: 1e19"));
  EXPECT_TRUE(passes("3", "equals: 3.0"));
  EXPECT_TRUE(passes("1500", "equals: 1.5 us"));
  EXPECT_FALSE(passes("9007199254740994.0", "max: 9007199254740992"));
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

// A run that has not what a rule is about neither passes it nor fails it.
TEST_F(Gate, YamlLooksAtEachRow) {
  const std::string ranks =
      "SELECT column1 AS peak_bytes, column2 AS rank FROM (VALUES (1024, 0), (3072, 1), (4096, 2))";
  const GateResult high = only("rules:\n- {name: peak, value: \"" + ranks + "\", max: 2 KiB}\n");
  EXPECT_FALSE(high.passed);
  EXPECT_THAT(high.detail, testing::AllOf(HasSubstr("3.00 KiB (3072 bytes), rank = 1"), HasSubstr("1 more rows")));
  EXPECT_TRUE(only("rules:\n- {name: peak, value: \"" + ranks + "\", max: 4 KiB}\n").passed);
}

TEST_F(Gate, YamlTextIsNoNumber) {
  const GateResult result = only("rules:\n- {name: a, value: SELECT name FROM kernels LIMIT 1, equals: 0}\n");
  EXPECT_FALSE(result.passed);
  EXPECT_THAT(result.detail, HasSubstr("is no number"));
}

TEST_F(Gate, YamlSkipsWhatDoesNotApply) {
  const auto results =
      valueOf(check("rules:\n"
                    "  - {name: applies, when: SELECT count(*) FROM kernels, value: SELECT 1, max: 1}\n"
                    "  - {name: fails, when: SELECT 1, value: SELECT 2, max: 1}\n"
                    "  - {name: nothing, when: SELECT 0, value: SELECT NULL, max: 1}\n"
                    "  - {name: unknown, when: SELECT NULL, value: SELECT NULL, max: 1}\n"
                    "  - {name: broken, when: SELECT nowhere, value: SELECT 1, max: 1}\n"));
  ASSERT_EQ(results.size(), 5u);
  EXPECT_TRUE(results[0].passed && !results[0].isSkipped);
  EXPECT_FALSE(results[1].passed);
  EXPECT_TRUE(results[2].isSkipped);
  EXPECT_EQ(results[2].detail, "does not apply, because this gives 0: SELECT 0");
  EXPECT_TRUE(results[3].isSkipped);
  EXPECT_THAT(results[4].error, HasSubstr("line 6: "));
}

TEST_F(Gate, YamlNamesWhatItMeasured) {
  EXPECT_EQ(only("rules:\n  - {value: SELECT 1572864 AS peak_bytes, max: 2 MiB}\n").detail,
            "peak_bytes = 1.50 MiB (1572864 bytes), wanted at most 2 MiB");
  EXPECT_EQ(only("rules:\n  - {value: 'SELECT median(span_ns) FROM (SELECT 25744024 AS span_ns)', max: 1s}\n").detail,
            "25.74 ms (25744024 ns), wanted at most 1s");
  EXPECT_EQ(only("rules:\n  - {value: SELECT 3 AS errors, equals: 0}\n").detail, "errors = 3, wanted exactly 0");
  EXPECT_EQ(only("rules:\n  - {value: SELECT 5, min: 1, max: 10}\n").detail, "5, wanted at least 1 and at most 10");
}

TEST_F(Gate, NumbersHaveTheDigitsThatTablesHave) {
  EXPECT_EQ(only("SELECT 0.1 + 0.2 AS share, 1234567890.0 AS total").detail, "share = 0.3, total = 1234567890");
  EXPECT_EQ(only("rules:\n  - {value: SELECT 0.1 + 0.2 AS share, max: 0.5}\n").detail,
            "share = 0.3, wanted at most 0.5");
  EXPECT_EQ(only("rules:\n  - {value: SELECT 0.1 + 0.2 AS share, equals: 0.3}\n").detail,
            "share = 0.30000000000000004, wanted exactly 0.3");  // with six it would seem to hold
}

TEST_F(Gate, YamlSaysWhetherItUsedTheBaseline) {
  Trace same = valueOf(Trace::open(m_file.path()));
  EXPECT_TRUE(only("rules:\n  - {max_slowdown_pct: 3}\n", &same).comparesRuns);
  EXPECT_FALSE(only("rules:\n  - {value: SELECT 1, max: 3}\n", &same).comparesRuns);
}

TEST_F(Gate, YamlErrorsNameTheLine) {
  const std::pair<const char*, const char*> kBad[] = {
      {"rules:\n  - {name: a, value: SELECT 1}\n", "line 2: the rule has a value but neither"},
      {"rules:\n  - name: a\n    value: SELECT 1\n    max: soon\n", "line 4: 'soon' is no number"},
      {"rules:\n  - name: a\n    value: SELEC 1\n    max: 1\n", "line 3: "},
      {"rules:\n  - {name: a}\n", "line 2: the rule has neither"},
      {"rules:\n  - just a text\n", "line 2: a rule is a map"},
      {"rules:\n  - {name: a, value: SELECT 1, maximum: 3, max: 5}\n", "line 2: 'maximum' is none of"},
      {"rules:\n  - {name: a, value: [1, 2], max: 3}\n", "line 2: "},
      {"rules:\n  - name: a\n    value: SELECT 5\n    max: 1\n    max: 9\n", "line 5: 'max' stands there twice"},
      {"rules:\n  - {name: a, max_slowdown_pct: 3}\n", "needs --baseline"}};
  for (const auto& [rules, message] : kBad) EXPECT_THAT(problemOf(rules), HasSubstr(message)) << rules;
  EXPECT_THAT(errorOf(check("rules: 5\n")), HasSubstr("no list 'rules'"));
  EXPECT_THAT(errorOf(check("rules: [{value: SELECT 1, max: 1}]\nrules: []\n")), HasSubstr("line 2: 'rules' stands"));
  EXPECT_THAT(errorOf(check("rules:\n  - {name: [\n")), HasSubstr("line "));
}

TEST_F(Gate, SlowdownAgainstABaseline) {
  Trace same = valueOf(Trace::open(m_file.path()));
  const GateResult result = only("rules:\n  - {name: no slower, max_slowdown_pct: 3}\n", &same);
  EXPECT_TRUE(result.passed) << result.detail;
  EXPECT_THAT(result.detail, HasSubstr("allowed +3.00 %"));
}

// Steps whose work takes 100 µs each, after so long a wait for data.
Trace loadingRun(const std::string& path, int64_t loadUs) {
  {
    test::TraceBuilder trace(path);
    const test::OneRank rank(trace);
    int64_t begin = 0;
    for (int64_t step = 0; step < 6; ++step) {
      const int64_t length = (loadUs + 200 + step % 2) * 1000, launch = begin + loadUs * 1000;
      const int64_t correlation = trace.newCorrelation();
      trace.addRange(rank.process, rank.thread, begin, length, "step");
      trace.addApiCall(rank.process, rank.thread, launch, 500, "cudaLaunchKernel", correlation);
      trace.addKernel(rank.work(launch + 1000, 100'000, correlation), "gemm");
      begin += length;
    }
  }
  return valueOf(Trace::open(path));
}

TEST_F(Gate, SlowerLoadingIsASlowdown) {
  const std::string path = m_file.path() + ".before";
  Trace before = loadingRun(path, 50);
  std::remove(path.c_str());
  m_trace.emplace(loadingRun(m_file.path(), 100));
  const GateResult result = only("rules:\n  - {name: no slower, max_slowdown_pct: 3}\n", &before);
  EXPECT_FALSE(result.passed);
  EXPECT_THAT(result.detail, HasSubstr("step time from start to start +19."));
  EXPECT_THAT(result.detail, HasSubstr("its span +0.00 %"));
  EXPECT_TRUE(only("rules:\n  - {name: no slower, max_slowdown_pct: 30}\n", &before).passed);
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
