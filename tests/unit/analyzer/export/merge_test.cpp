// SPDX-License-Identifier: Apache-2.0
// Files of one rank each, merged, are the file that one recorder of both would have written.
#include "analyzer/export/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "analyzer/analyses/analysis_tables.h"
#include "analyzer/export/column_roles.h"
#include "collector/schema/database.h"
#include "collector/schema/schema.h"
#include "tests/unit/analyzer/export/export_testing.h"

namespace plumb::test {
namespace {

constexpr int64_t kStart = 1'700'000'000'000'000'000;

void change(const std::string& path, const std::string& sql) {
  schema::Database database = valueOf(schema::Database::open(path));
  valueOf(database.execute(sql));
}

// Rank r of two; its file began `shiftNs` after the run.
void addRankOfTwo(TraceBuilder& trace, int64_t r, int64_t shiftNs) {
  const int64_t process =
      trace.addProcess({.rank = r, .worldSize = 2, .pid = 100 + r, .host = "node" + std::to_string(r)});
  const int64_t thread = trace.addThread(process, 100 + r), device = trace.addDevice(process);
  const int64_t stream = trace.addStream(process, device, 7);
  const int64_t communicator = trace.addCommunicator(process, 7, 2, r);
  for (int64_t i = 0; i < 20; ++i) {
    const int64_t at = i * 1000 + 100'000 - shiftNs, correlation = 1000 * r + i + 1, external = 1 + i;
    const int64_t range = trace.addRange(process, thread, at, 900, "step");
    trace.addPayload(range, "flops", i);
    trace.addApiCall(process, thread, at + 10, 20, "cudaLaunchKernel", correlation);
    trace.addKernel({process, device, stream, at + 50 + 10 * r, 700, correlation},
                    i % 2 ? "ncclDevKernel" : "rank " + std::to_string(r));
    if (i % 2) {
      trace.addCollective({.process = process,
                           .thread = thread,
                           .communicator = communicator,
                           .startNs = at + 5,
                           .sequence = i,
                           .elementCount = 256,
                           .bytes = 1024,
                           .externalId = external});
      trace.addLink(process, external, correlation);
    }
    trace.addAllocation({.process = process,
                         .device = device,
                         .startNs = at,
                         .address = 4096 * (i + 1),
                         .bytes = 100 + i,
                         .freedNs = at + 500});
  }
  trace.addDiagnostic(process, "warning", "cupti", "lost", 3, "3 records were lost");
}

struct Files {
  Folder folder;
  std::string first = folder.file("first.sqlite"), second = folder.file("second.sqlite"),
              both = folder.file("both.sqlite"), merged = folder.file("merged.sqlite");
  Files() {
    constexpr int64_t kLater = 40'000;
    TraceBuilder a(first), b(second), c(both);
    a.setMeta("session_start_realtime_ns", std::to_string(kStart));
    b.setMeta("session_start_realtime_ns", std::to_string(kStart + kLater));
    c.setMeta("session_start_realtime_ns", std::to_string(kStart));
    addRankOfTwo(a, 0, 0);
    addRankOfTwo(b, 1, kLater);
    addRankOfTwo(c, 0, 0);
    addRankOfTwo(c, 1, 0);
  }
};

TEST(Merge, OfTwoRanksIsTheRecordingOfBoth) {
  const Files files;
  change(files.both, "UPDATE process SET start_ns = 40000 WHERE rank = 1");
  const auto result = valueOf(exports::mergeTraces({{files.first, files.second}, files.merged, "test"}));
  EXPECT_THAT(result.warnings, testing::IsEmpty());
  Trace merged = valueOf(Trace::open(files.merged)), both = valueOf(Trace::open(files.both));
  valueOf(registerAnalysisTables(merged));
  valueOf(registerAnalysisTables(both));
  EXPECT_EQ(merged.info().sessionStartRealtimeNs, kStart);
  for (const char* sql :
       {"SELECT rank, start_ns, duration_ns, name, full_name, device, stream, correlation FROM kernels ORDER BY 1, 2",
        "SELECT rank, start_ns, duration_ns, name, correlation FROM api_calls ORDER BY 1, 2",
        "SELECT rank, start_ns, duration_ns, name FROM ranges ORDER BY 1, 2",
        "SELECT rank, operation, sequence, communicator, bytes, start_ns, device_start_ns FROM collectives ORDER BY 1, "
        "3",
        "SELECT rank, start_ns, bytes, address FROM allocations ORDER BY 1, 2",
        "SELECT p.rank, s.text, y.value FROM main.range_payload y JOIN main.range r ON r.id = y.range_id JOIN "
        "main.process p ON p.id = r.process_id"
        " JOIN main.string s ON s.id = y.name_id ORDER BY 1, 3",
        "SELECT severity, name, count, message FROM diagnostics ORDER BY message", "SELECT * FROM analysis_breakdown",
        "SELECT * FROM analysis_collective_instances", "SELECT * FROM analysis_memory"}) {
    const auto rows = rowsOf(both, sql);
    EXPECT_FALSE(rows.empty()) << sql;
    EXPECT_EQ(rows, rowsOf(merged, sql)) << sql;
  }
}

TEST(Merge, TheOrderOfTheFilesDoesNotMatter) {
  const Files files;
  valueOf(exports::mergeTraces({{files.second, files.first}, files.merged, "test"}));
  Trace merged = valueOf(Trace::open(files.merged)), both = valueOf(Trace::open(files.both));
  const char* sql = "SELECT rank, start_ns, name, stream FROM kernels ORDER BY 1, 2";
  EXPECT_EQ(rowsOf(both, sql), rowsOf(merged, sql));
}

TEST(Merge, NamesTablesThatItDoesNotKnow) {
  const Files files;
  {
    schema::Database database = valueOf(schema::Database::open(files.first));
    valueOf(database.execute("CREATE TABLE my_notes (text TEXT)"));
  }
  const auto result = valueOf(exports::mergeTraces({{files.first, files.second}, files.merged, "test"}));
  EXPECT_THAT(result.warnings, testing::Contains(testing::HasSubstr("my_notes")));
}

TEST(Merge, WarnsOfARankInTwoFiles) {
  const Files files;
  change(files.first, "DELETE FROM kernel WHERE id = 1");  // another run
  const auto result = valueOf(exports::mergeTraces({{files.first, files.both}, files.merged, "test"}));
  EXPECT_THAT(result.warnings, testing::Contains(testing::HasSubstr("Rank 0 is in")));
}

// As an importer says it of a file that has one of the run's ranks.
void sayTwoAreMissing(const std::string& path) {
  schema::Database database = valueOf(schema::Database::open(path));
  valueOf(
      database.execute("UPDATE process SET world_size = 3;"
                       "INSERT INTO diagnostic (start_ns, severity, lane, code, count, message)"
                       " VALUES (0, 'warning', 'import', 'rank_missing', 2, '1 of the run''s 3 ranks are here')"));
}

TEST(Merge, CountsTheMissingRanksAgain) {
  const Files files;
  for (const std::string& file : {files.first, files.second}) sayTwoAreMissing(file);
  valueOf(exports::mergeTraces({{files.first, files.second}, files.merged, "test"}));
  Trace merged = valueOf(Trace::open(files.merged));
  EXPECT_THAT(rowsOf(merged, "SELECT count, message FROM diagnostics WHERE name = 'rank_missing'"),
              testing::ElementsAre(testing::HasSubstr("2 of the run's 3 ranks are here")));
}

TEST(Merge, RefusesAFileTwiceAndATakenName) {
  const Files files;
  EXPECT_THAT(errorOf(exports::mergeTraces({{files.first, files.first}, files.merged, "test"})),
              testing::HasSubstr("named twice"));
  const std::string copy = files.first + ".copy";
  std::filesystem::copy_file(files.first, copy);
  EXPECT_THAT(errorOf(exports::mergeTraces({{files.first, copy}, files.merged, "test"})),
              testing::AllOf(testing::HasSubstr(copy), testing::HasSubstr("hold the same trace")));
  EXPECT_NE(errorOf(exports::mergeTraces({{files.first, files.second}, files.both, "test"})), "");
}

TEST(Merge, RefusesTheSameTraceUnderAnotherName) {
  const Files files;
  std::filesystem::copy_file(files.first, files.both, std::filesystem::copy_options::overwrite_existing);
  EXPECT_THAT(errorOf(exports::mergeTraces({{files.first, files.both}, files.merged, "test"})),
              testing::HasSubstr("hold the same trace"));
  EXPECT_FALSE(std::filesystem::exists(files.merged));
}

TEST(Merge, RefusesTheSameEventsInAnotherFile) {
  const Files files;
  EXPECT_THAT(errorOf(exports::mergeTraces({{files.first, files.both}, files.merged, "test"})),
              testing::AllOf(testing::HasSubstr("both hold rank 0 with the same events"),
                             testing::HasSubstr("leave one of them out")));
}

TEST(Merge, AsksAboutFilesOfDifferentTimes) {
  const Files files;
  change(files.second, "UPDATE meta SET value = '" + std::to_string(kStart + 7'200'000'000'000) +
                           "' WHERE key = 'session_start_realtime_ns'");
  change(files.first, "UPDATE process SET end_ns = 1000000");
  const auto result = valueOf(exports::mergeTraces({{files.first, files.second}, files.merged, "test"}));
  EXPECT_THAT(result.warnings, testing::Contains(testing::HasSubstr("are these files of one run")));
}

TEST(Merge, RefusesAFileOfAnotherVersionOfTheFormat) {
  const Files files;
  change(files.second, "PRAGMA user_version = 99");
  EXPECT_THAT(errorOf(exports::mergeTraces({{files.first, files.second}, files.merged, "test"})),
              testing::AllOf(testing::HasSubstr("second.sqlite"), testing::HasSubstr("newer Plumbline (schema 99")));
}

// A new time column must be told apart as a moment, which merging moves, or a length, which it does not.
TEST(ColumnRoles, KnowEveryTimeOfTheSchema) {
  const TraceFile file;
  { const TraceBuilder trace(file.path()); }
  Trace trace = valueOf(Trace::open(file.path()));
  const auto columns =
      rowsOf(trace,
             "SELECT s.name || '.' || c.name, c.name FROM main.sqlite_schema s, pragma_table_info(s.name) c"
             " WHERE s.type = 'table' AND c.name LIKE '%\\_ns' ESCAPE '\\'");
  EXPECT_GT(columns.size(), 20u);
  for (const std::string& column : columns) {
    EXPECT_NE(exports::timeMeaningOf(column.substr(column.rfind('|') + 1)), exports::TimeMeaning::Unknown) << column;
  }
}

}  // namespace
}  // namespace plumb::test
