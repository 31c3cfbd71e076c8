// SPDX-License-Identifier: Apache-2.0
// The page that plumb summary prints, and those of its parts that are in a source of their own.
#pragma once
#include <fmt/format.h>

#include <string>

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

 private:
  bool m_inColour;
  Progress& m_progress;
};

// For a column of ranks: "3", or "pid 4711" for a process without one.
[[nodiscard]] std::string rankText(const Trace& trace, ProcessId id);
// In a sentence: "rank 3", or "train (pid 4711)".
[[nodiscard]] std::string whoText(const Trace& trace, ProcessId id);

// Only of files that hold the states of collectives: dumps of a flight recorder.
[[nodiscard]] Status writeStuck(Page& page, Trace& trace);
// What nccl-tests reached, where its output was imported.
[[nodiscard]] Status writeBenchmarks(Page& page, Trace& trace);
// Those that say the same of several processes once.
[[nodiscard]] Status writeDiagnostics(Page& page, Trace& trace);

}  // namespace plumb::cli
