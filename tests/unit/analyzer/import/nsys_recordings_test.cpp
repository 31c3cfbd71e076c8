// SPDX-License-Identifier: Apache-2.0
// Real exports of other people, which are not part of the project: PLUMB_TEST_TRACES names the folder that holds nsys/.
// What `nsys stats` printed for them comes out of the imported file, to the nanosecond.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <vector>

#include "analyzer/analyses/breakdown.h"
#include "analyzer/reports/reports.h"
#include "analyzer/sqlext/sql_surface.h"
#include "analyzer/trace/trace.h"
#include "tests/unit/analyzer/import/nsys_support.h"

namespace plumb::test {
namespace {

using Line = std::vector<std::string>;

// The rows of one table of nsys stats' text output; columns as wide as their dashes.
std::vector<Line> tableOf(const std::string& path, const std::string& report) {
  std::ifstream file(path);
  std::vector<Line> rows;
  std::vector<std::pair<size_t, size_t>> columns;
  bool isIn = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(" ** ")) isIn = line.find("(" + report + ")") != std::string::npos;
    if (!isIn) continue;
    if (line.find("--------") != std::string::npos) {
      columns.clear();
      for (size_t at = line.find('-'); at != std::string::npos; at = line.find('-', at)) {
        const size_t end = std::min(line.find(' ', at), line.size());
        columns.emplace_back(at, end - at);
        at = end;
      }
      continue;
    }
    if (columns.empty()) continue;
    if (line.empty()) break;
    Line row;
    for (size_t i = 0; i < columns.size(); ++i) {
      // The last column is text, in which a character can be several bytes.
      std::string cell = line.substr(columns[i].first, i + 1 < columns.size() ? columns[i].second : std::string::npos);
      cell.erase(0, cell.find_first_not_of(' '));
      cell.erase(cell.find_last_not_of(' ') + 1);
      row.push_back(cell);
    }
    rows.push_back(row);
  }
  return rows;
}

// "cudaMalloc" of "cudaMalloc_v3020": nsys stats removes some version suffixes, the importer all.
std::string plain(std::string name) {
  for (size_t at = name.rfind("_v"); at != std::string::npos && at + 2 < name.size() &&
                                     name.find_first_not_of("0123456789", at + 2) == std::string::npos;
       at = name.rfind("_v")) {
    name.erase(at);
  }
  return name;
}

