// SPDX-License-Identifier: Apache-2.0
// What an export has of a trace: compared with the schema's tables, and with what comes back.
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/export/contents.h"
#include "analyzer/import/import.h"
#include "tests/unit/analyzer/export/export_testing.h"

namespace plumb::test {

inline std::vector<std::string> tablesOf(Trace& trace) {
  return rowsOf(trace, "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
}

// A table that is new to the schema must be decided about.
inline void expectEveryTable(std::span<const exports::Content> contents) {
  const TraceFile file;
  makeTrace(file.path(), {});
  Trace trace = valueOf(Trace::open(file.path()));
  std::vector<std::string> listed;
  for (const exports::Content& content : contents) {
    listed.emplace_back(content.table);
    EXPECT_TRUE(!content.becomes.empty() || !content.called.empty()) << content.table;
    EXPECT_EQ(content.without.empty() && !content.becomes.empty(), content.called.empty()) << content.table;
  }
  EXPECT_THAT(listed, testing::UnorderedElementsAreArray(tablesOf(trace)));
}

struct RoundTripped {
  std::string leftOut;
  Trace before, after;
};
struct Written {
  std::vector<std::string> files;
  std::vector<exports::LeftOut> leftOut;
};

// Of a trace of these statements (makeTrace), written by `write` and imported again.
inline RoundTripped roundTrip(const Folder& folder, const std::vector<std::string>& statements,
                              const std::function<Written(Trace&)>& write) {
  makeTrace(folder.file("before.sqlite"), statements);
  Trace before = valueOf(Trace::open(folder.file("before.sqlite")));
  const Written written = write(before);
  import::ImportOptions again;
  again.files = written.files;
  again.output = folder.file("after.sqlite");
  EXPECT_EQ(valueOf(import::importTraces(again)).damaged, 0u);
  return {exports::leftOutText(written.leftOut), std::move(before), valueOf(Trace::open(again.output))};
}

inline void expectSame(RoundTripped& trip, const std::vector<std::string>& queries) {
  for (const std::string& sql : queries) {
    const auto rows = rowsOf(trip.before, sql);
    EXPECT_FALSE(rows.empty()) << sql;
    EXPECT_EQ(rows, rowsOf(trip.after, sql)) << sql;
  }
}

}  // namespace plumb::test
