// SPDX-License-Identifier: Apache-2.0
// From the events of one Chrome trace file (torch.profiler's or anybody's) to rows. Times are written relative to the
// file's first event; TraceCompletion moves all files to one origin.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/import/chrome_collectives.h"
#include "analyzer/import/chrome_event.h"
#include "analyzer/import/chrome_export_rows.h"
#include "analyzer/import/chrome_flows.h"
#include "analyzer/import/chrome_memory.h"
#include "analyzer/import/chrome_operators.h"
#include "analyzer/import/gpu_row.h"
#include "analyzer/import/id_set.h"
#include "analyzer/import/range_lane.h"
#include "analyzer/import/registry.h"
#include "analyzer/import/tally.h"
#include "analyzer/import/trace_file.h"

namespace plumb::import {

// The pid of kernels in exports of torch.autograd.profiler; their tid is the device.
inline constexpr std::string_view kLegacyGpuPid = "CUDA functions";

class ChromeRows {
 public:
  // isTorch: a torch.profiler trace, which is one process. number: among the processes of the file, from 0.
  ChromeRows(TraceFile& file, bool isTorch, size_t number)
      : m_file(file),
        m_firstCall(static_cast<int64_t>(file.rows().idCount<schema::ApiCallRow>())),
        m_registry(file, isTorch),
        m_operators(file, m_tally, number),
        m_stacks(file),
        m_collectives(file, m_tally, m_stacks),
        m_memory(file, m_registry, m_tally, m_stacks),
        m_exported(file, m_registry, m_tally, m_stacks),
        m_flows(file, m_tally) {}

  // Whose an event is by its kind: work on a device, an operator or API call of the program, a range that the program
  // draws, or anything.
  enum class Side : uint8_t { Device, Call, Range, Any };
  [[nodiscard]] static Side sideOf(const ChromeEvent& event);

  // offset: of the event's text in the data, for messages.
  void take(const ChromeEvent& event, uint64_t offset);
  // The program's own pid, where the file says it.
  void setHostPid(std::string_view pid) { m_registry.noteHostPid(pid, HostSign::Call); }
  // What the file said of pids before it was known that this process is one of its own.
  void takeNames(const ChromeRows& other) { m_registry.takeNames(other.m_registry); }
  [[nodiscard]] const std::string& hostPid() const noexcept { return m_registry.hostPid(); }
  void setExport(const ChromeExportFacts& facts) {
    m_isDefaultDomain = facts.isDefaultDomain;
    m_memory.setComputedTotals(facts.hasComputedTotals);
  }
  // No more events: writes what was waiting for the file's end.
  [[nodiscard]] Status finish(const RunFacts& facts);

  [[nodiscard]] Tally& tally() noexcept { return m_tally; }
  // The time that the rows call 0, where another process of the file has chosen it already.
  void setOrigin(int64_t absoluteNs) noexcept { m_originNs = absoluteNs; }
  [[nodiscard]] bool hasOrigin() const noexcept { return m_originNs.has_value(); }  // an event with a time came
  [[nodiscard]] uint64_t eventCount() const noexcept { return m_events; }
  [[nodiscard]] std::vector<int64_t> processes() const { return m_registry.processes(); }
  // Absolute, in the file's own clock.
  [[nodiscard]] int64_t originNs() const noexcept { return m_originNs.value_or(0); }
  [[nodiscard]] int64_t firstNs() const noexcept { return originNs() + m_firstNs.value_or(0); }

 private:
  struct Times {
    int64_t start = 0, duration = 0;
    bool usable = true;
  };
  struct Place {
    int64_t process, device, stream;
  };
  // The arguments that all work on the device has.
  struct Work {
    std::optional<int64_t> ordinal, number, external;
    int64_t context = 0, correlation = 0;
    bool take(std::string_view key, const JsonValue& value);
  };
  struct Range {
    int64_t process = 0, thread = 0, start = 0;
    std::optional<int64_t> duration;
    const char* kind = "push_pop";
    std::string_view domain, name;
    const std::vector<ChromeArgument>* payload = nullptr;
    bool isRenamed = false;  // name is what the payload says
  };

  void store(const ChromeEvent& event, uint64_t offset);
  void complete(const ChromeEvent& event, uint64_t offset);
  void kernel(const ChromeEvent& event, const Times& times);
  // Of a copy or set; 0 for one that cannot be, which is counted.
  [[nodiscard]] int64_t sizeIn(const JsonValue& value);
  // What a copy or a set says beyond the columns of all work; bandwidth: where it is not bytes / duration.
  struct Moved {
    Work work;
    int64_t bytes = 0;
    std::optional<double> bandwidth;  // GB/s
  };
  [[nodiscard]] Moved movedBy(const ChromeEvent& event, const Times& times);
  void copy(const ChromeEvent& event, const Times& times);
  void set(const ChromeEvent& event, const Times& times);
  void noteWork(const ChromeEvent& event, const char* table, int64_t id, const Times& times, const Place& place,
                const Work& work);
  void hostEvent(const ChromeEvent& event, const Times& times);
  [[nodiscard]] bool exportedEvent(const ChromeEvent& event, const Times& times);
  void flow(const ChromeEvent& event, uint64_t offset);
  void apiCall(const ChromeEvent& event, const Times& times, const char* layer);
  void synchronization(const ChromeEvent& event, const Times& times);
  void instant(const ChromeEvent& event);
  void counters(const ChromeEvent& event, uint64_t offset);
  void beginOrEnd(const ChromeEvent& event, uint64_t offset);
  void asynchronous(const ChromeEvent& event, uint64_t offset);
  void metadata(const ChromeEvent& event);
  void range(const Range& range);
  [[nodiscard]] int64_t endRange(OpenRange& open, std::optional<int64_t> end, const char* kind);
  [[nodiscard]] Status finishRanges();
  [[nodiscard]] Status separateReused();
  void sample(int64_t process, int64_t start, std::string_view name, double value);
  [[nodiscard]] Place placeOf(const ChromeEvent& event, const Work& work);
  [[nodiscard]] static GpuWorkColumns columnsOf(const Place& place, const Times& times, const Work& work);
  [[nodiscard]] int64_t relative(int64_t absoluteNs);
  void noteSpan(int64_t first, int64_t last);

  TraceFile& m_file;
  int64_t m_firstCall;  // the last id before this process
  Registry m_registry;
  Tally m_tally;
  ChromeOperators m_operators;
  ChromeStacks m_stacks;
  ChromeCollectives m_collectives;
  ChromeMemory m_memory;
  ChromeExportRows m_exported;
  ChromeFlows m_flows;
  bool m_isDefaultDomain = false;
  IdSet m_called;                // correlation ids
  bool m_isCalledAgain = false;  // one of them twice
  uint64_t m_events = 0;
  uint64_t m_offset = 0;  // of the event at hand
  std::optional<int64_t> m_originNs;
  std::optional<int64_t> m_firstNs, m_lastNs;                 // of this process' own events
  std::unordered_map<int64_t, bool> m_isCommunication;        // by the id of a kernel's name
  std::unordered_map<int64_t, RangeLane> m_nested;            // B and E, by thread
  std::unordered_map<std::string, RangeLane> m_asynchronous;  // by process, category, id
  const RangeLane::Write m_writeNested = [this](OpenRange& open, std::optional<int64_t> end) {
    return endRange(open, end, "push_pop");
  };
  const RangeLane::Write m_writeAsynchronous = [this](OpenRange& open, std::optional<int64_t> end) {
    return endRange(open, end, "start_end");
  };
};

}  // namespace plumb::import
