// SPDX-License-Identifier: Apache-2.0
// Every table of the trace format becomes tables of Nsight Systems' export, or is named as left out; what is in comes
// back.
#include "analyzer/export/nsys_contents.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/export/nsys.h"
#include "collector/schema/schema.h"
#include "tests/unit/analyzer/export/contents_testing.h"

namespace plumb::test {
namespace {

using testing::HasSubstr;

RoundTripped roundTrip(const Folder& folder, const std::vector<std::string>& statements) {
  return roundTrip(folder, statements, [&](Trace& trace) -> Written {
    const std::string file = folder.file("nsys.sqlite");
    return {{file}, valueOf(exports::exportNsys(trace, file, false)).leftOut};
  });
}

TEST(NsysContents, NameEveryTableOfTheSchema) {
  expectEveryTable(exports::nsysContents());
  for (const exports::Content& content : exports::nsysContents()) {
    std::istringstream names{std::string(content.becomes)};
    for (std::string name; std::getline(names >> std::ws, name, ',');) {
      EXPECT_THAT(std::string(schema::nsysViewsSql()) + "CREATE VIEW PROCESSES AS", HasSubstr(" " + name + " AS"))
          << content.table;
    }
  }
}

TEST(NsysContents, WhatIsLeftOutIsSaidWithItsNumber) {
  const Folder folder;
  const RoundTripped trip = roundTrip(
      folder,
      {"INSERT INTO api_call VALUES (1, 1, 1, 100, 50, text('cudaLaunchKernel'), 'runtime', 7, 0)",
       "UPDATE process SET rank = 3", "INSERT INTO process_variable VALUES (1, text('WORLD_SIZE'), text('1'))",
       "INSERT INTO clock_pair VALUES (1, 5, 6, NULL), (1, 7, 8, NULL)",
       "INSERT INTO operator VALUES (1, 1, 1, 10, 5, text('aten::mm'), NULL, NULL, NULL, NULL, NULL)",
       "INSERT INTO memory_region VALUES (1, 1, 5, 64, 8, text('parameter/w'), 'parameter')",
       "INSERT INTO kernel VALUES (1, 1, 1, 1, 0, 0, text('k'), text('k'), text('k'), 7, 1, 1, 1, 1, 1, 1, 0, 0,"
       " 0, 0, NULL, NULL, 1)"});
  EXPECT_EQ(trip.leftOut,
            "Not in the file, which has no place for them: ranks of processes (1), environment variables and facts "
            "about the traced program (1), kernels without a usable time (1), named pieces of memory (1), categories "
            "of memory (1), pairs of clock readings (2), operators (1).");
}

TEST(NsysContents, PayloadsOfRangesComeBack) {
  const Folder folder;
  RoundTripped trip = roundTrip(
      folder, {"INSERT INTO range VALUES (1, 1, 1, NULL, 10, 5, 'push_pop', 0, NULL, 0, text('whole'), NULL, NULL),"
               " (2, 1, 1, NULL, 20, 5, 'push_pop', 0, NULL, 0, text('half'), NULL, NULL),"
               " (3, 1, 1, NULL, 30, 5, 'push_pop', 0, NULL, 0, text('fields'), NULL, NULL)",
               "INSERT INTO range_payload VALUES (1, text('payload'), 9007199254740993), (2, text('payload'), 0.5),"
               " (3, text('flops'), 2.5), (3, text('bytes'), 12), (3, text('kind'), 'a \"b\"')"});
  EXPECT_THAT(trip.leftOut, testing::Not(HasSubstr("ayload")));
  expectSame(trip,
             {"SELECT r.text, n.text, value, typeof(value) FROM range_payload JOIN range ON range.id = range_id"
              " JOIN string r ON r.id = range.name_id JOIN string n ON n.id = range_payload.name_id ORDER BY 1, 2"});
}

TEST(NsysContents, CallStacksOfCallsComeBackAndOthersAreCounted) {
  const Folder folder;
  RoundTripped trip = roundTrip(
      folder, {"INSERT INTO api_call VALUES (1, 1, 1, 100, 50, text('cudaLaunchKernel'), 'runtime', 7, 0)",
               "INSERT INTO os_call VALUES (1, 1, 1, 200, 1000, text('poll'), -1, 2)",
               "INSERT INTO stack VALUES (1, text('launch')), (2, text('poll')), (3, text('alloc'))",
               "INSERT INTO api_call_stack VALUES (1, 1)",
               "INSERT INTO stack_frame VALUES (1, 0, text('launch'), text('a.so'), 0), (1, 1, text('main'), text('a'),"
               " 0), (2, 0, text('poll'), text('libc.so'), 0), (3, 0, text('alloc'), text('b.so'), 0)"});
  EXPECT_THAT(trip.leftOut, HasSubstr("call stacks that are not those of API calls (1), frames of those (1)"));
  expectSame(trip, {"SELECT s.function, s.file FROM api_call_stack JOIN stacks s USING (stack_id) ORDER BY s.depth"});
  expectSame(trip, {"SELECT s.function, s.file FROM os_call JOIN stacks s USING (stack_id) ORDER BY s.depth"});
}

}  // namespace
}  // namespace plumb::test
