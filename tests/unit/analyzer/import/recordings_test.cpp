// SPDX-License-Identifier: Apache-2.0
// Real recordings of other people, which are not part of the project: PLUMB_TEST_TRACES names the folder that holds
// expected.json and kineto/. Their reference values come out to the nanosecond.
#include <zlib.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <map>
#include <regex>
#include <set>

#include <nlohmann/json.hpp>

#include "analyzer/analyses/breakdown.h"
#include "analyzer/intervals/intervals.h"
#include "analyzer/trace/trace.h"
#include "tests/unit/analyzer/import/support.h"

namespace plumb::test {
namespace {

using Numbers = std::map<std::string, int64_t>;

// What the breakdown says.
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

// The reference's definitions, on the rows that were stored.
class StoredWork {
 public:
  StoredWork(const Database& db, int64_t device, bool isLaunchedOnly) {
    const int64_t origin = db.number("SELECT value FROM meta WHERE key = 'session_start_realtime_ns'");
    const std::string columns = " w.start_ns, w.duration_ns, st.number, ";
    const auto from = [&](const std::string& table) {
      return " FROM " + table +
             " w JOIN device d ON d.id = w.device_id JOIN stream st ON st.id = w.stream_id WHERE d.ordinal = " +
             std::to_string(device) +
             (isLaunchedOnly ? " AND EXISTS (SELECT 1 FROM api_call a WHERE a.process_id = w.process_id AND "
                               "a.correlation = w.correlation)"
                             : "");
    };
    for (const auto& row : db.rows("SELECT" + columns +
                                   "(SELECT lower(text) LIKE '%nccl%' OR lower(text) LIKE '%rccl%'"
                                   " FROM string WHERE id = w.name_id)" +
                                   from("kernel"))) {
      add(row, origin, std::stoi(row[3]) == 1 ? m_communication : m_compute);
      m_kernelTime += std::stoll(row[1]);
    }
    m_numbers["kernels"] = m_numbers["n"];
    m_numbers["comm_kernels"] = static_cast<int64_t>(m_communication.size());
    for (const auto& row : db.rows("SELECT" + columns + "0" + from("memory_copy"))) add(row, origin, m_copies);
    for (const auto& row : db.rows("SELECT" + columns + "0" + from("memory_set"))) add(row, origin, m_sets);
  }

  Numbers numbers() {
    m_numbers["memcpy"] = static_cast<int64_t>(m_copies.size());
    m_numbers["memset"] = static_cast<int64_t>(m_sets.size());
    const auto compute = IntervalSet::unionOf(m_compute), communication = IntervalSet::unionOf(m_communication),
               copies = IntervalSet::unionOf(m_copies), memory = unite(copies, IntervalSet::unionOf(m_sets)),
               kernels = unite(compute, communication), all = unite(kernels, memory);
    m_numbers["first_start_ns"] = m_first;
    m_numbers["span_ns"] = m_last - m_first;
    m_numbers["busy_ns"] = all.length().ns();
    m_numbers["idle_ns"] = m_last - m_first - all.length().ns();
    m_numbers["compute_ns"] = compute.length().ns();
    m_numbers["comm_ns"] = communication.length().ns();
    m_numbers["mem_ns"] = memory.length().ns();
    m_numbers["memcpy_only_ns"] = copies.length().ns();
    m_numbers["exposed_comm_ns"] = subtract(communication, compute).length().ns();
    m_numbers["overlap_comm_ns"] = intersect(communication, compute).length().ns();
    m_numbers["exposed_mem_ns"] = subtract(memory, kernels).length().ns();
    m_numbers["exposed_memcpy_ns"] = subtract(copies, kernels).length().ns();
    m_numbers["sum_kernel_dur_ns"] = m_kernelTime;
    return m_numbers;
  }
  [[nodiscard]] const std::set<std::string>& streams() const { return m_streams; }

 private:
  void add(const Database::Row& row, int64_t origin, std::vector<Interval>& to) {
    const int64_t start = std::stoll(row[0]), end = start + std::stoll(row[1]);
    to.push_back({TimePoint(start), TimePoint(end)});
    m_streams.insert(row[2]);
    m_first = m_numbers["n"] == 0 ? origin + start : std::min(m_first, origin + start);
    m_last = m_numbers["n"] == 0 ? origin + end : std::max(m_last, origin + end);
    ++m_numbers["n"];
  }

