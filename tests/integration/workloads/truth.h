// SPDX-License-Identifier: Apache-2.0
// Records a program and holds a file of checks against the recording.
#pragma once
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/database.h"
#include "tests/support/process.h"

namespace plumb::test {

inline const std::string kBin = PLUMB_BUILD_DIR "/bin";

inline Outcome record(const std::string& file, std::vector<std::string> command) {
  command.insert(command.begin(), {kBin + "/plumb", "record", "-o", file, "--"});
  return run({command, {}, {}, std::chrono::seconds(100)});
}

// truth: a file of the source tree whose query gives rows (check, passed, detail).
inline void expectTruth(const std::string& truth, const std::string& file,
                        const std::map<std::string, int64_t>& parameters, size_t atLeast) {
  std::ostringstream sql;
  sql << std::ifstream(PLUMB_SOURCE_DIR "/" + truth).rdbuf();
  const auto rows = Database(file).rows(sql.str(), parameters);
  EXPECT_GE(rows.size(), atLeast);
  for (const auto& row : rows) EXPECT_EQ(row[1], "1") << row[0] << " (" << row[2] << ")";
}

}  // namespace plumb::test
