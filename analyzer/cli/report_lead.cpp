// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/report_lead.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyzer/analyses/out_of_memory.h"
#include "analyzer/analyses/stuck_words.h"
#include "analyzer/cli/text.h"

namespace plumb::cli {

namespace {

Result<std::string> hangLead(Trace& trace) {
  auto analysis = analyzeStuckCollectives(trace);
  if (!analysis.ok()) return analysis.error();
  const auto& found = analysis.value().collectives;
  if (found.empty()) return std::string();
  const auto since = found.front().since;
  std::string text = hangSentence(analysis.value(), since ? formatDuration(*since - TimePoint()) : std::string());
  if (const std::string more = suspectSentences(analysis.value()); !more.empty()) text += "\n" + more;
  return text + "\n\n";
}

Result<std::string> outOfMemoryLead(Trace& trace) {
  const auto moments = findOutOfMemory(trace);
  if (!moments.ok()) return moments.error();
  if (moments.value().empty()) return std::string();
  const OutOfMemory& first = moments.value().front();
  return fmt::format("The program ran out of memory at {}: {}. What was live then: --by out_of_memory\n\n",
                     formatDuration(first.time - TimePoint()), escaped(first.what));
}

std::string rangesLead(const std::string& by) {
  if (by == "own_thread") return "GPU columns: what the range's own thread launched inside it.\n\n";
  if (by == "all_threads") return "GPU columns: what any thread of the process launched inside the range.\n\n";
  return "GPU columns: what the range's own thread launched inside it, and the threads that run torch's backward pass "
         "for it. Of its own thread alone: --by own_thread; of every thread of the process: --by all_threads\n\n";
}

}  // namespace

Result<std::string> leadOf(Trace& trace, const Report& report, const ReportRequest& request) {
  const bool isWhole = request.filter.isWholeTime() && !request.filter.rank;
  if (report.origin != "built in") return std::string();
  if (report.name == "ranges") return rangesLead(request.by.value_or("name"));
  if (!isWhole) return std::string();
  if (report.name == "stuck") return hangLead(trace);
  if (report.name == "memory_peak" && request.by != "out_of_memory") return outOfMemoryLead(trace);
  return std::string();
}

}  // namespace plumb::cli
