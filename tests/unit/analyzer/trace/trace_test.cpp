// SPDX-License-Identifier: Apache-2.0
#include "analyzer/trace/trace.h"

#include <gtest/gtest.h>

#include "tests/unit/analyzer/testing.h"

namespace plumb::test {
namespace {

TEST(Trace, KnowsWhoTookPart) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    trace.addProcess({.pid = 99, .program = "loader", .endNs = {}});
    const OneRank second(trace, 1, 2), first(trace, 0, 2);
    trace.addDiagnostic(first.process, "warning", "cupti", "bad_time", 3, "3 kernels have no time.");
    trace.addDiagnostic({}, "error", "recorder", "disk_full", 1, "The disk is full.");
  }
  Trace trace = valueOf(Trace::open(file.path()));
  ASSERT_EQ(trace.processes().size(), 3u);
  EXPECT_EQ(trace.processes()[0].label(), "rank 0");
  EXPECT_EQ(trace.processes()[1].label(), "rank 1");
  EXPECT_EQ(trace.processes()[2].label(), "loader (pid 99)");
  EXPECT_EQ(trace.processes()[2].end, std::nullopt);
  EXPECT_TRUE(trace.devices()[0].isSoftware);
  EXPECT_EQ(trace.streams()[0].name, "stream 7");
  EXPECT_TRUE(trace.info().complete);
  const auto diagnostics = valueOf(trace.diagnostics());
  ASSERT_EQ(diagnostics.size(), 2u);
  EXPECT_EQ(diagnostics[0].code, "disk_full");  // errors first
  EXPECT_EQ(diagnostics[0].process, std::nullopt);
}

TEST(Trace, TextsAreFoundBothWays) {
  const TraceFile file;
  int64_t id = 0;
  {
    TraceBuilder trace(file.path());
    id = trace.text("gemm");
  }
  Trace trace = valueOf(Trace::open(file.path()));
  EXPECT_EQ(trace.text(StringId(id)), "gemm");
  EXPECT_EQ(trace.text(StringId(4711)), "");
  EXPECT_EQ(valueOf(trace.findText("gemm")), StringId(id));
  EXPECT_EQ(valueOf(trace.findText("nothing")), std::nullopt);
}

TEST(Trace, UnfinishedFileSaysSo) {
  const TraceFile file;
  TraceBuilder(file.path()).finish(false);
  EXPECT_FALSE(valueOf(Trace::open(file.path())).info().complete);
}

TEST(Trace, AFileThatContradictsItsHeaderSaysSo) {
  for (const char* said : {"999", "none", ""}) {
    const TraceFile file;
    TraceBuilder(file.path()).setMeta("schema_version", said);
    Trace trace = valueOf(Trace::open(file.path()));
    const auto diagnostics = valueOf(trace.diagnostics());
    ASSERT_EQ(diagnostics.size(), 1u) << said;
    EXPECT_EQ(diagnostics[0].code, "schema_version");
    EXPECT_NE(diagnostics[0].message.find("'" + std::string(said) + "'"), std::string::npos);
  }
}

}  // namespace
}  // namespace plumb::test
