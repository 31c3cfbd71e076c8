// SPDX-License-Identifier: Apache-2.0
// Tools that merge, filter or sort traces write their events in any order: what a trace says does not depend on it.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "analyzer/analyses/collectives.h"
#include "analyzer/trace/trace.h"
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

TEST_F(ImportTest, ACollectiveWithoutExternalIdsIsOneThroughTheCallThatLaunchesItsKernel) {
  const auto operation = [](const char* ts) {
    return hostEvent("cpu_op", "record_param_comms", ts, "5", std::string(R"({"Name": "x")") + kAllReduce + "}");
  };
  const auto launch = [](const char* ts, int correlation) {
    return hostEvent("cuda_runtime", "cudaLaunchKernelExC", ts, "1",
                     R"({"correlation": )" + std::to_string(correlation) + "}");
  };
  const auto kernel = [](const char* ts, int correlation) {
    return kernelEvent("ncclDevKernel_AllReduce", ts, "7", correlation, kAllReduce);
  };
  const Database& db = imported(traceOf({operation("10"), launch("12", 70), operation("20"), launch("22", 80),
                                         launch("27", 90), kernel("30", 70), kernel("40", 80), kernel("50", 90)}));
  EXPECT_EQ(db.rows(kCollectives),
            (Rows{{"0", "4000", "1", "7000"}, {"10000", "4000", "1", "7000"}, {"17000", "4000", "0", "7000"}}))
      << "the last was launched outside both operators";
  EXPECT_EQ(db.number("SELECT count(*) FROM collective"), 3);
}

TEST_F(ImportTest, AKernelThatCarriesAGroupOfCollectivesBelongsToAllOfTheirOperators) {
  const std::string said = std::string(kAllReduce) + R"(, "Seq": 7)";
  const auto operation = [&](const char* ts, int external) {
    return hostEvent("cpu_op", "record_param_comms", ts, "5",
                     R"({"External id": )" + std::to_string(external) + said + "}");
  };
  const Database& db = imported(traceOf({operation("10", 3), operation("20", 4), ncclKernel("30", 70, 2, said)}));
  EXPECT_EQ(db.rows(kCollectives), (Rows{{"0", "4000", "1", "7000"}, {"10000", "4000", "1", "7000"}}))
      << "its External id is that of the operator around the group";
  EXPECT_EQ(db.number("SELECT count(*) FROM collective"), 2);
  auto trace = Trace::open(output());
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  const auto analysis = analyzeCollectives(trace.value(), {});
  ASSERT_TRUE(analysis.ok()) << analysis.error().message;
  ASSERT_EQ(analysis.value().groups.size(), 1u);
  EXPECT_EQ(analysis.value().groups[0].sharedKernel, 2) << "its time is that of neither alone";
}

TEST_F(ImportTest, AKernelThatNoOperatorClaimsIsACollectiveOfItsOwn) {
  const Database& db = imported(
      traceOf({ncclKernel("30", 70, 99), ncclKernel("40", 80, 80), ncclKernel("50", 90, 98, ""), allReduce("10", 3)}));
  EXPECT_EQ(db.number("SELECT count(*) FROM collective"), 3) << "two of kernels, one of the operator";
  EXPECT_EQ(db.number("SELECT count FROM diagnostic WHERE code = 'communication_by_name'"), 1);
}

TEST_F(ImportTest, OfOperatorsWithTheSameTimesTheFirstCalledIsTheOuter) {
  const auto op = [](const std::string& name, int external) {
    return hostEvent("cpu_op", name, "12", "5", R"({"External id": )" + std::to_string(external) + "}");
  };
  const std::vector<std::string> events = {op("outer", 7), op("middle", 8), op("inner", 9)};
  for (const std::vector<size_t>& order : {std::vector<size_t>{0, 1, 2}, {2, 1, 0}, {1, 2, 0}}) {
    std::filesystem::remove(output());
    std::vector<std::string> texts = {hostEvent("cpu_op", "later", "20", "1")};  // they come behind what is later
    for (const size_t i : order) texts.push_back(events[i]);
    EXPECT_EQ(imported(traceOf(texts))
                  .rows("SELECT o.name, p.name FROM operators o JOIN operators p ON p.id = o.parent_id ORDER BY 1"),
              (Rows{{"inner", "middle"}, {"middle", "outer"}}));
  }
}

