// SPDX-License-Identifier: Apache-2.0
// One HTML file that tells a run to somebody who has neither the trace nor Plumbline: what ran, a picture of a typical
// step, breakdown, steps, memory, roofline, collectives, advice, what is missing. No scripts, nothing loaded from
// anywhere, every text of the trace escaped.
#pragma once
#include <string>
#include <vector>

#include "analyzer/export/output_file.h"
#include "analyzer/trace/trace.h"

namespace plumb::exports {

struct PageOptions {
  std::string title;                                    // "" for the trace's file name
  std::string version;                                  // of the program
  std::vector<std::string> reportFolders, ruleFolders;  // users'
};

// The tables of the analyses and reports must be registered.
[[nodiscard]] Status exportReportPage(Trace& trace, const PageOptions& options, OutputFile& out);

}  // namespace plumb::exports
