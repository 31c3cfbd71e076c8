// SPDX-License-Identifier: Apache-2.0
// --definition tracelens against TraceLens' own reports of real recordings (PLUMB_TEST_TRACES, as in
// recordings_test.cpp), within its tolerance.
#include "analyzer/analyses/tracelens.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <vector>

#include "analyzer/analyses/tracelens_gemm.h"
#include "analyzer/reports/reports.h"
#include "analyzer/sqlext/sql_surface.h"
#include "analyzer/trace/trace.h"
#include "tests/unit/analyzer/import/support.h"

namespace plumb::test {
namespace {

class TraceLensTest : public ImportTest {
 protected:
  Result<Trace> recording(const std::string& stem, const std::vector<std::string>& others = {}) {
    std::remove(output().c_str());
    std::vector<std::string> files = {stem + ".json.gz"};
    files.insert(files.end(), others.begin(), others.end());
    auto imported = import(files);
    if (!imported.ok()) return imported.error();
    return Trace::open(output());
  }
};

// type,time ms,percent
std::map<std::string, double> readTimes(const std::filesystem::path& path) {
  std::map<std::string, double> times;
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::string type, time;
    std::getline(fields, type, ',');
    std::getline(fields, time, ',');
    times[type] = std::stod(time);
  }
  return times;
}

TEST_F(TraceLensTest, TimesComeOut) {
  const char* folder = std::getenv("PLUMB_TEST_TRACES");
  if (folder == nullptr || *folder == 0) GTEST_SKIP() << "PLUMB_TEST_TRACES names no folder of recordings";
  constexpr double kTolerance = 1e-6;
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(folder) / "kineto")) {
    const std::string name = entry.path().filename().string(), suffix = ".gpu_timeline.csv";
    if (!name.ends_with(suffix)) continue;
    SCOPED_TRACE(name);
    const std::string stem = entry.path().string().substr(0, entry.path().string().size() - suffix.size());
    auto trace = recording(stem);
    ASSERT_TRUE(trace.ok()) << trace.error().message;
    const auto found = traceLensTimelines(trace.value());
    ASSERT_TRUE(found.ok());
    ASSERT_EQ(found.value().size(), 1u);
    const TraceLensTimeline& mine = found.value().front();
    const std::map<std::string, double> times = {{"computation_time", mine.computation},
                                                 {"exposed_comm_time", mine.exposedCommunication},
                                                 {"exposed_memcpy_time", mine.exposedCopies},
                                                 {"busy_time", mine.busy},
                                                 {"idle_time", mine.idle},
                                                 {"total_time", mine.total},
                                                 {"total_comm_time", mine.communication},
                                                 {"total_memcpy_time", mine.copies}};
    for (const auto& [type, expected] : readTimes(entry.path())) {
      EXPECT_NEAR(times.at(type), expected, kTolerance * expected) << type;
    }
    ++count;
  }
  EXPECT_GT(count, 0);
}

