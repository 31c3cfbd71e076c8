// SPDX-License-Identifier: Apache-2.0
// Real recordings of other people, which are not part of the project: PLUMB_TEST_TRACES names the folder that holds
// expected.json and kineto/. Their reference values come out to the nanosecond.
#include <cstdlib>
#include <fstream>
#include <map>
#include <regex>

#include <nlohmann/json.hpp>

#include "analyzer/analyses/breakdown.h"
#include "analyzer/trace/trace.h"
#include "tests/unit/analyzer/import/support.h"

namespace plumb::test {
namespace {

using Numbers = std::map<std::string, int64_t>;

Numbers numbersOf(const Breakdown& b) {
  return {{"span_ns", b.span.ns()},
          {"busy_ns", b.busy.ns()},
          {"idle_ns", b.idle.ns()},
          {"compute_ns", b.compute.ns()},
          {"comm_ns", b.communication.ns()},
          {"mem_ns", b.memory.ns()},
          {"exposed_comm_ns", b.exposedCommunication.ns()},
          {"overlap_comm_ns", b.overlap.ns()},
          {"exposed_mem_ns", b.exposedMemory.ns()}};
}

Numbers countsOf(const Database& db, int64_t device) {
  Numbers counts;
  for (const auto& [name, table] :
       {std::pair{"kernels", "kernel"}, {"memcpy", "memory_copy"}, {"memset", "memory_set"}}) {
    counts[name] = db.number(
        "SELECT count(*) FROM " + std::string(table) + " t JOIN device d ON d.id = t.device_id WHERE d.ordinal = :d",
        {{":d", device}});
  }
  return counts;
}

TEST_F(ImportTest, EveryRecordingGivesItsReferenceValues) {
  const char* folder = std::getenv("PLUMB_TEST_TRACES");
  if (folder == nullptr || *folder == 0) GTEST_SKIP() << "PLUMB_TEST_TRACES names no folder of recordings";
  std::ifstream file(std::string(folder) + "/expected.json");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  // Written by Python, which says NaN.
  const auto expected = nlohmann::json::parse(std::regex_replace(text, std::regex(": NaN"), ": null"));
  for (const auto& [name, reference] : expected.at("files").items()) {
    SCOPED_TRACE(name);
    std::remove(output().c_str());
    const auto result = import({std::string(folder) + "/kineto/" + name});
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_EQ(result.value().damaged, 0u);
    auto trace = Trace::open(output());
    ASSERT_TRUE(trace.ok()) << trace.error().message;
    auto breakdowns = breakDown(trace.value());
    ASSERT_TRUE(breakdowns.ok());
    const auto devices = reference.value("exact", nlohmann::json::object());
    EXPECT_EQ(breakdowns.value().size(), devices.size());
    const Database db(output());
    for (const DeviceBreakdown& found : breakdowns.value()) {
      const int64_t ordinal = trace.value().device(found.device)->ordinal;
      Numbers numbers = numbersOf(found.whole);
      numbers.merge(countsOf(db, ordinal));
      numbers["n"] = found.eventCount;
      const auto& want = devices.at(std::to_string(ordinal)).at("all");
      for (const auto& [key, value] : numbers) EXPECT_EQ(value, want.at(key).get<int64_t>()) << key;
    }
  }
}

}  // namespace
}  // namespace plumb::test
