// SPDX-License-Identifier: Apache-2.0
// The main job on a real run: two processes train, and what is printed about them is true.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/integration/main_job/recordings.h"
#include "tests/support/database.h"
#include "workloads/fsdp/memory_plan.h"

namespace plumb::test {
namespace {

std::string readText(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

fsdp::ModelShape shapeOf(const Training& training) {
  return {training.layers,  training.dim, training.heads, training.vocabulary, training.batch / training.ranks,
          training.sequence};
}

// Elements of a rank's shard: parameters over the ranks, rounded up to the alignment.
int64_t shardOf(int64_t parameters, int ranks) {
  const auto alignment = static_cast<int64_t>(fsdp::kShardAlignment);
  const int64_t share = (parameters + ranks - 1) / ranks;
  return (share + alignment - 1) / alignment * alignment;
}

class MainJob : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    s_folder = std::make_unique<TemporaryFolder>();
    s_plain = run({s_training.arguments(), {}, {}, std::chrono::seconds(100)});
    s_recorded = run(recordCommand(recorded(), s_training.arguments()));
    s_preloaded = run(preloadCommand(preloaded(), s_training.arguments()));
    waitUntilComplete(preloaded());
  }
  static void TearDownTestSuite() { s_folder.reset(); }

  static std::string recorded() { return s_folder->file("record.sqlite"); }
  static std::string preloaded() { return s_folder->file("preload.sqlite"); }
  static nlohmann::json report(const std::string& name) {
    const Outcome outcome =
        run({{kPlumb, "report", name, recorded(), "--format", "json"}, {}, {}, std::chrono::seconds(60)});
    EXPECT_EQ(outcome.exitCode, 0) << outcome.errors;
    return nlohmann::json::parse(outcome.output);
  }

