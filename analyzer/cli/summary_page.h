// SPDX-License-Identifier: Apache-2.0
// The page that plumb summary prints, and those of its parts that are in a source of their own.
#pragma once
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "analyzer/cli/output.h"
#include "analyzer/cli/progress.h"
#include "analyzer/trace/trace.h"

namespace plumb::cli {

class Page {
 public:
  Page(bool inColour, Progress& progress) : m_inColour(inColour), m_progress(progress) {}
  void heading(const std::string& title, const std::string& note = "");
  void line(const std::string& text) { fmt::print("  {}\n", text); }
  // Filled to the page's width; the text is the program's own or escaped.
  void paragraph(const std::string& text, const std::string& indent = "  ");
  void table(const TextTable& table) { fmt::print("{}", table.text(2)); }
  // Notes a section that the file has nothing for; writeWhatIsMissing() prints them together.
  void cannotSay(const std::string& what, const std::string& because) { m_missing.emplace_back(what, because); }
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& missing() const { return m_missing; }

 private:
  bool m_inColour;
  Progress& m_progress;
  std::vector<std::pair<std::string, std::string>> m_missing;
};

// For a column of ranks: "3", or "pid 4711" for a process without one; "-" when that is not known either.
[[nodiscard]] std::string rankText(const Trace& trace, ProcessId id);
// In a sentence: "rank 3", or "train (pid 4711)".
[[nodiscard]] std::string whoText(const Trace& trace, ProcessId id);

// The file's name, its command and its processes.
void writeProcesses(Page& page, Trace& trace);
// Only of files that hold the states of collectives: dumps of a flight recorder.
[[nodiscard]] Status writeStuck(Page& page, Trace& trace);
// Where an allocator's history says that the program ran out of memory.
[[nodiscard]] Status writeOutOfMemory(Page& page, Trace& trace);
[[nodiscard]] Status writeCollectives(Page& page, Trace& trace);
[[nodiscard]] Status writeMemory(Page& page, Trace& trace);
[[nodiscard]] Status writeRoofline(Page& page, Trace& trace);
[[nodiscard]] Status writeWhatIsMissing(Page& page, Trace& trace);
// What nccl-tests reached, where its output was imported.
[[nodiscard]] Status writeBenchmarks(Page& page, Trace& trace);
// Those that say the same of several processes, but for numbers, once.
[[nodiscard]] Status writeDiagnostics(Page& page, Trace& trace);

}  // namespace plumb::cli