class NsysRecordings : public ImportTest {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("PLUMB_TEST_TRACES");
    if (folder == nullptr || *folder == 0) GTEST_SKIP() << "PLUMB_TEST_TRACES names no folder of recordings";
    m_nsys = std::string(folder) + "/nsys/";
  }
  void open(const std::string& name) {
    const auto result = import({m_nsys + name + ".sqlite"});
    ASSERT_TRUE(result.ok()) << result.error().message;
    auto trace = Trace::open(output());
    ASSERT_TRUE(trace.ok()) << trace.error().message;
    m_trace = std::make_unique<Trace>(std::move(trace).value());
  }
  std::vector<Line> query(const std::string& sql) {
    auto rows = m_trace->query(sql);
    EXPECT_TRUE(rows.ok()) << (rows.ok() ? "" : rows.error().message);
    std::vector<Line> lines;
    while (rows.ok() && rows.value().next()) {
      Line& line = lines.emplace_back();
      for (int i = 0; i < rows.value().columnCount(); ++i) {
        line.push_back(rows.value().isNull(i) ? "" : std::string(rows.value().text(i)));
      }
    }
    return lines;
  }
  // Rows of name, count, total, mean, median, min, max, standard deviation against a table of nsys stats, where the
  // numbers begin in the column `total`.
  void compare(const std::string& report, const std::string& sql, bool namesAreCut) {
    SCOPED_TRACE(report);
    std::vector<Line> want = tableOf(m_nsys + "a100_llm_2_7b.nsys_stats.txt", report);
    std::vector<Line> have = query(sql);
    ASSERT_GT(want.size(), 0u);
    ASSERT_EQ(have.size(), want.size());
    const auto byTotal = [](size_t total) {
      return [total](const Line& a, const Line& b) {
        return std::stoll(a[total]) != std::stoll(b[total]) ? std::stoll(a[total]) > std::stoll(b[total])
                                                            : a.back() < b.back();
      };
    };
    std::sort(want.begin(), want.end(), byTotal(1));
    std::sort(have.begin(), have.end(), byTotal(1));
    for (size_t i = 0; i < want.size(); ++i) {
      const Line& a = have[i];
      const Line& b = want[i];
      EXPECT_EQ(a[0], b[2]) << b[8] << ": count";
      EXPECT_EQ(a[1], b[1]) << b[8] << ": total";
      for (const auto& [mine, theirs] : {std::pair{2, 3}, {3, 4}, {6, 7}}) {
        const std::string& text = a[static_cast<size_t>(mine)];
        // Printed with one digit behind the point.
        EXPECT_NEAR(text.empty() ? 0.0 : std::stod(text), std::stod(b[static_cast<size_t>(theirs)]), 0.0500001) << b[8];
      }
      EXPECT_EQ(a[4], b[5]) << b[8] << ": min";
      EXPECT_EQ(a[5], b[6]) << b[8] << ": max";
      if (namesAreCut) {
        EXPECT_TRUE(a[7].starts_with(b[8].substr(0, std::min(b[8].find("\u2026"), b[8].size()))))
            << a[7] << " / " << b[8];
      } else {
        EXPECT_EQ(a[7], plain(b[8]));
      }
    }
  }

  std::string m_nsys;
  std::unique_ptr<Trace> m_trace;
};

constexpr const char* kNumbers =
    "count(*), sum(duration_ns), avg(duration_ns), median(duration_ns), min(duration_ns), max(duration_ns), "
    "stddev(duration_ns)";

TEST_F(NsysRecordings, SummariesAreThoseOfNsysStats) {
  open("a100_llm_2_7b");
  EXPECT_EQ(query("SELECT count(*), sum(duration_ns) FROM kernels WHERE name = 'ampere_sgemm_128x64_tn'"),
            (std::vector<Line>{{"900", "2991054425"}}));
  EXPECT_EQ(
      query(
          "SELECT (SELECT count(*) FROM kernel), (SELECT count(*) FROM memory_copy), (SELECT count(*) FROM api_call)"),
      (std::vector<Line>{{"7328", "294", "9493"}}));
  compare("cuda_gpu_kern_sum", fmt::format("SELECT {}, full_name FROM kernels GROUP BY full_name", kNumbers), true);
  compare("cuda_api_sum", fmt::format("SELECT {}, name FROM api_calls GROUP BY name", kNumbers), false);
  compare("osrt_sum", fmt::format("SELECT {}, name FROM os_calls GROUP BY name", kNumbers), false);
  compare("cuda_gpu_mem_time_sum",
          fmt::format("SELECT {}, '[CUDA memcpy Host-to-Device]' FROM copies WHERE copy_kind = 'HtoD'", kNumbers),
          false);
  const std::vector<Line> sizes = tableOf(m_nsys + "a100_llm_2_7b.nsys_stats.txt", "cuda_gpu_mem_size_sum");
  ASSERT_EQ(sizes.size(), 1u);
  const Line have = query(
      "SELECT printf('%.3f', sum(bytes) / 1e6), count(*), printf('%.3f', avg(bytes) / 1e6), printf('%.3f', "
      "median(bytes) / 1e6), printf('%.3f', min(bytes) / 1e6), printf('%.3f', max(bytes) / 1e6), "
      "printf('%.3f', stddev(bytes) / 1e6) FROM copies")[0];
  EXPECT_EQ(have, Line(sizes[0].begin(), sizes[0].end() - 1));
}

