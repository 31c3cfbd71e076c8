// SPDX-License-Identifier: Apache-2.0
// The interval functions of SQL against a brute force that looks at every nanosecond.
#include "analyzer/sqlext/interval_functions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <set>
#include <tuple>

#include "tests/unit/analyzer/testing.h"

namespace plumb::test {
namespace {

struct Span {
  int64_t key, start, duration;
};
using Moments = std::map<int64_t, std::set<int64_t>>;  // by key, every nanosecond that is covered

std::vector<Span> randomSpans(std::mt19937& random) {
  std::vector<Span> spans(random() % 12);
  for (Span& span : spans) {
    span = {static_cast<int64_t>(random() % 3), static_cast<int64_t>(random() % 60) - 20,
            static_cast<int64_t>(random() % 12)};
  }
  return spans;
}

Moments momentsOf(const std::vector<Span>& spans) {
  Moments moments;
  for (const Span& s : spans) {
    for (int64_t t = s.start; t < s.start + s.duration; ++t) moments[s.key].insert(t);
  }
  return moments;
}

// A query that gives the spans. Rows that are left out are among them.
std::string queryOf(const std::vector<Span>& spans) {
  std::string text =
      "SELECT column1 AS key, column2 AS start_ns, column3 AS duration_ns, column4 AS v FROM (VALUES (0, NULL, 5, 0), "
      "(0, 1, NULL, 0), (0, 1, -5, 0), (0, 4611686018427387904, 4611686018427387904, 0)";
  for (size_t i = 0; i < spans.size(); ++i) {
    text += ", (" + std::to_string(spans[i].key) + ", " + std::to_string(spans[i].start) + ", " +
            std::to_string(spans[i].duration) + ", " + std::to_string(i) + ")";
  }
  return text + ")";
}

std::string literal(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("''") : std::string(1, c);
  return result + "'";
}

class IntervalFunctions : public testing::Test {
 protected:
  IntervalFunctions() {
    TraceBuilder(m_file.path()).finish();
    m_trace.emplace(valueOf(Trace::open(m_file.path())));
    EXPECT_EQ(errorOf(registerIntervalFunctions(m_trace->database())), "");
  }
  std::string error(const std::string& sql) {
    auto rows = m_trace->query(sql);
    if (!rows.ok()) return rows.error().message;
    while (rows.value().next()) {
    }
    return errorOf(rows.value().status());
  }
  // The result, which must be disjoint intervals in order that do not touch.
  Moments moments(const std::string& call) {
    auto rows = valueOf(m_trace->query("SELECT key, start_ns, end_ns, duration_ns FROM " + call + " ORDER BY 1, 2"));
    Moments result;
    std::optional<std::pair<int64_t, int64_t>> last;  // key, end
    while (rows.next()) {
      EXPECT_EQ(rows.integer(2) - rows.integer(1), rows.integer(3));
      EXPECT_GT(rows.integer(3), 0);
      const bool isSameKey = last && last->first == rows.integer(0);
      EXPECT_TRUE(!isSameKey || rows.integer(1) > last->second);
      last = {rows.integer(0), rows.integer(2)};
      for (int64_t t = rows.integer(1); t < rows.integer(2); ++t) result[rows.integer(0)].insert(t);
    }
    EXPECT_EQ(errorOf(rows.status()), "") << call;
    return result;
  }
  TraceFile m_file;
  std::optional<Trace> m_trace;
};

TEST_F(IntervalFunctions, AgreeWithEveryNanosecond) {
  std::mt19937 random(7);
  for (int round = 0; round < 150; ++round) {
    const std::vector<Span> a = randomSpans(random), b = randomSpans(random);
    const Moments inA = momentsOf(a), inB = momentsOf(b);
    Moments both, onlyA;
    for (const auto& [key, moments] : inA) {
      for (const int64_t t : moments) {
        const auto other = inB.find(key);
        (other != inB.end() && other->second.count(t) ? both : onlyA)[key].insert(t);
      }
    }
    const std::string two = literal(queryOf(a)) + ", " + literal(queryOf(b)) + ")";
    EXPECT_EQ(moments("interval_union(" + literal(queryOf(a)) + ")"), inA);
    EXPECT_EQ(moments("interval_intersect(" + two), both);
    EXPECT_EQ(moments("interval_subtract(" + two), onlyA);
    auto total = valueOf(
        m_trace->query("SELECT key, interval_union_ns(start_ns, duration_ns) FROM (" + queryOf(a) + ") GROUP BY key"));
    while (total.next()) {
      const auto known = inA.find(total.integer(0));
      EXPECT_EQ(total.integer(1), known == inA.end() ? 0 : static_cast<int64_t>(known->second.size()));
    }
  }
}

TEST_F(IntervalFunctions, SpanJoinGivesEveryPairThatSharesTime) {
  std::mt19937 random(11);
  for (int round = 0; round < 150; ++round) {
    const std::vector<Span> a = randomSpans(random), b = randomSpans(random);
    std::multiset<std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t>> expected, found;
    for (size_t i = 0; i < a.size(); ++i) {
      for (size_t j = 0; j < b.size(); ++j) {
        const int64_t start = std::max(a[i].start, b[j].start);
        const int64_t end = std::min(a[i].start + a[i].duration, b[j].start + b[j].duration);
        if (a[i].key == b[j].key && start < end) expected.emplace(a[i].key, start, end, i, j);
      }
    }
    auto rows = valueOf(m_trace->query("SELECT key, start_ns, end_ns, left_1, right_1 FROM span_join(" +
                                       literal(queryOf(a)) + ", " + literal(queryOf(b)) + ")"));
    while (rows.next())
      found.emplace(rows.integer(0), rows.integer(1), rows.integer(2), rows.integer(3), rows.integer(4));
    EXPECT_EQ(errorOf(rows.status()), "");
    EXPECT_EQ(found, expected);
  }
}

TEST_F(IntervalFunctions, TakeEndsInsteadOfDurationsAndNoKey) {
  auto rows =
      valueOf(m_trace->query("SELECT start_ns, end_ns, key FROM interval_union('SELECT 5 AS start_ns, 9 AS end_ns"
                             " UNION ALL SELECT 9, 12 UNION ALL SELECT 20, 20')"));
  ASSERT_TRUE(rows.next());
  EXPECT_EQ(rows.integer(0), 5);
  EXPECT_EQ(rows.integer(1), 12);
  EXPECT_TRUE(rows.isNull(2));
  EXPECT_FALSE(rows.next());
}

TEST_F(IntervalFunctions, SayWhatIsWrongWithAQuery) {
  EXPECT_THAT(error("SELECT * FROM interval_union"), testing::HasSubstr("takes queries"));
  EXPECT_THAT(error("SELECT * FROM interval_union('SELECT 1 AS a')"), testing::HasSubstr("start_ns and duration_ns"));
  EXPECT_THAT(error("SELECT * FROM interval_union('SELEC')"), testing::HasSubstr("A query of interval_union failed"));
  EXPECT_THAT(error("SELECT * FROM interval_union('DELETE FROM kernel')"), testing::HasSubstr("failed"));
  const std::string plain = "'SELECT 1 AS start_ns, 2 AS duration_ns'";
  const std::string keyed = "'SELECT 1 AS start_ns, 2 AS duration_ns, 3 AS key'";
  EXPECT_THAT(error("SELECT * FROM interval_intersect(" + plain + ", " + keyed + ")"),
              testing::HasSubstr("column key"));
  EXPECT_THAT(error("SELECT * FROM span_join('SELECT 1 AS start_ns, 2 AS duration_ns, 3, 4, 5, 6, 7', " + plain + ")"),
              testing::HasSubstr("4 columns"));
}

TEST_F(IntervalFunctions, WithoutIntervalsThereIsNoTotal) {
  auto rows = valueOf(m_trace->query("SELECT interval_union_ns(NULL, 5), interval_union_ns(1, 0)"));
  ASSERT_TRUE(rows.next());
  EXPECT_TRUE(rows.isNull(0));
  EXPECT_EQ(rows.integer(1), 0);
}

}  // namespace
}  // namespace plumb::test
