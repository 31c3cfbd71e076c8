// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/report_lead.h"

#include <algorithm>

#include "analyzer/analyses/stuck_words.h"
#include "analyzer/cli/text.h"

namespace plumb::cli {

Result<std::string> leadOf(Trace& trace, const Report& report, const ReportRequest& request) {
  const bool isWhole = request.filter.isWholeTime() && !request.filter.rank;
  if (report.name != "stuck" || report.origin != "built in" || !isWhole) return std::string();
  auto analysis = analyzeStuckCollectives(trace);
  if (!analysis.ok()) return analysis.error();
  const auto& found = analysis.value().collectives;
  if (found.empty()) return std::string();
  const auto since = found.front().since;
  std::string text = hangSentence(analysis.value(), since ? formatDuration(*since - TimePoint()) : std::string());
  if (const std::string more = suspectSentences(analysis.value()); !more.empty()) text += "\n" + more;
  return text + "\n\n";
}

}  // namespace plumb::cli
