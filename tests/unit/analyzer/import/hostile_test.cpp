// SPDX-License-Identifier: Apache-2.0
// Sources that want more memory than they are worth, that end before they begin, and that say what cannot be.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/resource.h>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <tuple>

#include "analyzer/trace/staging.h"
#include "tests/unit/analyzer/import/support.h"

namespace plumb::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

using Hostile = ImportTest;

std::string spaces(size_t mebibytes) { return std::string(mebibytes << 20, ' '); }

// ---- bombs ----------------------------------------------------------------------------------------------------------

// Peak memory is of the process, so each bomb is far larger than what the tests before it have taken.
class Bomb : public ImportTest {
 protected:
  // By how much the peak of the process grew.
  static uint64_t grownMebibytes(const std::function<void()>& what) {
    const auto peak = [] {
      rusage usage{};
      getrusage(RUSAGE_SELF, &usage);
      return static_cast<uint64_t>(usage.ru_maxrss) / 1024;
    };
    const uint64_t before = peak();
    what();
    return peak() - before;
  }
  // A gzip file of `head`, many copies of `body`, `tail`; made piece by piece.
  std::string bomb(const std::string& head, const std::string& body, size_t copies, const std::string& tail) {
    const std::string path = m_folder.file("bomb.json.gz");
    gzFile out = gzopen(path.c_str(), "wb1");
    gzwrite(out, head.data(), static_cast<unsigned>(head.size()));
    for (size_t i = 0; i < copies; ++i) gzwrite(out, body.data(), static_cast<unsigned>(body.size()));
    gzwrite(out, tail.data(), static_cast<unsigned>(tail.size()));
    gzclose(out);
    return path;
  }
  static constexpr size_t kCopies = 150;    // of 1 MiB
  static constexpr uint64_t kEnough = 110;  // MiB; SQLite's cache and the row pipe are in it
  const std::string m_event = kernelEvent("k", "10", "5", 1);
};

TEST_F(Bomb, BlanksArePassedOver) {
  const std::string path = bomb("{\"traceEvents\": [", spaces(1), kCopies, m_event + "]}");
  EXPECT_LT(grownMebibytes([&] { EXPECT_EQ(import({path}).value().events, 1u); }), kEnough);
}

TEST_F(Bomb, AHugeMemberCostsOnlyItself) {
  for (const auto& [first, body, last] : {std::tuple("\"", std::string(1 << 20, 'x'), "\""),
                                          {"", std::string(1 << 20, '7'), ""},
                                          {"[", std::string(1 << 19, '[') + std::string(1 << 19, ']'), "]"}}) {
    std::filesystem::remove(output());
    const std::string path = bomb(std::string("{\"huge\": ") + first, body, kCopies / 5,
                                  std::string(last) + ", \"traceEvents\": [" + m_event + "]}");
    EXPECT_LT(grownMebibytes([&] {
                const auto result = import({path});
                ASSERT_TRUE(result.ok()) << result.error().message;
                EXPECT_EQ(result.value().events, 1u);
                EXPECT_THAT(result.value().warnings, testing::Contains(HasSubstr("1 member of more than 16 MiB")));
              }),
              kEnough);
    EXPECT_EQ(Database(output()).number("SELECT count FROM diagnostic WHERE code = 'member_too_large'"), 1);
  }
}

TEST_F(Bomb, AHugeEventIsDamage) {
  for (const std::string& body : {std::string(1 << 20, 'x'), std::string(1 << 20, '['), std::string(1 << 20, '{')}) {
    std::filesystem::remove(output());
    const std::string path =
        bomb("{\"traceEvents\": [" + m_event + ", {\"ph\": \"X\", \"name\": \"", body, kCopies / 3, "\"}]}");
    EXPECT_LT(grownMebibytes([&] { EXPECT_EQ(import({path}).value().damaged, 1u); }), kEnough) << body[0];
  }
}

