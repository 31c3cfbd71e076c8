// SPDX-License-Identifier: Apache-2.0
#include "analyzer/reports/definitions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "analyzer/reports/reports.h"
#include "tests/unit/analyzer/testing.h"

namespace plumb::test {
namespace {

TEST(Definitions, NameTheReportThatUsesThem) {
  EXPECT_EQ(valueOf(reportByDefinition("breakdown", "exact")), "breakdown");
  EXPECT_EQ(valueOf(reportByDefinition("breakdown", "hta")), "hta_breakdown");
  EXPECT_EQ(valueOf(reportByDefinition("breakdown", "tracelens")), "tracelens_breakdown");
  EXPECT_THAT(errorOf(reportByDefinition("memory", "hta")), testing::HasSubstr("breakdown"));
  EXPECT_THAT(errorOf(reportByDefinition("memory", "hta")), testing::EndsWith("critical_path, stragglers."))
      << "each once";
  EXPECT_THAT(errorOf(reportByDefinition("breakdown", "nobody")), testing::HasSubstr("tracelens"));
}

TEST(Definitions, OnlyOfReportsThatExist) {
  const auto reports = valueOf(findReports({}));
  for (const char* name :
       {"breakdown", "overlap", "idle", "kernel_types", "kernels", "launch", "queue", "copies", "steps"}) {
    const std::string used = valueOf(reportByDefinition(name, "hta"));
    for (const std::string& wanted : {std::string(name), used}) {
      EXPECT_TRUE(std::ranges::any_of(reports, [&](const Report& report) { return report.name == wanted; })) << wanted;
    }
  }
}

}  // namespace
}  // namespace plumb::test