// The cells of a line of CSV, in which a quoted cell can hold commas and doubled quotes.
std::vector<std::string> cellsIn(const std::string& line) {
  std::vector<std::string> cells(1);
  bool isQuoted = false;
  for (const char c : line) {
    if (c == '"') {
      isQuoted = !isQuoted;
    } else if (c == ',' && !isQuoted) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  return cells;
}

TEST_F(TraceLensTest, MatrixProductsComeOut) {
  const char* folder = std::getenv("PLUMB_TEST_TRACES");
  if (folder == nullptr || *folder == 0) GTEST_SKIP() << "PLUMB_TEST_TRACES names no folder of recordings";
  // Column of the CSV and of the table. The operators of a replayed graph are in the trace of its capture.
  const std::vector<std::pair<std::string, size_t>> kNumbers = {{"GFLOPS_first", 11},
                                                                {"Data Moved (MB)_first", 12},
                                                                {"FLOPS/Byte_first", 13},
                                                                {"name_count", 14},
                                                                {"Kernel Time (µs)_sum", 15},
                                                                {"Kernel Time (µs)_mean", 16},
                                                                {"Kernel Time (µs)_median", 17},
                                                                {"Kernel Time (µs)_std", 18},
                                                                {"Kernel Time (µs)_min", 19},
                                                                {"Kernel Time (µs)_max", 20},
                                                                {"TB/s_mean", 21},
                                                                {"TB/s_median", 22},
                                                                {"TB/s_std", 23},
                                                                {"TB/s_min", 24},
                                                                {"TB/s_max", 25},
                                                                {"TFLOPS/s_mean", 26},
                                                                {"TFLOPS/s_median", 27},
                                                                {"TFLOPS/s_std", 28},
                                                                {"TFLOPS/s_min", 29},
                                                                {"TFLOPS/s_max", 30}};
  for (const std::string name :
       {"h100_bert_small", "h100_image_classifier", "mi300_bert_small", "mi300_qwen05b", "vllm_decode_graphs"}) {
    SCOPED_TRACE(name);
    const std::string stem = std::string(folder) + "/kineto/" + name;
    std::vector<std::string> captures;
    if (name == "vllm_decode_graphs") captures.push_back(std::string(folder) + "/kineto/vllm_graph_capture.json.gz");
    auto trace = recording(stem, captures);
    ASSERT_TRUE(trace.ok()) << trace.error().message;
    const auto found = traceLensGemmRows(trace.value(), {});
    ASSERT_TRUE(found.ok()) << found.error().message;
    std::ifstream file(stem + ".GEMM.csv");
    std::string line;
    ASSERT_TRUE(std::getline(file, line));
    const std::vector<std::string> heads = cellsIn(line);
    size_t count = 0;
    for (; std::getline(file, line); ++count) {
      SCOPED_TRACE(count);
      ASSERT_LT(count, found.value().size());
      const CellRow& mine = found.value()[count];
      const std::vector<std::string> cells = cellsIn(line);
      std::map<std::string, std::string> theirs;
      for (size_t i = 0; i < heads.size(); ++i) theirs[heads[i]] = cells.at(i);
      EXPECT_EQ(std::get<std::string>(mine[1]), theirs["name"]);
      EXPECT_EQ(std::to_string(std::get<int64_t>(mine[3])), theirs["param: M"]);
      EXPECT_EQ(std::get<std::string>(mine[7]), theirs["param: stride_A"]);
      for (const auto& [head, column] : kNumbers) {
        if (theirs[head].empty()) {
          EXPECT_TRUE(std::holds_alternative<std::nullptr_t>(mine[column])) << head;
          continue;
        }
        const double expected = std::stod(theirs[head]);
        const auto* integer = std::get_if<int64_t>(&mine[column]);
        const double value = integer ? static_cast<double>(*integer) : std::get<double>(mine[column]);
        EXPECT_NEAR(value, expected, 1e-6 * expected) << head;
      }
    }
    EXPECT_EQ(count, found.value().size());
    EXPECT_GT(count, 0u);
  }
}

// Without the trace of the capture the report says how much it cannot name.
TEST_F(TraceLensTest, ReplayedProductsWithoutACaptureAreCounted) {
  const char* folder = std::getenv("PLUMB_TEST_TRACES");
  if (folder == nullptr || *folder == 0) GTEST_SKIP() << "PLUMB_TEST_TRACES names no folder of recordings";
  auto trace = recording(std::string(folder) + "/kineto/sglang_decode_graphs");
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  const auto found = traceLensGemmRows(trace.value(), {});
  ASSERT_TRUE(found.ok()) << found.error().message;
  ASSERT_EQ(found.value().size(), 1u);
  const CellRow& row = found.value().front();
  EXPECT_EQ(std::get<int64_t>(row[14]), 544);
  EXPECT_NE(std::get<std::string>(row.back()).find("544 kernels of 1 graph launch"), std::string::npos);
}

TEST_F(TraceLensTest, KernelsComeOut) {
  const char* folder = std::getenv("PLUMB_TEST_TRACES");
  if (folder == nullptr || *folder == 0) GTEST_SKIP() << "PLUMB_TEST_TRACES names no folder of recordings";
  constexpr double kTolerance = 1e-6;
  for (const char* name : {"h100_bert_small", "h100_image_classifier", "mi300_bert_small", "mi300_qwen05b"}) {
    SCOPED_TRACE(name);
    const std::string stem = std::string(folder) + "/kineto/" + name;
    auto trace = recording(stem);
    ASSERT_TRUE(trace.ok()) << trace.error().message;
    const auto reports = findReports({});
    ASSERT_TRUE(reports.ok());
    ASSERT_TRUE(registerSqlSurface(trace.value(), reports.value()).ok());
    std::map<std::string, std::vector<double>> mine;
    auto rows = trace.value().query("SELECT * FROM report_tracelens_kernels");
    ASSERT_TRUE(rows.ok()) << rows.error().message;
    Statement& row = rows.value();
    while (row.next()) {
      const std::string key = std::string(row.text(1)) + "|" + std::string(row.text(2)) + "|" +
                              std::string(row.text(3)) + "|" + std::string(row.text(4));
      for (int column = 5; column < row.columnCount(); ++column) mine[key].push_back(row.real(column));
    }
    ASSERT_TRUE(row.status().ok()) << row.status().error().message;
    std::ifstream file(stem + ".kernel_summary.csv");
    std::string line;
    std::getline(file, line);
    size_t count = 0;
    for (; std::getline(file, line); ++count) {
      const std::vector<std::string> cells = cellsIn(line);
      const std::string key = cells[0] + "|" + cells[1] + "|" + cells[2] + "|" + cells[3];
      ASSERT_TRUE(mine.contains(key)) << key;
      for (size_t i = 0; i < mine[key].size(); ++i) {
        const double expected = std::stod(cells[4 + i]);
        EXPECT_NEAR(mine[key][i], expected, kTolerance * expected) << key << " " << i;
      }
    }
    EXPECT_EQ(count, mine.size());
  }
}

}  // namespace
}  // namespace plumb::test
