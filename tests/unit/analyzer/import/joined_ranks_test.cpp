// SPDX-License-Identifier: Apache-2.0
// The torch.profiler traces of several ranks, put into one file for a viewer.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>

#include "tests/unit/analyzer/import/support.h"

namespace plumb::test {
namespace {

using testing::HasSubstr;
using Rows = std::vector<Database::Row>;

struct Event {
  double us;
  std::string text;
};

std::string complete(const std::string& category, const std::string& name, int pid, double us, double duration,
                     const std::string& args) {
  return R"({"ph": "X", "cat": ")" + category + R"(", "name": ")" + name + R"(", "pid": )" + std::to_string(pid) +
         R"(, "tid": 7, "ts": )" + std::to_string(us) + R"(, "dur": )" + std::to_string(duration) + R"(, "args": {)" +
         args + "}}";
}

// Two steps with an operator, a launch and a kernel each; both ranks count correlation ids from 1.
std::vector<Event> rankOf(int pid, int device, double begin) {
  std::vector<Event> events;
  const auto name = [&](int of, const char* said) {
    events.push_back({0, R"({"ph": "M", "name": "process_name", "ts": 0, "pid": )" + std::to_string(of) +
                             R"(, "args": {"name": ")" + said + R"("}})"});
  };
  name(pid, "trainer");
  name(device, "trainer");
  for (int step = 0; step < 2; ++step) {
    const double at = begin + 100 * step;
    events.push_back(
        {at, complete("user_annotation", step == 0 ? "ProfilerStep#0" : "ProfilerStep#1", pid, at, 90, "")});
    events.push_back(
        {at + 1, complete("cpu_op", "aten::mm", pid, at + 1, 20, R"("External id": )" + std::to_string(10 + step))});
    events.push_back({at + 2, complete("cuda_runtime", "cudaLaunchKernel", pid, at + 2, 5,
                                       R"("correlation": )" + std::to_string(1 + step))});
  }
  for (int step = 0; step < 2; ++step) {
    const double at = begin + 100 * step + 10;
    events.push_back({at, complete("kernel", "gemm", device, at, 30 + device,
                                   R"("device": )" + std::to_string(device) + R"(, "stream": 7, "External id": )" +
                                       std::to_string(10 + step) + R"(, "correlation": )" + std::to_string(1 + step))});
  }
  return events;
}

std::string traceOfEvents(const std::vector<Event>& events) {
  std::vector<std::string> texts;
  for (const Event& event : events) texts.push_back(event.text);
  return traceOf(texts);
}

std::vector<Event> joined(std::vector<Event> first, const std::vector<Event>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

TEST_F(ImportTest, RanksJoinedEndToEndAreProcessesOfTheirOwn) {
  // Also where both see their device as number 0.
  for (const int otherDevice : {1, 0}) {
    std::filesystem::remove(output());
    const Database& db = imported(traceOfEvents(joined(rankOf(1000, 0, 500), rankOf(1001, otherDevice, 503))));
    EXPECT_EQ(db.rows("SELECT pid, name FROM processes ORDER BY pid"),
              (Rows{{"1000", "trainer"}, {"1001", "trainer"}}));
    EXPECT_EQ(
        db.rows("SELECT p.pid, s.step, s.name FROM steps s JOIN processes p ON p.id = s.process_id ORDER BY 1, 2"),
        (Rows{{"1000", "0", "ProfilerStep#0"},
              {"1000", "1", "ProfilerStep#1"},
              {"1001", "0", "ProfilerStep#0"},
              {"1001", "1", "ProfilerStep#1"}}));
    EXPECT_EQ(
        db.rows("SELECT p.pid, k.start_ns - a.start_ns, k.device, o.name FROM kernels k JOIN processes p ON p.id = "
                "k.process_id JOIN api_call a ON a.process_id = k.process_id AND a.correlation = k.correlation "
                "JOIN operator_launch l ON l.process_id = k.process_id AND l.correlation = k.correlation "
                "JOIN operators o ON o.id = l.operator_id AND o.process_id = k.process_id ORDER BY 1, k.start_ns"),
        (Rows{{"1000", "8000", "0", "aten::mm"},
              {"1000", "8000", "0", "aten::mm"},
              {"1001", "8000", std::to_string(otherDevice), "aten::mm"},
              {"1001", "8000", std::to_string(otherDevice), "aten::mm"}}));
    EXPECT_THAT(db.text("SELECT message FROM diagnostic WHERE code = 'programs_told_apart'"),
                HasSubstr("2 programs (pids 1000, 1001)"));
    EXPECT_EQ(m_result.events, 20u);
    EXPECT_EQ(m_result.notStored, 4u) << "names of processes";
  }
}

TEST_F(ImportTest, MemoryFromBeforeATraceIsLiveSinceItsOwnRankBegan) {
  const auto freed = [](int pid, double us) {
    return Event{us, R"({"ph": "i", "s": "t", "name": "[memory]", "pid": )" + std::to_string(pid) +
                         R"(, "tid": 7, "ts": )" + std::to_string(us) +
                         R"(, "args": {"Addr": 4096, "Bytes": -64, "Device Type": 1, "Device Id": 0}})"};
  };
  std::vector<Event> first = rankOf(1000, 0, 503), second = rankOf(1001, 0, 500);
  first.push_back(freed(1000, 600));
  second.push_back(freed(1001, 501));
  const Database& db = imported(traceOfEvents(joined(first, second)));
  EXPECT_EQ(db.rows("SELECT p.pid, a.start_ns, a.freed_ns FROM allocations a JOIN processes p ON p.id = a.process_id "
                    "ORDER BY 1"),
            (Rows{{"1000", "3000", "100000"}, {"1001", "0", "1000"}}));
}

TEST_F(ImportTest, RanksMixedByTimeAreNotToldApartButSaid) {
  std::vector<Event> events = joined(rankOf(1000, 0, 500), rankOf(1001, 1, 503));
  std::ranges::stable_sort(events, {}, &Event::us);
  const Database& db = imported(traceOfEvents(events));
  EXPECT_EQ(db.number("SELECT count(*) FROM process"), 1);
  EXPECT_THAT(db.text("SELECT message FROM diagnostic WHERE code = 'programs_mixed' AND severity = 'warning'"),
              HasSubstr("several programs (pids 1000, 1001) mixed by time"));
  EXPECT_THAT(m_result.warnings, testing::Contains(HasSubstr("Import the ranks' own files instead")));
}

TEST_F(ImportTest, RanksThatWereJoinedAndThenMixedAreDoubtful) {
  const std::vector<Event> later = rankOf(1000, 0, 900);
  const Database& db = imported(traceOfEvents(joined(joined(rankOf(1000, 0, 500), rankOf(1001, 0, 503)), later)));
  EXPECT_EQ(db.number("SELECT count(*) FROM process"), 2);
  EXPECT_THAT(db.text("SELECT message FROM diagnostic WHERE code = 'programs_told_apart' AND severity = 'warning'"),
              HasSubstr("their events come mixed"));
}

TEST_F(ImportTest, RangesUnderOtherPidsAreNoPrograms) {
  // Of Python's root, and of devices in old traces.
  const Database& db = imported(traceOf({complete("python_function", "PyTorch Profiler (0)", 0, 4, 99, ""),
                                         complete("user_annotation", "ProfilerStep#0", 1000, 5, 90, ""),
                                         complete("cpu_op", "aten::mm", 1000, 10, 20, ""),
                                         complete("python_function", "PyTorch Profiler (0)", 0, 4, 99, ""),
                                         complete("user_annotation", "ProfilerStep#0", 1, 6, 90, ""),
                                         complete("kernel", "gemm", 1, 11, 20, R"("device": 1, "stream": 7)")}));
  EXPECT_EQ(db.number("SELECT count(*) FROM process"), 1);
  EXPECT_EQ(db.number("SELECT count(*) FROM diagnostic WHERE code GLOB 'programs*'"), 0);
}

}  // namespace
}  // namespace plumb::test
