// SPDX-License-Identifier: Apache-2.0
// The raw memory timeline of torch.profiler: bytes by category over time.
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>

#include "analyzer/analyses/memory.h"
#include "analyzer/trace/trace.h"
#include "tests/unit/analyzer/import/support.h"

namespace plumb::test {
namespace {

using testing::HasSubstr;
using Rows = std::vector<Database::Row>;

// 1: there before, 2: created, 3: changed (two rows), 4: gone. Categories: 0 parameter, 4 activation, 5 gradient …
const char* const kRows = R"([[-1, 1, 1000, 0], [5000, 2, 300, 4], [6000, 2, 200, 7], [7000, 3, -200, 7],
  [7000, 3, 200, 5], [8000, 4, -300, 4], [9000, 3, -1000, 0], [9000, 3, 1000, 0]])";

int64_t bytesOf(const MemoryPoint& point, MemoryCategory category) {
  return point.bytes[static_cast<size_t>(category)];
}

TEST_F(ImportTest, MemoryTimelineGivesItsSumsByCategory) {
  (void)imported(kRows);
  EXPECT_EQ(m_result.events, 8u);
  EXPECT_EQ(m_result.notStored, 0u);
  auto trace = Trace::open(output());
  ASSERT_TRUE(trace.ok());
  const auto memory = analyzeMemory(trace.value());
  ASSERT_TRUE(memory.ok());
  ASSERT_EQ(memory.value().devices.size(), 1u);
  const DeviceMemory& device = memory.value().devices[0];
  EXPECT_EQ(device.peak.totalBytes, 1500);
  EXPECT_EQ(bytesOf(device.peak, MemoryCategory::Parameter), 1000);
  EXPECT_EQ(bytesOf(device.peak, MemoryCategory::Activation), 300);
  EXPECT_EQ(bytesOf(device.peak, MemoryCategory::Gradient), 200) << "of equal peaks the one with the fewest unknown";
  EXPECT_EQ(device.peak.time.ns(), 1000);
}

TEST_F(ImportTest, MemoryTimelineEndsOfUnseenMemoryAreCounted) {
  const Database& db = imported("[[5, 4, -64, 0], [9, 3, -8, 4], [9, 2, 16, 4]]");
  EXPECT_EQ(db.rows("SELECT bytes, start_ns, freed_ns FROM allocations ORDER BY bytes"),
            (Rows{{"16", "4", "NULL"}, {"64", "0", "0"}}));
  EXPECT_EQ(db.rows("SELECT code, count FROM diagnostic WHERE severity <> 'info' ORDER BY code"),
            (Rows{{"freed_unseen", "1"}, {"half_change", "1"}}));
}

TEST_F(ImportTest, MemoryTimelineDamagedRowsCostThemselves) {
  const Database& db = imported(
      "[[1, 2, 64, 0], [1, 2, 64], [1, 2, 64, 9], [1, 9, 64, 0], [x], [1, 2, -64, 0], [99999999999999999999, 2, 1, 0],"
      " [1, 2, 64, 0, 5], [2, 2, 32, 4]]");
  EXPECT_EQ(db.number("SELECT sum(bytes) FROM allocation"), 96);
  EXPECT_EQ(db.number("SELECT count FROM diagnostic WHERE code = 'damaged_event'"), 7);
}

TEST_F(ImportTest, MemoryTimelineRowsBehindDamageStay) {
  const Database& db = imported(
      R"([[101, 1, 512, 0], [101, "x", 512, 0], [102, 1, 1024, 0], null, [103, 1, 2048, 0], [1, [2]], [104, 1, 4096, 0]])");
  EXPECT_EQ(db.number("SELECT sum(bytes) FROM allocation"), 512 + 1024 + 2048 + 4096);
  EXPECT_EQ(db.number("SELECT count(*) FROM diagnostic WHERE code = 'cut'"), 0);
}

TEST_F(ImportTest, MemoryTimelineBehindADamagedHeadIsRead) {
  std::string whole = "[";
  for (int i = 0; i < 40; ++i) whole += (i == 0 ? "[" : ", [") + std::to_string(1000 + i) + ", 2, 64, 4]";
  whole += "]";
  for (const auto& [place, byte] : {std::pair(size_t{0}, 'x'), {size_t{1}, 'x'}, {size_t{3}, 'x'}, {size_t{6}, '{'}}) {
    std::filesystem::remove(output());
    std::string text = whole;
    text[place] = byte;
    const Database& db = imported(text);
    EXPECT_EQ(db.number("SELECT sum(bytes) FROM allocation"), 39 * 64) << place;
    EXPECT_EQ(m_result.damaged, 1u) << place;
  }
}

TEST_F(ImportTest, MemoryTimelineThatIsSummedUpIsExplained) {
  EXPECT_THAT(errorOf("[[1, 2, 3, 4, 5], [[0, 1], [2, 3]]]"), HasSubstr(".raw.json.gz"));
}

TEST_F(ImportTest, MemoryTimelineCutAnywhereGivesTheRowsBefore) {
  const std::string whole = "[[1, 2, 64, 0], [2, 2, 65, 0], [3, 2, 66, 0], [4, 2, 67, 0]]";
  for (size_t length = 15; length < whole.size(); length += 3) {
    std::filesystem::remove(output());
    const auto result = import({write("cut.json", whole.substr(0, length))});
    ASSERT_TRUE(result.ok()) << length;
    const Database db(output());
    const auto complete = std::count(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length), ']');
    EXPECT_EQ(db.number("SELECT count(*) FROM allocation"), complete) << length;
    EXPECT_EQ(db.number("SELECT count(*) FROM diagnostic WHERE code = 'cut'"), 1) << length;
  }
}

TEST_F(ImportTest, RealMemoryTimelineGivesItsPeak) {
  const char* folder = std::getenv("PLUMB_TEST_TRACES");
  if (folder == nullptr || *folder == 0) GTEST_SKIP() << "PLUMB_TEST_TRACES names no folder of recordings";
  const auto result = import({std::string(folder) + "/memory/torch_memory_timeline.raw.json.gz"});
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result.value().events, 16845u);
  EXPECT_EQ(result.value().notStored, 0u);
  auto trace = Trace::open(output());
  ASSERT_TRUE(trace.ok());
  const auto memory = analyzeMemory(trace.value());
  ASSERT_TRUE(memory.ok());
  const MemoryPoint& peak = memory.value().devices.at(0).peak;
  // Summed up from the rows.
  EXPECT_EQ(peak.totalBytes, 3'082'832'104);
  EXPECT_EQ(bytesOf(peak, MemoryCategory::Parameter), 102'440'608);
  EXPECT_EQ(bytesOf(peak, MemoryCategory::OptimizerState), 102'228'128);
  EXPECT_EQ(bytesOf(peak, MemoryCategory::Input), 19'395'584);
  EXPECT_EQ(bytesOf(peak, MemoryCategory::Activation), 2'592'465'920 + 64'225'280) << "with the backward's details";
  EXPECT_EQ(bytesOf(peak, MemoryCategory::Gradient), 67'858'432);
  EXPECT_EQ(bytesOf(peak, MemoryCategory::Unattributed), 134'218'152);
}

}  // namespace
}  // namespace plumb::test
