// SPDX-License-Identifier: Apache-2.0
// --definition tracelens against TraceLens' own reports of real recordings (PLUMB_TEST_TRACES, as in
// recordings_test.cpp), within its tolerance.
#include "analyzer/analyses/tracelens.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "analyzer/trace/trace.h"
#include "tests/unit/analyzer/import/support.h"

namespace plumb::test {
namespace {

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

TEST_F(ImportTest, TraceLensTimesComeOut) {
  const char* folder = std::getenv("PLUMB_TEST_TRACES");
  if (folder == nullptr || *folder == 0) GTEST_SKIP() << "PLUMB_TEST_TRACES names no folder of recordings";
  constexpr double kTolerance = 1e-6;
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(folder) / "kineto")) {
    const std::string name = entry.path().filename().string(), suffix = ".gpu_timeline.csv";
    if (!name.ends_with(suffix)) continue;
    SCOPED_TRACE(name);
    std::remove(output().c_str());
    const std::string stem = entry.path().string().substr(0, entry.path().string().size() - suffix.size());
    ASSERT_TRUE(import({stem + ".json.gz"}).ok());
    auto trace = Trace::open(output());
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

}  // namespace
}  // namespace plumb::test
