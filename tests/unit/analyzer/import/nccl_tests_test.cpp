// SPDX-License-Identifier: Apache-2.0
// Output of nccl-tests: measured bandwidths.
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>

#include "tests/unit/analyzer/import/support.h"

namespace plumb::test {
namespace {

using testing::HasSubstr;
using Rows = std::vector<Database::Row>;

const std::string kNewHeader =
    "# nccl-tests version 2.17.1 nccl-headers=22703 nccl-library=22703\n"
    "# Collective test starting: all_gather_perf\n"
    "# nThread 1 nGpus 1 minBytes 8 maxBytes 32 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1 validation: 1 "
    "graph: 0\n#\n# Using devices\n"
    "#  Rank  0 Group  0 Pid  100 on  node-a device  0 [0000:07:00] NVIDIA H100 80GB HBM3\n"
    "#  Rank  1 Group  0 Pid  101 on  node-b device  0 [0000:07:00] NVIDIA H100 80GB HBM3\n#\n"
    "#                                                              out-of-place                       in-place\n"
    "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  "
    "#wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)\n";
const std::string kFooter = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 1.5\n#\n";

TEST_F(ImportTest, NcclTestsOfToday) {
  const Database& db =
      imported("mpirun: warning\n" + kNewHeader +
               "      1048576        131072  bfloat16    none      -1    12.34   84.97   42.49       0    11.00   "
               "95.33   47.66     N/A\nnode-a:100:100 [0] NCCL INFO comm 0x55 rank 0\n" +
               kFooter);
  EXPECT_EQ(
      db.rows("SELECT o.text, t.text, r.text, d.text, n_ranks, n_hosts, bytes, element_count, in_place, duration_ns,"
              " algbw_bytes_per_s, busbw_bytes_per_s, wrong FROM collective_benchmark b JOIN string o ON"
              " o.id = operation_id JOIN string t ON t.id = datatype_id JOIN string r ON r.id = reduction_id"
              " JOIN string d ON d.id = device_name_id ORDER BY b.id"),
      (Rows{{"AllGather", "ncclBfloat16", "", "NVIDIA H100 80GB HBM3", "2", "2", "1048576", "131072", "0", "12340",
             "84970000000.0", "42490000000.0", "0"},
            {"AllGather", "ncclBfloat16", "", "NVIDIA H100 80GB HBM3", "2", "2", "1048576", "131072", "1", "11000",
             "95330000000.0", "47660000000.0", "NULL"}}));
  EXPECT_EQ(m_result.events, 2u);
  EXPECT_EQ(db.number("SELECT count(*) FROM diagnostic"), 0);
}

// mpirun and srun say before each line who wrote it.
TEST_F(ImportTest, NcclTestsUnderALauncherThatTagsItsLines) {
  const std::string log = kNewHeader + "  8  2  float  none  -1  1.0  1.0  1.0  0  2.0  1.0  1.0  0\n" + kFooter;
  for (const std::string tag : {"[1,0]<stdout>:", "[1,12]<stdout>: ", "0: ", " 7: "}) {
    std::filesystem::remove(output());
    std::string tagged = tag;
    for (const char c : log) tagged.append(1, c).append(c == '\n' ? tag : "");
    const Database& db = imported(tagged);
    EXPECT_EQ(db.number("SELECT count(*) FROM collective_benchmark WHERE bytes = 8"), 2) << tag;
  }
}

TEST_F(ImportTest, NcclTestsTellWhatIsDamagedOrNotMeasured) {
  const Database& db = imported("  8  2 float sum -1 1 1 1 0\n" + kNewHeader +
                                "  8  2  float  none  -1  1.0  1.0  1.0  0  N/A  N/A  N/A  N/A\n"
                                "  16  4  float  none  -1  x  1.0  1.0  0  2.0  1.0  1.0  3\n"
                                "  32  8  float  none  -1  1e99  1.0  1.0  0  2.0  1.0\n"
                                "  0  0  float  none  -1  1.0  0  0  0  2.0  0  0  0\n" +
                                kFooter);
  EXPECT_EQ(db.rows("SELECT bytes, in_place FROM collective_benchmark ORDER BY id"), (Rows{{"8", "0"}, {"16", "1"}}));
  EXPECT_EQ(db.rows("SELECT code, count FROM diagnostic ORDER BY code"), (Rows{{"damaged_event", "3"},
                                                                               {"no_columns", "1"},
                                                                               {"no_size", "2"},
                                                                               {"not_measured", "1"},
                                                                               {"wrong_results", "1"}}));
  EXPECT_EQ(m_result.events, 9u);
}

TEST_F(ImportTest, NcclTestsCutAnywhereGivesTheMeasurementsBefore) {
  const std::string line = "  8  2  float  none  -1  1.25  1.5  1.75  0  2.25  1.5  1.75  0\n";
  const std::string whole = kNewHeader + line + line;
  int64_t last = 0;
  for (size_t length = kNewHeader.size() + 3; length <= whole.size();
       length = length + 3 > whole.size() && length < whole.size() ? whole.size() : length + 3) {
    std::filesystem::remove(output());
    const auto result = import({write("cut.log", whole.substr(0, length))});
    if (!result.ok()) continue;
    const Database db(output());
    EXPECT_EQ(db.number("SELECT count(*) FROM collective_benchmark WHERE duration_ns NOT IN (1250, 2250)"), 0)
        << length;
    EXPECT_EQ(db.number("SELECT count(*) FROM diagnostic WHERE code = 'cut'"), 1) << length;
    const int64_t count = db.number("SELECT count(*) FROM collective_benchmark");
    EXPECT_GE(count, last) << length;
    last = count;
  }
  EXPECT_EQ(last, 4);
}

// The line that names the columns, or the first lines, may be what is damaged.
TEST_F(ImportTest, NcclTestsWithADamagedHeadGiveTheirMeasurements) {
  const std::string lines =
      "  1048576  262144  float  sum  -1  50.00  20.97  36.70  0  25.00  41.94  73.40  0\n"
      "  2097152  524288  float  sum  -1  50.00  41.94  73.40  0  N/A  N/A  N/A  N/A\n";
  const auto with = [&](const std::string& good, const std::string& bad) {
    std::string text = kNewHeader + lines + kFooter;
    return text.replace(text.find(good), good.size(), bad);
  };
  const std::string zero(1, '\0');
  for (const std::string& text :
       {with("# nccl-tests", "{ nccl-tests"), with("# nThread", "#" + zero + "nThread"),
        with("   time   algbw", "   tjme   algbw"), with("busbw  #wrong     time", "bus\nw  #wrong     time"),
        with("#       size", "        size")}) {
    std::filesystem::remove(output());
    const Database& db = imported(text);
    EXPECT_EQ(db.rows("SELECT bytes, in_place, duration_ns, busbw_bytes_per_s, wrong FROM collective_benchmark"),
              (Rows{{"1048576", "0", "50000", "36700000000.0", "0"},
                    {"1048576", "1", "25000", "73400000000.0", "0"},
                    {"2097152", "0", "50000", "73400000000.0", "0"}}))
        << text;
  }
}

TEST_F(ImportTest, NcclTestsWithoutMeasurementsAreRefused) {
  EXPECT_THAT(errorOf(kNewHeader), HasSubstr("holds no measurement"));
}

TEST_F(ImportTest, RealNcclTestsGiveTheirNumbers) {
  const char* folder = std::getenv("PLUMB_TEST_TRACES");
  if (folder == nullptr || *folder == 0) GTEST_SKIP() << "PLUMB_TEST_TRACES names no folder of recordings";
  const auto result = import({std::string(folder) + "/nccl/nccl_tests_allreduce_8xA100.log",
                              std::string(folder) + "/nccl/nccl_tests_allgather_8xA100.log"});
  ASSERT_TRUE(result.ok()) << result.error().message;
  const Database db(output());
  EXPECT_EQ(
      db.rows("SELECT o.text, duration_ns, algbw_bytes_per_s, busbw_bytes_per_s, n_ranks FROM collective_benchmark"
              " JOIN string o ON o.id = operation_id WHERE bytes = 8589934592 AND in_place = 0 ORDER BY 1"),
      (Rows{{"AllGather", "33646000", "255310000000.0", "223390000000.0", "8"},
            {"AllReduce", "63896000", "134440000000.0", "235260000000.0", "8"}}));
}

}  // namespace
}  // namespace plumb::test