// Those that are read as a whole are refused when they unpack to more than files of their kind do.
TEST_F(Bomb, FilesThatAreReadAsAWholeAreBounded) {
  for (const auto& [head, body] : {std::pair(std::string("{\"pg_config\": {}, \"entries\": ["), spaces(1)),
                                   {"{\"pg_config\": {}, \"entries\": ", std::string(1 << 20, '[')},
                                   {std::string("\x80\x02]("), std::string(1 << 20, ']')},
                                   {"# nThread 1\n", spaces(1)}}) {
    const std::string path = bomb(head, body, kCopies, "");
    EXPECT_LT(grownMebibytes([&] { EXPECT_THAT(import({path}).error().message, HasSubstr("when decompressed")); }),
              2 * kEnough);
  }
}

TEST_F(Hostile, JsonThatNestsWithoutEndIsCutThere) {
  const std::string path = write("dump.json", R"({"pg_config": {}, "entries": )" + std::string(100000, '['));
  EXPECT_THAT(import({path}).error().message, HasSubstr("nests deeper than 512 levels"));
}

// ---- cut before they begin ------------------------------------------------------------------------------------------

TEST_F(Hostile, APieceOfAHeaderIsNotCalledEmpty) {
  const std::string whole = gzip(traceOf({kernelEvent("k", "10", "5", 1)}));
  for (size_t length = 1; length <= 17; ++length) {
    const auto result = import({write("t.json.gz", whole.substr(0, length))});
    ASSERT_FALSE(result.ok());
    EXPECT_THAT(result.error().message, AllOf(HasSubstr("its gzip data ends early, at byte " + std::to_string(length)),
                                              HasSubstr("nothing to import")));
  }
  const std::string zstd("\x28\xb5\x2f\xfd\x04\x58", 6);
  for (size_t length = 1; length <= zstd.size(); ++length) {
    const auto result = import({write("t.json.zst", zstd.substr(0, length))});
    ASSERT_FALSE(result.ok());
    EXPECT_THAT(result.error().message, HasSubstr("its zstd data ends early")) << length;
  }
  EXPECT_THAT(errorOf(""), HasSubstr("is empty"));
}

// ---- several files --------------------------------------------------------------------------------------------------

TEST_F(Hostile, AFileThatIsNoTraceIsLeftOutWhenAnotherIsOne) {
  const std::string trace = write("trace.json", traceOf({kernelEvent("k", "10", "5", 1)}));
  const std::string text = write("expected.txt", "rank 3"), config = write("config.json", "{\"a\": 1}");
  std::filesystem::create_directories(m_folder.file("folder"));
  const auto result = import({text, config, trace, m_folder.file("folder")});
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result.value().filesLeftOut, 3u);
  EXPECT_THAT(result.value().warnings,
              testing::Contains(HasSubstr("expected.txt is no trace that can be imported: it")));
  EXPECT_THAT(result.value().warnings, testing::Contains(HasSubstr("no array 'traceEvents'")));
  EXPECT_THAT(result.value().warnings, testing::Contains(HasSubstr("folder is a folder: it is left out.")));
  EXPECT_EQ(Database(output()).number("SELECT sum(count) FROM diagnostic WHERE code = 'file_left_out'"), 3);
}

TEST_F(Hostile, WithoutAnyTraceTheFirstErrorIsTheAnswer) {
  const auto result = import({write("a.txt", "no"), write("b.txt", "no")});
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, AllOf(HasSubstr("a.txt is no trace"), HasSubstr("nccl-tests")));
  EXPECT_FALSE(std::filesystem::exists(output()));
  EXPECT_THAT(import({write("t.json", traceOf({kernelEvent("k", "10", "5", 1)})), "/does/not/exist"}).error().message,
              HasSubstr("Cannot open /does/not/exist"));
}

// ---- numbers that cannot be -----------------------------------------------------------------------------------------

std::string collectiveEvent(const std::string& metadata) {
  return hostEvent("cpu_op", "record_param_comms", "10", "5", R"({"Collective name": "allreduce", )" + metadata + "}");
}

