// SPDX-License-Identifier: Apache-2.0
// Tools that merge, filter or sort traces write their events in any order: what a trace says does not depend on it.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>

#include "tests/unit/analyzer/import/support.h"

namespace plumb::test {
namespace {

using Rows = std::vector<Database::Row>;

constexpr const char* kAllReduce =
    R"(, "Collective name": "allreduce", "In msg nelems": 1000, "Out msg nelems": 1000, "Group size": 2,)"
    R"( "dtype": "Float", "Process Group Name": "0", "Process Group Ranks": "[0, 1]")";

std::string allReduce(const std::string& ts, int external) {
  return hostEvent("cpu_op", "record_param_comms", ts, "5",
                   R"({"External id": )" + std::to_string(external) + kAllReduce + "}");
}

std::string ncclKernel(const std::string& ts, int correlation, int external, const std::string& said = kAllReduce) {
  return kernelEvent("ncclDevKernel_AllReduce", ts, "7", correlation,
                     R"(, "External id": )" + std::to_string(external) + said);
}

constexpr const char* kCollectives =
    "SELECT c.start_ns - min(c.start_ns) OVER (), c.bytes, d.operator_id IS NOT NULL, k.duration_ns FROM collective c "
    "JOIN collective_detail d ON d.collective_id = c.id JOIN correlation_link l ON l.external_id = c.external_id "
    "JOIN kernel k ON k.correlation = l.correlation ORDER BY c.start_ns";

TEST_F(ImportTest, ACollectiveIsOneWhetherItsOperatorOrItsKernelComesFirst) {
  std::vector<std::string> events = {allReduce("10", 3), allReduce("20", 4), ncclKernel("30", 70, 3),
                                     ncclKernel("40", 80, 4)};
  const Rows expected = {{"0", "4000", "1", "7000"}, {"10000", "4000", "1", "7000"}};
  EXPECT_EQ(imported(traceOf(events)).rows(kCollectives), expected);
  std::filesystem::remove(output());
  std::reverse(events.begin(), events.end());
  const Database& db = imported(traceOf(events));
  EXPECT_EQ(db.rows(kCollectives), expected);
  EXPECT_EQ(db.number("SELECT count(*) FROM collective"), 2);
  EXPECT_EQ(db.number("SELECT count(*) FROM operator_launch l JOIN operator o ON o.id = l.operator_id "
                      "WHERE (l.correlation, o.external_id) IN ((70, 3), (80, 4))"),
            2)
      << "the work of an operator is its own in any order too";
}

TEST_F(ImportTest, ACollectiveWhoseIdsHappenToBeEqualIsOne) {
  const Database& db = imported(traceOf({allReduce("10", 70), ncclKernel("30", 70, 70)}));
  EXPECT_EQ(db.rows(kCollectives), (Rows{{"0", "4000", "1", "7000"}}));
}

TEST_F(ImportTest, AKernelThatNoOperatorClaimsIsACollectiveOfItsOwn) {
  const Database& db = imported(
      traceOf({ncclKernel("30", 70, 99), ncclKernel("40", 80, 80), ncclKernel("50", 90, 98, ""), allReduce("10", 3)}));
  EXPECT_EQ(db.number("SELECT count(*) FROM collective"), 3) << "two of kernels, one of the operator";
  EXPECT_EQ(db.number("SELECT count FROM diagnostic WHERE code = 'communication_by_name'"), 1);
}

}  // namespace
}  // namespace plumb::test