// The same tables by our reports, which count over all processes as nsys stats does.
TEST_F(NsysRecordings, ReportsAreTheTablesOfNsysStats) {
  open("a100_llm_2_7b");
  const auto reports = findReports({});
  ASSERT_TRUE(reports.ok());
  ASSERT_TRUE(registerSqlSurface(*m_trace, reports.value()).ok());
  compare("osrt_sum", "SELECT calls, total_ns, avg_ns, median_ns, min_ns, max_ns, stddev_ns, name FROM report_os_calls",
          false);
  compare("cuda_api_sum", "SELECT calls, total_ns, avg_ns, median_ns, min_ns, max_ns, stddev_ns, name FROM report_api",
          false);
  compare("cuda_gpu_mem_time_sum",
          "SELECT calls, total_ns, avg_ns, median_ns, min_ns, max_ns, stddev_ns, '[CUDA memcpy Host-to-Device]' FROM "
          "report_copies(NULL, NULL, NULL, NULL, NULL, 'direction')",
          false);
  const std::vector<Line> sizes = tableOf(m_nsys + "a100_llm_2_7b.nsys_stats.txt", "cuda_gpu_mem_size_sum");
  const std::vector<Line> have = query(
      "SELECT printf('%.3f', total_bytes / 1e6), calls, printf('%.3f', avg_bytes / 1e6), printf('%.3f', median_bytes / "
      "1e6), printf('%.3f', min_bytes / 1e6), printf('%.3f', max_bytes / 1e6), printf('%.3f', stddev_bytes / 1e6) FROM "
      "report_copies(NULL, NULL, NULL, NULL, NULL, 'direction')");
  ASSERT_EQ(have.size(), sizes.size());
  EXPECT_EQ(have[0], Line(sizes[0].begin(), sizes[0].end() - 1));
}

