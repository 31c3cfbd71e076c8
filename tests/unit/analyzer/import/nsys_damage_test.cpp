// SPDX-License-Identifier: Apache-2.0
// Exports that are cut, damaged, hostile or something else; and several of them at once.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/unit/analyzer/import/nsys_support.h"

namespace plumb::test {
namespace {

using testing::HasSubstr;

class DamagedNsys : public NsysImportTest {
 protected:
  // Many rows, so that the table has many pages.
  std::string manyKernels(int64_t count) {
    kernelTable();
    const std::string name = std::to_string(nsys.text("k"));
    nsys.execute("WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < " +
                 std::to_string(count) +
                 ") INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT 10 * i, 10 * i + 5, 0, 1, NULL, 7, i, " +
                 std::to_string(globalTid(500, 0)) + ", " + name + ", " + name + ", " + name +
                 ", 1, 1, 32, 4, 2, 1, 128, 1, 1, 16, 1024, 0, 0, 1, NULL FROM n");
    std::ifstream file(nsys.path(), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
};

TEST_F(DamagedNsys, ACutFileGivesWhatIsBeforeTheCut) {
  const std::string whole = manyKernels(3000);
  int64_t last = 0;
  for (int share = 3; share <= 9; share += 2) {
    std::filesystem::remove(output());
    const auto cut = write("cut.sqlite", whole.substr(0, whole.size() * static_cast<size_t>(share) / 10));
    const auto result = import({cut});
    ASSERT_TRUE(result.ok()) << result.error().message;
    const Database db(output());
    const int64_t count = db.number("SELECT count(*) FROM kernel");
    EXPECT_GT(count, last) << share;
    EXPECT_LT(count, 3000) << share;
    EXPECT_EQ(db.number("SELECT count(*) FROM diagnostic WHERE code = 'cut' AND severity = 'error'"), 1);
    EXPECT_GT(result.value().warnings.size(), 0u);
    last = count;
  }
}

TEST_F(DamagedNsys, EachDamagedPageCostsItsRowsOnly) {
  const std::string whole = manyKernels(3000);
  const size_t pageCount = whole.size() / 4096;
  for (const std::vector<size_t>& pages :
       {std::vector{pageCount / 2}, {pageCount / 4, pageCount / 2, pageCount / 2 + 1, pageCount / 4 * 3}}) {
    std::filesystem::remove(output());
    std::string damaged = whole;
    for (const size_t page : pages) damaged.replace(page * 4096, 4096, 4096, '\xee');
    const auto result = import({write("bad.sqlite", damaged)});
    ASSERT_TRUE(result.ok()) << result.error().message;
    const Database db(output());
    const int64_t count = db.number("SELECT count(*) FROM kernel");
    EXPECT_GT(count, 3000 - 100 * static_cast<int64_t>(pages.size()));
    EXPECT_EQ(db.number("SELECT count(DISTINCT start_ns) FROM kernel"), count) << "no row twice";
    EXPECT_EQ(db.number("SELECT count FROM diagnostic WHERE code = 'table_damaged'"), 3000 - count);
    EXPECT_THAT(db.rows("SELECT message FROM diagnostic WHERE code = 'table_damaged'").at(0).at(0),
                HasSubstr("at most " + std::to_string(3000 - count) + " of its rows are lost"));
    EXPECT_EQ(result.value().damaged, static_cast<uint64_t>(3000 - count));
    EXPECT_EQ(db.number("SELECT max(start_ns) FROM kernel"), 29990) << "the rows behind the damage are here";
  }
}

TEST_F(DamagedNsys, TimesThatAreNoneAreCounted) {
  kernel("good", 10, 20, 1);
  kernel("ends before it begins", 30, 25, 2);
  kernel("beyond all time", 9000000000000000000, 9100000000000000000, 3);
  api("cudaFree_v3020", 50, 40, 4);
  const Database& db = imported();
  EXPECT_EQ(db.rows("SELECT name, duration_ns, flags FROM kernels ORDER BY start_ns"),
            (Rows{{"good", "10", "0"}, {"ends before it begins", "0", "1"}}));
  EXPECT_EQ(db.rows("SELECT code, count FROM diagnostic ORDER BY code"),
            (Rows{{"bad_duration", "1"}, {"bad_time", "1"}, {"no_time", "1"}}));
  EXPECT_EQ(m_result.notStored, 2u);
}

TEST_F(DamagedNsys, AStrangersViewsAndGeneratedColumnsAreNotRun) {
  kernel("k", 10, 20, 1);
  nsys.execute(R"sql(
    CREATE VIEW NVTX_EVENTS AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n) SELECT i AS start, i AS "end" FROM n;
    CREATE TABLE OSRT_API(start INTEGER, nameId INTEGER, "end" INTEGER GENERATED ALWAYS AS (length(hex(zeroblob(100000000)))) VIRTUAL);
    INSERT INTO OSRT_API(start, nameId) VALUES(1, 1);
    CREATE TABLE "odd "" name"(x INTEGER); INSERT INTO "odd "" name" VALUES(1);)sql");
  const Database& db = imported();
  EXPECT_EQ(db.number("SELECT count(*) FROM kernel"), 1);
  EXPECT_EQ(db.number("SELECT count(*) FROM range"), 0);
  EXPECT_EQ(db.number("SELECT count(*) FROM diagnostic WHERE code = 'table_not_stored'"), 1);
}

TEST_F(DamagedNsys, WhatIsNoExportGetsASentence) {
  const auto other = m_folder.file("other.sqlite");
  NsysExport(other).execute("CREATE TABLE songs(name TEXT)");
  EXPECT_THAT(import({other}).error().message, HasSubstr("no export of Nsight Systems"));
  const auto empty = m_folder.file("empty.sqlite");
  NsysExport(empty).execute("CREATE TABLE NVTX_EVENTS(start INTEGER, text TEXT)");
  EXPECT_THAT(import({empty}).error().message, HasSubstr("without any event"));
  kernel("k", 10, 20, 1);
  std::ifstream file(nsys.path(), std::ios::binary);
  const std::string whole(std::istreambuf_iterator<char>(file), {});
  EXPECT_THAT(import({write("packed.sqlite.gz", gzip(whole))}).error().message, HasSubstr("decompress it first"));
  EXPECT_THAT(import({write("run.nsys-rep", "QDSTRM")}).error().message, HasSubstr("nsys export --type sqlite"));
  ASSERT_TRUE(import({nsys.path()}).ok());
  std::filesystem::copy_file(output(), m_folder.file("own.sqlite"));
  std::filesystem::remove(output());
  EXPECT_THAT(import({m_folder.file("own.sqlite")}).error().message, HasSubstr("needs no import"));
}

TEST_F(DamagedNsys, SeveralExportsAreRanksOnOneClock) {
  const auto make = [&](const std::string& name, int64_t utc, int64_t start) {
    NsysExport file(m_folder.file(name));
    file.execute(
        "CREATE TABLE TARGET_INFO_SESSION_START_TIME(utcEpochNs INTEGER); INSERT INTO TARGET_INFO_SESSION_START_TIME "
        "VALUES(" +
        std::to_string(utc) +
        "); CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER, globalPid INTEGER,"
        " correlationId INTEGER, shortName INTEGER); INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(" +
        std::to_string(start) + ", " + std::to_string(start + 10) + ", " + std::to_string(globalTid(500, 0)) +
        ", 1, 1)");
    file.text("k");
    return file.path();
  };
  const auto first = make("run_rank0.sqlite", 1'700'000'000'000'000'000, 100);
  const auto second = make("run_rank1.sqlite", 1'700'000'000'000'001'000, 50);
  const auto result = import({first, second});
  ASSERT_TRUE(result.ok()) << result.error().message;
  const Database db(output());
  EXPECT_EQ(db.rows("SELECT rank, start_ns FROM kernels ORDER BY rank"), (Rows{{"0", "100"}, {"1", "1050"}}));
  EXPECT_EQ(db.text("SELECT value FROM meta WHERE key = 'session_start_realtime_ns'"), "1700000000000000000");
}

TEST_F(DamagedNsys, ARankIsNotGivenToSeveralProcesses) {
  kernel("k", 10, 20, 1, 500);
  kernel("k", 10, 20, 1, 600);
  const auto result = import({nsys.path()}, {5});
  ASSERT_TRUE(result.ok());
  const Database db(output());
  EXPECT_EQ(db.number("SELECT count(*) FROM process WHERE rank IS NOT NULL"), 0);
  EXPECT_THAT(result.value().warnings, testing::Contains(HasSubstr("rank 5 is not given")));
}

// The views under Nsight's names, on a trace that was made of an export, hold what the export held.
TEST_F(DamagedNsys, AnExportComesBackUnderItsOwnNames) {
  api("cudaLaunchKernel_v7000", 100, 140, 9);
  kernel("void f<int>()", 200, 350, 9);
  nvtx(59, "90", "400", "text", "'step'");
  nvtx(34, "95", "NULL", "text", "'mark'");
  const Database& db = imported();
  EXPECT_EQ(db.rows("SELECT k.start, k.\"end\", k.deviceId, k.contextId, k.streamId, k.correlationId, s.value, "
                    "k.gridX, k.blockX, "
                    "k.globalPid / 16777216 % 16777216 FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = "
                    "k.demangledName"),
            (Rows{{"200", "350", "0", "1", "7", "9", "void f<int>()", "4", "128", "500"}}));
  EXPECT_EQ(
      db.rows(
          "SELECT r.start, r.\"end\", r.eventClass, r.globalTid % 16777216, s.value FROM CUPTI_ACTIVITY_KIND_RUNTIME r "
          "JOIN "
          "StringIds s ON s.id = r.nameId JOIN CUPTI_ACTIVITY_KIND_KERNEL k ON k.correlationId = r.correlationId AND "
          "k.globalPid / 16777216 = r.globalTid / 16777216"),
      (Rows{{"100", "140", "0", "501", "cudaLaunchKernel"}}));
  EXPECT_EQ(db.rows("SELECT start, \"end\", eventType, text FROM NVTX_EVENTS ORDER BY start"),
            (Rows{{"90", "400", "59", "step"}, {"95", "95", "34", "mark"}}));
  EXPECT_EQ(db.rows("SELECT name FROM PROCESSES WHERE pid = 500"), (Rows{{"process 500"}}));
}

// SQLite takes a text in a column of numbers, and reads it as 0.
TEST_F(DamagedNsys, ATextWhereANumberBelongsIsNoNumber) {
  kernel("good", 100, 110, 1);
  kernel("bad", 200, 210, 2);
  kernel("written", 300, 310, 3);
  nsys.execute(
      "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = 'abc' WHERE correlationId = 2;"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start, end, deviceId, contextId, streamId, correlationId, globalPid, "
      "bytes);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES(400, '410', 0, 1, 7, 4, " +
      std::to_string(globalTid(500, 0)) + ", 'many')");
  ASSERT_TRUE(import({nsys.path()}).ok());
  const Database db(output());
  EXPECT_EQ(db.rows("SELECT name, start_ns FROM kernels ORDER BY start_ns"),
            (std::vector<Database::Row>{{"good", "100"}, {"written", "300"}}));
  EXPECT_EQ(db.rows("SELECT duration_ns, bytes FROM memory_copy"), (std::vector<Database::Row>{{"10", "0"}}));
  EXPECT_EQ(db.rows("SELECT code, count FROM diagnostic WHERE code IN ('no_time', 'bad_size') ORDER BY code"),
            (std::vector<Database::Row>{{"bad_size", "1"}, {"no_time", "1"}}));
}

}  // namespace
}  // namespace plumb::test