TEST_F(Hostile, CollectivesWithNumbersThatCannotBe) {
  const std::vector<std::string> hostile = {
      R"("dtype": "Float", "In msg nelems": -8, "Out msg nelems": 0)",
      R"("dtype": "Float", "In msg nelems": 1e300, "Out msg nelems": 4)",
      R"("dtype": "Float", "In msg nelems": 9223372036854775807)",
      R"("dtype": "Float", "In msg nelems": 4, "Group size": -3, "Process Group Ranks": "[0, -7]")",
      R"("dtype": "Float", "In msg nelems": 4, "Rank": -7, "Src Rank": -2, "Dst Rank": 1e300)",
      R"("dtype": "Float", "In msg nelems": 4, "Group size": 3, "Global rank start": 9223372036854775807, "Global rank stride": 9223372036854775807)"};
  std::vector<std::string> events;
  for (const std::string& metadata : hostile) events.push_back(collectiveEvent(metadata));
  events.push_back(collectiveEvent(R"("dtype": "Nonsense", "In msg nelems": 4)"));
  events.push_back(collectiveEvent(R"("dtype": "Float", "In msg nelems": 4, "Src Rank": -1, "Dst Rank": -1)"));
  const Database& trace = imported(traceOf(events, R"("distributedInfo": {"rank": -7, "world_size": 0})"));
  EXPECT_EQ(trace.number("SELECT count(*) FROM collective"), 8);
  EXPECT_EQ(trace.number("SELECT count FROM diagnostic WHERE code = 'bad_collective'"), 6);
  EXPECT_EQ(trace.number("SELECT count FROM diagnostic WHERE code = 'unknown_datatype'"), 1);
  EXPECT_EQ(trace.number("SELECT count(*) FROM collective WHERE bytes < 0 OR element_count < 0 OR peer < 0"), 0);
  EXPECT_EQ(trace.number("SELECT count(*) FROM communicator WHERE n_ranks < 0 OR rank < -1"), 0);
  EXPECT_EQ(trace.number("SELECT count(*) FROM communicator_member WHERE rank < 0"), 0);
  EXPECT_EQ(trace.number("SELECT count(*) FROM process WHERE rank IS NOT NULL OR world_size <= 0"), 0);
  EXPECT_EQ(trace.number("SELECT count(*) FROM diagnostic WHERE code = 'bad_rank'"), 1);
}

TEST_F(Hostile, CopiesWithSizesThatCannotBe) {
  std::vector<std::string> events;
  for (const char* bytes : {"-32", "1e300", "\"many\"", "64"}) {
    events.push_back(std::string(R"x({"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)", )x") +
                     R"("pid": 0, "tid": 7, "ts": 1, "dur": 1, "args": {"device": 0, "stream": 7, "bytes": )" + bytes +
                     "}}");
  }
  const Database& trace = imported(traceOf(events));
  EXPECT_EQ(trace.number("SELECT sum(bytes) FROM memory_copy"), 64);
  EXPECT_EQ(trace.number("SELECT count(*) FROM memory_copy"), 4);
  EXPECT_EQ(trace.number("SELECT count FROM diagnostic WHERE code = 'bad_size'"), 3);
}

TEST_F(Hostile, AFlightRecorderWithNumbersThatCannotBe) {
  const auto entry = [](const std::string& sizes, const std::string& type) {
    return R"({"profiling_name": "nccl:all_reduce", "state": "completed", "process_group": ["0", "x"], "pg_id": 0,
      "collective_seq_id": 1, "time_created_ns": 1000, "is_p2p": false, "input_sizes": )" +
           sizes + R"(, "output_sizes": [[4]], "input_dtypes": [")" + type + R"("], "output_dtypes": ["Float"]})";
  };
  const Database& trace = imported(
      R"({"version": "2.5", "pg_config": {"0": {"name": "0", "desc": "x", "ranks": "[0, -7]"}}, "entries": [)" +
      entry("[[-8]]", "Float") + "," + entry("[[9223372036854775807, 9223372036854775807]]", "Float") + "," +
      entry("[[1e300]]", "Float") + "," + entry("[[4]]", "Nonsense") + "," + entry("[[4]]", "Float") + "]}");
  EXPECT_EQ(trace.number("SELECT count(*) FROM collective"), 5);
  EXPECT_EQ(trace.number("SELECT sum(bytes) FROM collective"), 16);
  EXPECT_EQ(trace.number("SELECT min(bytes) FROM collective"), 0);
  EXPECT_EQ(trace.number("SELECT count FROM diagnostic WHERE code = 'bad_sizes'"), 3);
  EXPECT_EQ(trace.number("SELECT count FROM diagnostic WHERE code = 'unknown_datatype'"), 1);
  EXPECT_EQ(trace.number("SELECT count(*) FROM communicator_member WHERE rank < 0"), 0);
}