std::string memory(const std::string& ts, int address, int bytes, int allocated, int reserved) {
  return R"({"ph": "i", "s": "t", "name": "[memory]", "pid": 500, "tid": 501, "ts": )" + ts +
         R"(, "args": {"Total Allocated": )" + std::to_string(allocated) + R"(, "Total Reserved": )" +
         std::to_string(reserved) + R"(, "Bytes": )" + std::to_string(bytes) + R"(, "Addr": )" +
         std::to_string(address) + R"(, "Device Id": 0, "Device Type": 1}})";
}

// What a trace says of its memory.
std::vector<Rows> memoryIn(const Database& db) {
  return {db.rows("SELECT start_ns - (SELECT min(start_ns) FROM kernels), freed_ns - start_ns, bytes, address "
                  "FROM allocations ORDER BY 1, 2, 3"),
          db.rows("SELECT start_ns - (SELECT min(start_ns) FROM kernels), text, value FROM counter_sample "
                  "JOIN string ON id = name_id ORDER BY 1, 2"),
          db.rows("SELECT code, count FROM diagnostic WHERE code GLOB 'free*' ORDER BY 1")};
}

TEST_F(ImportTest, MemoryIsMatchedByTimeWhateverTheOrder) {
  // 300 bytes are live before the first event; one address is handed out thrice, once without a recorded end; one piece
  // is handed out and freed at one time.
  const std::vector<std::string> events = {kernelEvent("first", "1", "1", 1),    memory("10", 4096, 1000, 1300, 2000),
                                           memory("12", 4096, -1000, 300, 2000), memory("14", 8192, -300, 0, 1000),
                                           memory("16", 4096, 500, 500, 1000),   memory("18", 4096, 700, 1200, 2000),
                                           memory("20", 4096, -700, 500, 2000),  memory("22", 12288, 64, 564, 2000),
                                           memory("22", 12288, -64, 500, 2000),  memory("24", 16384, 32, 532, 2000)};
  const std::vector<Rows> expected = memoryIn(imported(traceOf(events)));
  EXPECT_EQ(expected[0], (Rows{{"0", "13000", "300", "8192"},
                               {"9000", "2000", "1000", "4096"},
                               {"15000", "2000", "500", "4096"},
                               {"17000", "2000", "700", "4096"},
                               {"21000", "0", "64", "12288"},
                               {"23000", "NULL", "32", "16384"}}));
  std::vector<std::string> mixed = events;
  std::mt19937 random(7);
  for (int round = 0; round < 12; ++round) {
    std::shuffle(mixed.begin(), mixed.end(), random);
    // Of two events at one time the one that comes first in the file is the first.
    const auto handedOut = std::ranges::find(mixed, events[7]), freed = std::ranges::find(mixed, events[8]);
    if (freed < handedOut) std::swap(*freed, *handedOut);
    std::filesystem::remove(output());
    const Database& db = imported(traceOf(mixed));
    EXPECT_EQ(memoryIn(db), expected) << traceOf(mixed);
    EXPECT_EQ(db.number("SELECT count(*) FROM allocation WHERE correlation IS NOT NULL"), 0);
    EXPECT_EQ(db.number("SELECT count(*) FROM deallocation WHERE correlation IS NOT NULL"), 0);
  }
}

TEST_F(ImportTest, RunningSumsOfMemoryAreThoseByTime) {
  const auto change = [](const std::string& ts, int bytes) {
    return R"({"ph": "i", "s": "t", "name": "[memory]", "pid": 500, "tid": 501, "ts": )" + ts +
           R"(, "args": {"Bytes": )" + std::to_string(bytes) + R"(, "Device Id": 0, "Device Type": 1}})";
  };
  const Database& db =
      imported(traceOf({kernelEvent("first", "1", "1", 1), change("30", -50), change("10", 100), change("20", 200)}));
  EXPECT_EQ(db.rows("SELECT value FROM counter_sample ORDER BY start_ns"), (Rows{{"100.0"}, {"300.0"}, {"250.0"}}));
}

}  // namespace
}  // namespace plumb::test