// Pairs of lines, Enter and Leave, of a CSV; cells hold no commas except in names.
std::vector<Line> entersOf(const std::string& path, const std::string& trace) {
  std::ifstream file(path);
  std::vector<Line> rows;
  for (std::string line; std::getline(file, line);) {
    const size_t at = line.find("," + trace + ",Enter,");
    if (at == std::string::npos) continue;
    std::istringstream head(line.substr(0, at)), tail(line.substr(at + trace.size() + 8));
    Line row;
    for (std::string cell; std::getline(head, cell, ',');) row.push_back(cell);
    std::string start, match, end;
    std::getline(tail, start, ',');
    std::getline(tail, match, ',');
    std::getline(tail, end, ',');
    row.insert(row.end(), {start, end});
    rows.push_back(row);
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

TEST_F(NsysRecordings, EveryEventIsWhereItsTraceSays) {
  open("a100x4_cloverleaf");
  std::vector<Line> kernels = query(
      "SELECT name, stream, 'kernel', '', start_ns, start_ns + duration_ns FROM kernels UNION ALL SELECT "
      "'CUDA_MEMCPY_KIND_' || "
      "upper(copy_kind), stream, 'CUDA_MEMCPY_KIND_' || upper(copy_kind), bytes, start_ns, start_ns + duration_ns FROM "
      "copies");
  std::vector<Line> want = entersOf(m_nsys + "a100x4_cloverleaf.gpu_trace.csv", "gpu_trace");
  for (Line& row : want) {
    if (row.size() == 5) row.insert(row.begin() + 3, "");  // no bytes
    row[3] = row[3].substr(0, row[3].find('.'));
  }
  std::sort(kernels.begin(), kernels.end());
  std::sort(want.begin(), want.end());
  EXPECT_EQ(want.size(), 1591u);
  EXPECT_EQ(kernels, want);

  std::vector<Line> calls = query(
      "SELECT a.name, p.pid, a.tid, a.start_ns, a.start_ns + a.duration_ns FROM api_calls a JOIN processes p "
      "ON p.id = a.process_id");
  std::vector<Line> callsWanted = entersOf(m_nsys + "a100x4_cloverleaf.cuda_api_trace.csv", "cuda_api");
  for (Line& row : callsWanted) row[0] = plain(row[0]);
  std::sort(calls.begin(), calls.end());
  std::sort(callsWanted.begin(), callsWanted.end());
  EXPECT_EQ(callsWanted.size(), 3048u);
  EXPECT_EQ(calls, callsWanted);
}

TEST_F(NsysRecordings, TwoProcessesOnTwoDevicesStayApart) {
  open("h100_2gpu_video_before");
  EXPECT_EQ(query("SELECT count(*), sum(name GLOB 'ncclDevKernel_SendRecv*'), printf('%.2f', sum(duration_ns) / 1e6) "
                  "FROM kernels"),
            (std::vector<Line>{{"4010", "66", "535.20"}}));
  EXPECT_EQ(query("SELECT count(*) FROM ranges WHERE domain <> 'profiler overhead'"), (std::vector<Line>{{"19118"}}));
  EXPECT_EQ(query("SELECT count(*) FROM (SELECT correlation FROM kernel GROUP BY correlation HAVING count(DISTINCT "
                  "process_id) = 2)")[0][0] > "0",
            true);
  auto breakdowns = breakDown(*m_trace);
  ASSERT_TRUE(breakdowns.ok());
  std::map<int64_t, int64_t> exposed;
  for (const DeviceBreakdown& found : breakdowns.value()) {
    exposed[m_trace->device(found.device)->ordinal] = found.whole.exposedCommunication.ns();
  }
  EXPECT_EQ(exposed, (std::map<int64_t, int64_t>{{0, 17'172'652}, {1, 8'229'100}}));
}

// The views under Nsight's names give what the export's own tables give.
TEST_F(NsysRecordings, TheExportComesBackUnderItsOwnNames) {
  if (m_nsys.empty()) return;
  for (const auto& entry : std::filesystem::directory_iterator(m_nsys)) {
    if (entry.path().extension() != ".sqlite") continue;
    SCOPED_TRACE(entry.path().filename());
    std::filesystem::remove(output());
    open(entry.path().stem());
    const auto copy = m_folder.file("source.sqlite");
    std::filesystem::copy_file(entry.path(), copy, std::filesystem::copy_options::overwrite_existing);
    const Database source(copy), trace(output());
    for (const std::string sql :
         {"SELECT k.start, k.\"end\", k.deviceId, k.contextId, k.streamId, k.correlationId, k.globalPid / 16777216 % "
          "16777216, d.value, "
          "s.value, k.gridX, k.gridY, k.blockX, k.registersPerThread, k.staticSharedMemory, k.dynamicSharedMemory FROM "
          "CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds d ON d.id = k.demangledName JOIN StringIds s ON s.id = "
          "k.shortName",
          "SELECT start, \"end\", deviceId, streamId, correlationId, bytes, copyKind, srcKind, dstKind FROM "
          "CUPTI_ACTIVITY_KIND_MEMCPY",
          "SELECT start, \"end\", eventClass, globalTid / 16777216 % 16777216, globalTid % 16777216, correlationId, "
          "returnValue FROM "
          "CUPTI_ACTIVITY_KIND_RUNTIME",
          "SELECT start, \"end\", deviceId, streamId, correlationId, syncType FROM "
          "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"}) {
      Rows before = source.rows(sql), after = trace.rows(sql);
      std::sort(before.begin(), before.end());
      std::sort(after.begin(), after.end());
      EXPECT_EQ(after.size(), before.size()) << sql;
      EXPECT_TRUE(after == before) << sql;
    }
    if (source.number("SELECT count(*) FROM sqlite_schema WHERE name = 'NVTX_EVENTS'") > 0) {
      const std::string counts = "SELECT eventType, count(*) FROM NVTX_EVENTS GROUP BY 1 ORDER BY 1";
      EXPECT_EQ(trace.rows(counts), source.rows(counts));
    }
  }
}

}  // namespace
}  // namespace plumb::test
