// SPDX-License-Identifier: Apache-2.0
// Against scipy.stats (t.ppf, ttest_ind(equal_var=False).confidence_interval()).
#include "analyzer/compare/inference.h"

#include <gtest/gtest.h>

namespace plumb::compare {
namespace {

TEST(StudentQuantile, IsThatOfScipy) {
  const std::pair<double, double> kReference[] = {
      {2, 4.302652729749462},    {2.3, 3.807163208232131}, {2.7, 3.3921483831737507}, {3.4, 2.9807735025586206},
      {5, 2.5705818356363146},   {7.5, 2.333039626864974}, {12.4, 2.171043117662886}, {30, 2.0422724563012378},
      {200, 1.9718962236339088}, {1e5, 1.9599877075346095}};
  for (const auto& [freedom, quantile] : kReference)
    EXPECT_NEAR(studentQuantile(freedom) / quantile, 1, 5e-4) << freedom;
}

TEST(WelchInterval, IsThatOfScipy) {
  const auto interval = welchInterval(momentsOf({10.1, 9.8, 10.4, 10.0}), momentsOf({11.0, 11.9, 10.7, 11.4, 12.1}));
  ASSERT_TRUE(interval);
  EXPECT_NEAR(interval->low, 0.6197735737813126, 1e-5);
  EXPECT_NEAR(interval->high, 2.070226426218685, 1e-5);
}

TEST(WelchInterval, NeedsThreeOnEachSide) {
  EXPECT_FALSE(welchInterval(momentsOf({1, 2}), momentsOf({1, 2, 3})));
  EXPECT_FALSE(welchInterval(momentsOf({1, 2, 3}), momentsOf({})));
}

TEST(WelchInterval, OfConstantsIsTheirDifference) {
  const auto interval = welchInterval(momentsOf({5, 5, 5}), momentsOf({7, 7, 7}));
  ASSERT_TRUE(interval);
  EXPECT_EQ(interval->low, 2);
  EXPECT_EQ(interval->high, 2);
}

TEST(Moments, OfLargeNumbersKeepTheirVariance) {
  const SampleMoments moments = momentsOf({1e15 + 1, 1e15 + 2, 1e15 + 3});
  EXPECT_DOUBLE_EQ(moments.variance, 1);
}

}  // namespace
}  // namespace plumb::compare
