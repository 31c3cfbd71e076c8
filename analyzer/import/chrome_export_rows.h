// SPDX-License-Identifier: Apache-2.0
// What only Chrome traces of `plumb export` hold, beside torch.profiler's events: calls of the operating system and of
// math libraries, named memory, records of events, diagnostics, call stacks (analyzer/export/chrome.h).
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/import/chrome_event.h"
#include "analyzer/import/chrome_operators.h"
#include "analyzer/import/registry.h"
#include "analyzer/import/tally.h"
#include "analyzer/import/trace_file.h"

namespace plumb::import {

// Texts "file.py(12): function;…", innermost first, into tables stack and stack_frame, each different one once.
class ChromeStacks {
 public:
  explicit ChromeStacks(TraceFile& file) : m_file(file) {}
  // No value for anything but a text that is not empty.
  [[nodiscard]] std::optional<int64_t> idOf(const JsonValue& callStack);

 private:
  TraceFile& m_file;
  std::unordered_map<std::string, int64_t> m_known;
};

// What an export says of itself before its events.
struct ChromeExportFacts {
  bool isDefaultDomain = false;           // user_annotation stands for NVTX's default domain
  bool hasComputedTotals = false;         // "Total Allocated" is a sum over the events: nobody counted it
  std::optional<int64_t> sessionStartNs;  // realtime: what the times of the trace count from
  // {"session start (ns)": 1700000000000000000, "user_annotation": "default domain", "Total Allocated": "computed"},
  // the member "plumb_export" of the file.
  [[nodiscard]] static ChromeExportFacts read(std::string_view json);
};

class ChromeExportRows {
 public:
  ChromeExportRows(TraceFile& file, Registry& registry, Tally& tally, ChromeStacks& stacks)
      : m_file(file), m_registry(registry), m_tally(tally), m_stacks(stacks) {}

  // Of complete events; anybody's may have the category, so its arguments must be there too.
  [[nodiscard]] static bool isDiagnostic(const ChromeEvent& event);
  [[nodiscard]] static bool isOsCall(const ChromeEvent& event);
  [[nodiscard]] static bool isLibraryCall(const ChromeEvent& event);
  void osCall(const ChromeEvent& event, const HostSpan& span);
  void libraryCall(const ChromeEvent& event, const HostSpan& span);

  // Of instants. False: it is none of these.
  [[nodiscard]] bool instant(const ChromeEvent& event, int64_t process, int64_t start, uint64_t offset);

 private:
  void region(const ChromeEvent& event, int64_t process, int64_t start, uint64_t offset);
  void eventRecord(const ChromeEvent& event, int64_t process, int64_t start);
  void diagnostic(const ChromeEvent& event, int64_t process, int64_t start);

  TraceFile& m_file;
  Registry& m_registry;
  Tally& m_tally;
  ChromeStacks& m_stacks;
  int64_t m_links = 0;
  std::map<std::pair<int64_t, int64_t>, std::vector<int64_t>> m_regions;  // live ones, by address and bytes
};

}  // namespace plumb::import
