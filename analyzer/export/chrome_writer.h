// SPDX-License-Identifier: Apache-2.0
// The events of one Chrome JSON file, process by process (chrome.h says what becomes of what).
#pragma once
#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "analyzer/export/output_file.h"
#include "analyzer/trace/trace.h"

namespace plumb::exports {

class ChromeWriter {
 public:
  // only: the file holds that process alone, with pids as torch.profiler has them, the device's ordinal for its work.
  // Null: all processes, where every process and every device has a pid of its own, which no two ranks share.
  ChromeWriter(Trace& trace, OutputFile& out, const Process* only);

  [[nodiscard]] Status write();
  [[nodiscard]] uint64_t events() const { return m_events; }

 private:
  using Row = std::function<void(Statement&)>;
  struct Place {
    int64_t pid, ordinal, stream, context;
  };
  // One kind of work on the device, on its way into the order of the source.
  struct Lane {
    Statement rows;
    void (ChromeWriter::*put)(Statement&);
    int64_t section = 0, correlation = 0;
    bool hasRow = false;
  };

  [[nodiscard]] Status each(const char* sql, const Row& row);
  template <class... Arguments>
  void event(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    m_block += m_events++ == 0 ? "\n" : ",\n";
    fmt::format_to(std::back_inserter(m_block), format, std::forward<Arguments>(arguments)...);
    if (m_block.size() > kBlockBytes) flush();
  }
  void flush();
  const std::string& quoted(StringId id);
  [[nodiscard]] std::string at(int64_t ns) const;  // microseconds in the file's clock
  [[nodiscard]] Place placeOf(StreamId id) const;
  [[nodiscard]] int64_t tidOf(ThreadId id) const;
  [[nodiscard]] int64_t pidOf(const Process& process) const;
  [[nodiscard]] int64_t devicePid(const Device& device) const;
  [[nodiscard]] Result<std::string> deviceProperties(const Process& process);
  [[nodiscard]] Result<std::string> distributedInfo(const Process& process);
  // Of an arrow, the same for no two processes of the file.
  [[nodiscard]] int64_t arrowId(int64_t number) const;

  [[nodiscard]] Status findSourceClock();
  [[nodiscard]] Status begin();
  [[nodiscard]] Status writeSaid();
  [[nodiscard]] Status writeMeanings();
  [[nodiscard]] Status beginProcesses();
  [[nodiscard]] Status process(const Process& process);
  void findPlaces();
  [[nodiscard]] Result<std::optional<bool>> beginsWithOperator();
  void names();

  // Of the program.
  [[nodiscard]] Status apiEvents();
  [[nodiscard]] Status launchingOperators();
  [[nodiscard]] Status osEvents();
  [[nodiscard]] Status libraryEvents();
  [[nodiscard]] Status diagnosticEvents();
  [[nodiscard]] Status loadSteps();
  [[nodiscard]] Status rangeEvents();
  void rangeEvent(Statement& row, const std::string& payload);
  [[nodiscard]] Status operatorEvents();
  [[nodiscard]] Status pythonEvents();
  [[nodiscard]] Status counterEvents();
  [[nodiscard]] Status memoryEvents();
  void memoryEvent(Statement& row);
  [[nodiscard]] Status regionEvents();
  [[nodiscard]] Status flowEvents();
  [[nodiscard]] Status loadLinks();
  [[nodiscard]] std::string linkedTo(int64_t external) const;  // "12, 13": correlation ids
  [[nodiscard]] Status loadStacks();
  [[nodiscard]] std::string stackMember(const Statement& row, int column) const;  // , "Call stack": "…", or ""
  // Collectives, on operators and kernels or alone.
  [[nodiscard]] Status loadCollectives();
  [[nodiscard]] Status loadMembers();
  [[nodiscard]] std::string collectiveArguments(const Statement& row) const;
  [[nodiscard]] std::string collectiveState(const Statement& row) const;
  [[nodiscard]] Status collectiveEvents();
  void collectiveEvent(Statement& row);
  // Of its devices.
  [[nodiscard]] Status recordEvents();
  [[nodiscard]] Status gpuEvents();
  [[nodiscard]] Status addLane(const char* sql, void (ChromeWriter::*put)(Statement&));
  void advance(Lane& lane);
  [[nodiscard]] static std::string workArguments(const Statement& row, const Place& place, int external);
  [[nodiscard]] static std::string transferArguments(const Statement& row, int bytesColumn, int bandwidth);
  void kernelEvent(Statement& row);
  void copyEvent(Statement& row);
  void setEvent(Statement& row);
  void waitEvent(Statement& row);
  void arrow(const Place& place, int64_t correlation, int64_t start);

  static constexpr size_t kBlockBytes = 1 << 20;

  Trace& m_trace;
  OutputFile& m_out;
  const Process* m_only;
  // What a time of the trace needs to become one of the file. Either the source's own clock; or one that counts from a
  // whole microsecond: readers that round times round the time of day, as they do with torch's.
  int64_t m_shiftNs;
  const Process* m_process = nullptr;
  int64_t m_pid = 0;
  std::string m_block;
  uint64_t m_events = 0;
  std::unordered_map<StringId, std::string> m_quoted;
  std::unordered_map<StreamId, Place> m_places;
  std::unordered_map<int64_t, Place> m_placeOfStream;  // by the stream's number
  std::unordered_map<ThreadId, int64_t> m_tids;
  std::unordered_map<int64_t, int64_t> m_steps;                    // range to number
  std::unordered_map<Correlation, std::string> m_collectives;      // arguments of the kernels with that correlation
  std::unordered_map<int64_t, std::string> m_operatorCollectives;  // of the operator with that id
  std::unordered_set<int64_t> m_ownCollectives;                    // those with an event of their own
  std::unordered_map<int64_t, std::string> m_members;              // of communicators: "0, 1"
  std::vector<std::pair<int64_t, int64_t>> m_links;                // external id, correlation; in order
  std::unordered_map<int64_t, std::string> m_stacks;               // JSON of call stacks
  std::map<std::pair<std::string, int64_t>, int64_t> m_allocated;  // bytes, by space and ordinal
  std::unordered_set<Correlation> m_launched;                      // has a call or operator where an arrow begins
  std::vector<Lane> m_lanes;
  bool m_hasEventWaits = false;
};

}  // namespace plumb::exports