// ---- outputs on their way -------------------------------------------------------------------------------------------

class StagingTest : public testing::Test {
 protected:
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(m_folder.path())) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  TemporaryFolder m_folder;
};

TEST_F(StagingTest, WhatIsNotPublishedIsRemoved) {
  {
    const auto file = Staging::file(m_folder.file("a"), "making");
    const auto folder = Staging::folder(m_folder.file("b"), "making");
    ASSERT_TRUE(file.ok() && folder.ok());
    std::ofstream(folder.value().path() + "/x") << "x";
    EXPECT_EQ(files().size(), 2u);
  }
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(StagingTest, LeftoversOfTheDeadAreRemovedAndNothingElse) {
  std::ofstream(m_folder.file("a.making-99999999")) << "left";
  std::ofstream(m_folder.file("a.making-1x")) << "not ours";
  std::ofstream(m_folder.file("ab.making-1")) << "of another place";
  std::filesystem::create_directories(m_folder.file("a.making-2"));  // not a file
  std::ofstream(m_folder.file("a.making-3")) << "being made";
  const int living = ::open(m_folder.file("a.making-3").c_str(), O_RDONLY);
  ASSERT_EQ(::flock(living, LOCK_EX), 0);
  auto staging = Staging::file(m_folder.file("a"), "making");
  ASSERT_TRUE(staging.ok());
  ASSERT_TRUE(staging.value().publishFile(false).ok());
  EXPECT_EQ(files(), (std::vector<std::string>{"a", "a.making-1x", "a.making-2", "a.making-3", "ab.making-1"}));
  ::close(living);
}

TEST_F(StagingTest, JournalsGoWithTheirFile) {
  std::ofstream(m_folder.file("a.making-99999999")) << "left";
  std::ofstream(m_folder.file("a.making-99999999-journal")) << "left";
  std::ofstream(m_folder.file("a.making-99999998-journal")) << "left, and its file is gone";
  std::ofstream(m_folder.file("a.making-3")) << "being made";
  std::ofstream(m_folder.file("a.making-3-journal")) << "being made";
  const int living = ::open(m_folder.file("a.making-3").c_str(), O_RDONLY);
  ASSERT_EQ(::flock(living, LOCK_EX), 0);
  {
    const auto staging = Staging::file(m_folder.file("a"), "making");
    ASSERT_TRUE(staging.ok());
    std::ofstream(staging.value().path() + "-journal") << "x";
    EXPECT_EQ(files().size(), 4u);
  }
  EXPECT_EQ(files(), (std::vector<std::string>{"a.making-3", "a.making-3-journal"}));
  ::close(living);
}

TEST_F(StagingTest, ASignalRemovesAFileAndItsJournal) {
  const std::string target = m_folder.file("a");
  EXPECT_EXIT(
      {
        removeStagingsWhenInterrupted();
        const auto staging = Staging::file(target, "making");
        std::ofstream(staging.value().path() + "-journal") << "x";
        ::raise(SIGTERM);
      },
      testing::KilledBySignal(SIGTERM), "");
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(StagingTest, AFileThatCameMeanwhileIsKept) {
  auto staging = Staging::file(m_folder.file("a"), "making");
  ASSERT_TRUE(staging.ok());
  std::ofstream(m_folder.file("a")) << "theirs";
  EXPECT_FALSE(staging.value().publishFile(false).ok());
  EXPECT_TRUE(staging.value().publishFile(true).ok());
  EXPECT_EQ(files(), (std::vector<std::string>{"a"}));
}

// SQLite would play it into the new file.
TEST_F(StagingTest, TheLogOfAReplacedDatabaseGoes) {
  for (const std::string old : {std::string("SQLite format 3\0", 16), std::string("text")}) {
    std::ofstream(m_folder.file("a"), std::ios::binary) << old;
    std::ofstream(m_folder.file("a-wal")) << "of the old one";
    auto staging = Staging::file(m_folder.file("a"), "making");
    ASSERT_TRUE(staging.ok());
    ASSERT_TRUE(staging.value().publishFile(true).ok());
    EXPECT_EQ(std::filesystem::exists(m_folder.file("a-wal")), old == "text");
  }
}

// As a process leaves it that is killed between the steps of replacing a database.
TEST_F(StagingTest, TheLogOfADatabaseThatIsGoneGoes) {
  std::ofstream(m_folder.file("a-journal")) << "of one that is gone";
  auto staging = Staging::file(m_folder.file("a"), "making");
  ASSERT_TRUE(staging.ok());
  std::ofstream(staging.value().path(), std::ios::binary) << std::string("SQLite format 3\0", 16);
  ASSERT_TRUE(staging.value().publishFile(false).ok());
  EXPECT_EQ(files(), (std::vector<std::string>{"a"}));
}

// What SQLite would play into the new file is gone before that is there: here it never comes.
TEST_F(StagingTest, ADatabaseThatIsReplacedGoesBeforeItsLogAndThatBeforeTheNewFile) {
  std::ofstream(m_folder.file("a"), std::ios::binary) << std::string("SQLite format 3\0", 16);
  std::ofstream(m_folder.file("a-journal")) << "of the old one";
  auto staging = Staging::file(m_folder.file("a"), "making");
  ASSERT_TRUE(staging.ok());
  std::filesystem::remove(staging.value().path());
  EXPECT_FALSE(staging.value().publishFile(true).ok());
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(StagingTest, AFolderReplacesItsOwnEntriesOnly) {
  std::filesystem::create_directories(m_folder.file("out/gone/deep"));
  std::ofstream(m_folder.file("out/kept")) << "mine";
  auto staging = Staging::folder(m_folder.file("out"), "making");
  ASSERT_TRUE(staging.ok());
  std::ofstream(staging.value().path() + "/new") << "new";
  ASSERT_TRUE(staging.value().publishFolder({"gone", "new"}, true).ok());
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(m_folder.file("out"))) {
    names.push_back(entry.path().filename().string());
  }
  EXPECT_THAT(names, testing::UnorderedElementsAre("kept", "new"));
}

// ---- several files --------------------------------------------------------------------------------------------------

std::string rankTrace(int rank, const std::string& more) {
  return traceOf({kernelEvent("k", "10", "5", 1)},
                 "\"distributedInfo\": {\"rank\": " + std::to_string(rank) + "}" + more);
}

TEST_F(Hostile, AFileThatHasLostItsBaseTimeIsPutAtTheOthers) {
  const auto result = import({write("whole.json", rankTrace(0, ", \"baseTimeNanoseconds\": 1712195495519689047")),
                              write("cut.json", rankTrace(1, ", \"baseTimeNano"))});
  ASSERT_TRUE(result.ok());
  EXPECT_THAT(result.value().warnings, testing::Contains(HasSubstr("cut.json does not say when its times begin")));
  const Database db(output());
  EXPECT_EQ(db.number("SELECT max(start_ns) - min(start_ns) FROM kernel"), 0);
  EXPECT_EQ(
      db.rows("SELECT rank, code FROM diagnostic JOIN process p ON p.id = process_id WHERE code = 'clock_not_known'"),
      (std::vector<Database::Row>{{"1", "clock_not_known"}}));
  // A host of its own, so that no report takes its clock for that of the others.
  EXPECT_EQ(db.number("SELECT count(DISTINCT host_id) FROM process"), 2);
}

TEST_F(Hostile, ABaseTimeIsReadHoweverItIsWritten) {
  for (const auto& [written, expected] : {std::pair("1712195495519689047.0", "1712195495519699047"),
                                          {"\"1712195495519689047\"", "1712195495519699047"},
                                          {"1.7e18", "1700000000000010000"}}) {
    std::filesystem::remove(output());
    const auto& db = imported(rankTrace(0, std::string(", \"baseTimeNanoseconds\": ") + written));
    EXPECT_EQ(db.text("SELECT value FROM meta WHERE key = 'session_start_realtime_ns'"), expected);
    EXPECT_THAT(m_result.warnings, IsEmpty());
  }
  std::filesystem::remove(output());
  (void)imported(rankTrace(0, ", \"baseTimeNanoseconds\": -5"));
  EXPECT_THAT(m_result.warnings, testing::ElementsAre(HasSubstr("baseTimeNanoseconds")));
}

TEST_F(Hostile, AFileIsNotImportedTwiceByMistake) {
  const std::string one = write("one.json", traceOf({kernelEvent("k", "10", "5", 1)}));
  const std::string link = m_folder.file("link.json");
  std::filesystem::create_symlink(one, link);
  EXPECT_THAT(import({one, one}).error().message, HasSubstr("is named twice"));
  EXPECT_THAT(import({one, link}).error().message, HasSubstr("are the same file"));
  const std::string text = traceOf({kernelEvent("k", "10", "5", 1)});
  for (const std::string& copy : {write("copy.json", text), write("copy.json.gz", gzip(text))}) {
    const auto copied = import({one, copy});
    ASSERT_TRUE(copied.ok());
    EXPECT_THAT(copied.value().warnings, testing::Contains(HasSubstr("holds the same trace as")));
    EXPECT_EQ(copied.value().filesLeftOut, 1u);
    EXPECT_EQ(Database(output()).number("SELECT count(*) FROM kernel"), 1);
    std::filesystem::remove(output());
  }
  EXPECT_TRUE(import({one, one}, {0, 1}).ok()) << "the user says that it is two ranks";
}

TEST_F(Hostile, ACopyIsNoRankOfItsOwnWhateverItIsCalled) {
  const auto kernels = [&](const std::string& first, const std::string& second, const std::string& more) {
    const std::string text = traceOf({kernelEvent("k", "10", "5", 1)}, more);
    std::filesystem::remove(output());
    const auto result = import({write(first, text), write(second, text)});
    EXPECT_TRUE(result.ok());
    if (result.ok()) m_result = result.value();
    return Database(output()).number("SELECT count(*) FROM kernel");
  };
  EXPECT_EQ(kernels("run.json", "run_rank1.json", ""), 1);
  EXPECT_THAT(m_result.warnings, testing::Contains(HasSubstr("run_rank1.json holds the same trace as")));
  EXPECT_EQ(kernels("rank0.json", "rank1.json", R"("distributedInfo": {"rank": 3})"), 1) << "the trace says its rank";
  EXPECT_EQ(kernels("rank0.json", "rank1.json", ""), 2) << "by their names they are two ranks";
  EXPECT_THAT(m_result.warnings, testing::Contains(HasSubstr("hold the same bytes")));
}

TEST_F(Hostile, OptionsThatCannotBeAreRefused) {
  const std::string one = write("one.json", traceOf({kernelEvent("k", "10", "5", 1)}));
  EXPECT_THAT(import({one}, {INT64_MAX}).error().message, HasSubstr("from 0 to 16777215"));
  import::ImportOptions options;
  options.files = {one};
  options.output = "-";
  EXPECT_THAT(import::importTraces(options).error().message, HasSubstr("standard output"));
}

TEST_F(Hostile, ByteOrderMarksArePassedOver) {
  const auto& db = imported("\xef\xbb\xbf" + traceOf({kernelEvent("k", "10", "5", 1)}));
  EXPECT_EQ(db.number("SELECT count(*) FROM kernel"), 1);
}

TEST_F(Hostile, WideCharactersAreNamed) {
  EXPECT_THAT(import({write("wide.json", std::string("\xff\xfe{\0}\0", 6))}).error().message, HasSubstr("UTF-16"));
}

TEST_F(Hostile, MemoryOfADeviceThatCannotBeIsNotKnown) {
  const auto& db =
      imported(traceOf({kernelEvent("k", "10", "5", 1)},
                       R"("deviceProperties": [{"id": 0, "name": "GPU", "totalGlobalMem": -3, "numSms": 0}])"));
  EXPECT_EQ(db.rows("SELECT memory_bytes, multiprocessor_count FROM device"),
            (std::vector<Database::Row>{{"NULL", "NULL"}}));
}

}  // namespace
}  // namespace plumb::test