  static inline Training s_training;
  static inline std::unique_ptr<TemporaryFolder> s_folder;
  static inline Outcome s_plain, s_recorded, s_preloaded;
};

// Losses do not depend on timing, so everything but the times must be equal.
std::string withoutTimes(const std::string& output) {
  std::istringstream in(output);
  std::string kept;
  for (std::string line; std::getline(in, line);) {
    if (line.find(" ms") == std::string::npos) kept += line + "\n";
  }
  return kept;
}

TEST_F(MainJob, TheTargetIsUnharmed) {
  ASSERT_EQ(s_plain.exitCode, 0) << s_plain.errors;
  EXPECT_EQ(s_recorded.exitCode, 0) << s_recorded.errors;
  EXPECT_EQ(s_preloaded.exitCode, 0) << s_preloaded.errors;
  EXPECT_EQ(withoutTimes(s_recorded.output), withoutTimes(s_plain.output));
  EXPECT_EQ(withoutTimes(s_preloaded.output), withoutTimes(s_plain.output));
  EXPECT_EQ(s_preloaded.errors, s_plain.errors);
}

TEST_F(MainJob, WhatIsRecordedIsWhatTheRunDid) {
  const int64_t dim = s_training.dim;
  const int64_t block = 2 * dim + 12 * dim * dim;
  const int64_t root = 2 * s_training.vocabulary * dim + dim;
  const std::map<std::string, int64_t> parameters = {{":layers", s_training.layers},
                                                     {":ranks", s_training.ranks},
                                                     {":steps", s_training.steps},
                                                     {":block_shard", shardOf(block, s_training.ranks)},
                                                     {":root_shard", shardOf(root, s_training.ranks)}};
  const std::string truth = readText(PLUMB_SOURCE_DIR "/workloads/fsdp/truth.sql");
  for (const std::string& file : {recorded(), preloaded()}) {
    const auto rows = Database(file).rows(truth, parameters);
    EXPECT_GE(rows.size(), 15u);
    for (const auto& row : rows) EXPECT_EQ(row[1], "1") << file << ": " << row[0] << " (" << row[2] << ")";
  }
}

struct Work {
  int64_t start;
  int64_t end;
  char kind;  // 'c'ompute, co'm'munication, m'e'mory
};

struct Sums {
  int64_t span = 0, compute = 0, communication = 0, overlap = 0, exposedCommunication = 0, memory = 0,
          exposedMemory = 0, idle = 0;
};

// The definitions taken literally, one elementary interval at a time.
Sums bruteForce(const std::vector<Work>& work) {
  std::set<int64_t> cuts;
  for (const Work& piece : work) {
    cuts.insert(piece.start);
    cuts.insert(piece.end);
  }
  Sums sums;
  sums.span = *cuts.rbegin() - *cuts.begin();
  for (auto cut = cuts.begin(); std::next(cut) != cuts.end(); ++cut) {
    const int64_t from = *cut, to = *std::next(cut), length = to - from;
    bool compute = false, communication = false, memory = false;
    for (const Work& piece : work) {
      if (piece.start > from || piece.end < to) continue;
      compute |= piece.kind == 'c';
      communication |= piece.kind == 'm';
      memory |= piece.kind == 'e';
    }
    if (compute) sums.compute += length;
    if (communication) sums.communication += length;
    if (memory) sums.memory += length;
    if (compute && communication) sums.overlap += length;
    if (communication && !compute) sums.exposedCommunication += length;
    if (memory && !compute && !communication) sums.exposedMemory += length;
    if (!compute && !communication && !memory) sums.idle += length;
  }
  return sums;
}

TEST_F(MainJob, ComputeExposedCommunicationExposedMemoryAndIdleAreTheSpan) {
  const nlohmann::json rows = report("breakdown");
  ASSERT_EQ(rows.size(), static_cast<size_t>(s_training.ranks));
  Database trace(recorded());
  for (const auto& row : rows) {
    std::vector<Work> work;
    const std::map<std::string, int64_t> rank = {{":rank", row["rank"].get<int64_t>()}};
    for (const auto& piece :
         trace.rows("SELECT start_ns, start_ns + duration_ns, CASE WHEN id IN (SELECT kernel_id FROM collectives) THEN "
                    "'m' ELSE 'c' END "
                    "FROM kernels WHERE rank = :rank UNION ALL SELECT start_ns, start_ns + duration_ns, 'e' FROM "
                    "copies WHERE rank = :rank "
                    "UNION ALL SELECT start_ns, start_ns + duration_ns, 'e' FROM memory_sets WHERE rank = :rank",
                    rank)) {
      work.push_back({std::stoll(piece[0]), std::stoll(piece[1]), piece[2][0]});
    }
    ASSERT_GT(work.size(), 100u);
    const Sums expected = bruteForce(work);
    const auto number = [&](const char* column) { return row[column].get<int64_t>(); };
    EXPECT_EQ(number("span_ns"), expected.span);
    EXPECT_EQ(number("compute_ns"), expected.compute);
    EXPECT_EQ(number("communication_ns"), expected.communication);
    EXPECT_EQ(number("overlap_ns"), expected.overlap);
    EXPECT_EQ(number("exposed_communication_ns"), expected.exposedCommunication);
    EXPECT_EQ(number("memory_ns"), expected.memory);
    EXPECT_EQ(number("exposed_memory_ns"), expected.exposedMemory);
    EXPECT_EQ(number("idle_ns"), expected.idle);
    EXPECT_EQ(
        number("compute_ns") + number("exposed_communication_ns") + number("exposed_memory_ns") + number("idle_ns"),
        number("span_ns"));
    EXPECT_EQ(row["communication_by"], "records");
  }
}

TEST_F(MainJob, PeakMemoryByCategoryIsTheHandCalculation) {
  const auto moments = fsdp::memoryMoments(shapeOf(s_training), s_training.ranks);
  const nn::CategoryBytes expected = fsdp::peakMoment(moments).bytes;
  std::map<std::string, std::map<int64_t, double>> measured;  // category → rank → bytes
  for (const auto& row : report("memory")) {
    if (row["space"] == "device") measured[row["category"]][row["rank"].get<int64_t>()] = row["bytes"].get<double>();
  }
  for (size_t i = 0; i < nn::kCategoryCount; ++i) {
    const auto category = static_cast<nn::Category>(i);
    const std::string name(nn::categoryName(category));
    for (int rank = 0; rank < s_training.ranks; ++rank) {
      EXPECT_NEAR(measured[name][rank], static_cast<double>(expected[category]),
                  0.01 * static_cast<double>(expected[category]))
          << name << " of rank " << rank;
    }
  }
  for (const auto& [rank, bytes] : measured["unattributed"]) {
    EXPECT_LE(bytes, 0.01 * static_cast<double>(expected.total())) << "rank " << rank;
  }
}

TEST_F(MainJob, PreloadingAloneGivesTheSameTables) {
  const std::vector<std::string> questions = {
      "SELECT rank, name, grid_x, grid_y, block_x, count(*) FROM kernels GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5",
      "SELECT rank, name, bytes, source_kind, target_kind, count(*) FROM copies GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, "
      "3, 4, 5",
      "SELECT rank, bytes, count(*) FROM memory_sets GROUP BY 1, 2 ORDER BY 1, 2",
      "SELECT rank, operation, sequence, datatype, element_count, bytes, algorithm, kernel_id IS NULL FROM collectives "
      "ORDER BY 1, 2, 3",
      "SELECT rank, domain, name, depth, count(*) FROM ranges GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4",
      "SELECT rank, name, category, category_source, space, bytes, count(*) FROM allocations GROUP BY 1, 2, 3, 4, 5, 6 "
      "ORDER BY 1, 2, 3, 4, 5, 6",
      "SELECT p.rank, s.text, g.m, g.n, g.k, g.flops, count(*) FROM library_call g JOIN process p ON p.id = "
      "g.process_id "
      "JOIN string s ON s.id = g.name_id GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6",
      "SELECT rank, name, kind, memory_bytes FROM devices ORDER BY 1",
      "SELECT rank, stream FROM streams ORDER BY 1, 2",
      "SELECT rank, name, local_rank, world_size, ended FROM processes WHERE rank IS NOT NULL ORDER BY 1",
      // Polling calls aside, the program makes the same API calls in each run.
      "SELECT rank, name, layer, count(*) FROM api_calls WHERE name NOT LIKE '%Query%' GROUP BY 1, 2, 3 ORDER BY 1, 2, "
      "3",
  };
  const Database record(recorded());
  const Database preload(preloaded());
  for (const std::string& question : questions) {
    const auto rows = record.rows(question);
    EXPECT_FALSE(rows.empty()) << question;
    EXPECT_EQ(rows, preload.rows(question)) << question;
  }
}

TEST_F(MainJob, AFileCanBeReadWhileItIsBeingWritten) {
  TemporaryFolder folder;
  const std::string file = folder.file("live.sqlite");
  Training training;
  training.steps = 300;
  Process process(recordCommand(file, training.arguments()));
  int64_t seen = 0;
  for (int attempt = 0; attempt < 300 && seen == 0; ++attempt) {
    if (std::filesystem::exists(file)) {
      try {
        seen = Database(file).number("SELECT count(*) FROM kernels");
      } catch (const std::runtime_error&) {
        // Its tables are being made.
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_GT(seen, 0);
  EXPECT_EQ(Database(file).number("SELECT count(*) FROM meta WHERE key = 'complete' AND value = '1'"), 0);
  EXPECT_EQ(run({{kPlumb, "report", "kernels", file}, {}, {}, std::chrono::seconds(30)}).exitCode, 0);
  EXPECT_EQ(process.wait().exitCode, 0);
  EXPECT_EQ(Database(file).number("SELECT count(*) FROM meta WHERE key = 'complete' AND value = '1'"), 1);
}

}  // namespace
}  // namespace plumb::test