  std::vector<Interval> m_compute, m_communication, m_copies, m_sets;
  std::set<std::string> m_streams;
  Numbers m_numbers;
  int64_t m_first = 0, m_last = 0, m_kernelTime = 0;
};

// base: of the times in the file, which the reference leaves out.
void expectWork(StoredWork work, const nlohmann::json& want, int64_t base) {
  std::set<std::string> streams;
  for (const auto& stream : want.at("streams")) streams.insert(stream.get<std::string>());
  if (streams.erase("None") == 0) {  // one that names none is of the stream that its tid tells
    EXPECT_EQ(work.streams(), streams);
  }
  Numbers numbers = work.numbers();
  numbers["first_start_ns"] -= base;
  EXPECT_EQ(numbers.size() + 1, want.size());
  for (const auto& [key, value] : numbers) EXPECT_EQ(value, want.at(key).get<int64_t>()) << key;
}

std::string unpacked(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  std::string text;
  std::array<char, 1 << 16> buffer{};
  for (int size = 0; (size = gzread(file, buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<size_t>(size));
  }
  gzclose(file);
  return text;
}

// What follows each of the key's occurrences, without blanks and quotes: far faster than a parser.
std::map<std::string, int64_t> valuesOf(const std::string& text, const std::string& key) {
  std::map<std::string, int64_t> values;
  const std::string quoted = '"' + key + '"';
  for (size_t at = text.find(quoted); at != std::string::npos; at = text.find(quoted, at + 1)) {
    const size_t first = text.find_first_not_of(" :\"", at + quoted.size());
    ++values[text.substr(first, text.find_first_of(" ,\"}\n", first) - first)];
  }
  return values;
}

// Every event of the source is a row of its table, or counted in a diagnostic.
void expectEverythingAccounted(const std::string& text, const Database& db, const import::ImportResult& result) {
  auto phases = valuesOf(text, "ph");
  const int64_t memory = valuesOf(text, "name")["[memory]"], arrows = phases["s"] + phases["f"];
  int64_t total = 0;
  for (const auto& [phase, count] : phases) total += count;
  EXPECT_EQ(static_cast<int64_t>(result.events), total);
  const auto counted = [&](const std::string& codes) {
    return db.number("SELECT coalesce(sum(count), 0) FROM diagnostic WHERE code IN (" + codes + ")");
  };
  int64_t rows = 0;
  for (const char* table :
       {"kernel", "memory_copy", "memory_set", "api_call", "operator", "python_call", "range", "synchronization"}) {
    rows += db.number(std::string("SELECT count(*) FROM ") + table);
  }
  EXPECT_EQ(rows + counted("'duplicate_event', 'bad_duration'"), phases["X"] + phases["i"] + phases["I"] - memory);
  EXPECT_EQ(counted("'metadata_event'"), phases["M"]);
  // Several arrows can begin at one place.
  EXPECT_LE(counted("'flow_event', 'flow_one_end'"), arrows);
  EXPECT_GE(counted("'flow_event', 'flow_one_end'") + 2 * db.number("SELECT count(*) FROM flow"), arrows);
  EXPECT_GE(db.number("SELECT count(*) FROM counter_sample"), memory);
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
    const std::string source = unpacked(std::string(folder) + "/kineto/" + name);
    expectEverythingAccounted(source, Database(output()), result.value());
    const auto bases = valuesOf(source, "baseTimeNanoseconds");
    const int64_t base = bases.empty() ? 0 : std::stoll(bases.begin()->first);
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
      numbers["n"] = found.eventCount;
      const auto& want = devices.at(std::to_string(ordinal));
      for (const auto& [key, value] : numbers) EXPECT_EQ(value, want.at("all").at(key).get<int64_t>()) << key;
      expectWork(StoredWork(db, ordinal, false), want.at("all"), base);
      const auto& launched = want.value("launch_linked_only", nlohmann::json());
      if (!launched.is_null()) expectWork(StoredWork(db, ordinal, true), launched, base);
    }
  }
}

}  // namespace
}  // namespace plumb::test
