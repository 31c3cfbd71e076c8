// SPDX-License-Identifier: Apache-2.0
// The processes of one Chrome trace file. One as a rule: a torch.profiler trace is of one process, whatever its pids.
// A file of several, as `plumb export --format chrome` writes them, says before its events which pids are whose; of one
// that somebody joined from the traces of several ranks ChromePrograms tells.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/import/chrome_programs.h"
#include "analyzer/import/chrome_rows.h"

namespace plumb::import {

class ChromeProcesses {
 public:
  // isTorch: a torch.profiler trace.
  ChromeProcesses(TraceFile& file, bool isTorch);

  // The member "processes" of the file, before its first event: [{"pid": 500, "device_pids": [1073741825], "rank": 0,
  // "world_size": 2, "deviceProperties": […]}, …]; "own_pid": the program's, where its events have another. False: it
  // is none of this kind, or too late.
  [[nodiscard]] bool declare(std::string_view json);
  // The member "plumb_export", likewise.
  [[nodiscard]] bool declareExport(std::string_view json);
  [[nodiscard]] bool areSeveral() const noexcept { return m_processes.size() > 1; }
  [[nodiscard]] const ChromeExportFacts& exportFacts() const noexcept { return m_export; }
  // Of several that the file does not declare; null for any other file.
  [[nodiscard]] const ChromePrograms* joined() const noexcept;

  // offset: of the event's text in the data, for messages.
  void take(const ChromeEvent& event, uint64_t offset);
  void countDamage(uint64_t offset) { m_processes.front().rows->tally().count(Reason::DamagedEvent, offset); }
  // No more events. facts: of the only process; what the file says of each of several is added.
  [[nodiscard]] Status finish(const RunFacts& facts);
  void writeTally(TraceFile& file, const std::string& source) const;

  [[nodiscard]] uint64_t eventCount() const;
  [[nodiscard]] uint64_t damaged() const;
  [[nodiscard]] uint64_t notStored() const;
  [[nodiscard]] std::vector<int64_t> processes() const;
  [[nodiscard]] std::vector<int64_t> ranks() const;  // this and the following: that were declared
  [[nodiscard]] std::optional<int64_t> worldSize() const;
  [[nodiscard]] int64_t originNs() const { return m_originNs.value_or(0); }
  [[nodiscard]] int64_t firstNs() const;

 private:
  struct One {
    std::unique_ptr<ChromeRows> rows;
    std::optional<int64_t> rank, worldSize, ownPid;
    std::string deviceProperties;
  };

  [[nodiscard]] size_t indexOf(const ChromeEvent& event);

  TraceFile& m_file;
  bool m_isTorch;
  ChromePrograms m_programs;
  std::vector<One> m_processes;
  std::unordered_map<std::string, size_t> m_byPid;
  ChromeExportFacts m_export;
  std::optional<int64_t> m_originNs;
  std::string m_pid;
};

}  // namespace plumb::import
