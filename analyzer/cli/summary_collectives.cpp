// SPDX-License-Identifier: Apache-2.0
// The summary's part about collectives.
#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "analyzer/analyses/clock_statements.h"
#include "analyzer/analyses/collectives.h"
#include "analyzer/cli/empty_reason.h"
#include "analyzer/cli/summary_page.h"
#include "analyzer/cli/text.h"

namespace plumb::cli {
namespace {

constexpr size_t kMostRows = 10;
constexpr auto kLeft = TextTable::Align::Left;
constexpr auto kRight = TextTable::Align::Right;

bool hasTime(const CollectiveGroup& group) { return group.count > group.withoutKernel; }

std::string ranksText(int64_t ranks) { return ranks > 0 ? fmt::format("{}", ranks) : "-"; }

std::string bytesText(int64_t bytes) { return formatBytes(static_cast<double>(bytes)); }

// Without times a table by size says nothing; by operation it says what was called.
void writeWithoutTimes(Page& page, const std::vector<CollectiveGroup>& groups) {
  struct Total {
    int64_t count = 0, least = INT64_MAX, most = 0;
  };
  std::map<std::pair<std::string, int64_t>, Total> totals;
  for (const CollectiveGroup& group : groups) {
    Total& total = totals[{group.operation, group.rankCount}];
    total.count += group.count;
    total.least = std::min(total.least, group.bytes);
    total.most = std::max(total.most, group.bytes);
  }
  TextTable table({"operation", "ranks", "calls", "bytes"}, {kLeft, kRight, kRight, kLeft});
  for (const auto& [key, total] : totals) {
    table.add({shortened(escaped(key.first), 24), ranksText(key.second), formatCount(total.count),
               total.least == total.most ? bytesText(total.most)
                                         : fmt::format("{} to {}", bytesText(total.least), bytesText(total.most))});
  }
  page.table(table);
  page.paragraph(
      "calls: one per rank; ranks: of the group (-: not told). How long they took: cannot say, because the file has no "
      "GPU kernel of "
      "any of them.");
}

std::vector<std::string> rowOf(const CollectiveGroup& group) {
  const auto& algbw = group.transferAlgbw ? group.transferAlgbw : group.kernelAlgbw;
  const auto& busbw = group.transferBusbw ? group.transferBusbw : group.kernelBusbw;
  const std::string mark = group.transferAlgbw || !algbw ? "" : "*";
  const bool isTimed = hasTime(group);
  return {shortened(escaped(group.operation), 13),
          bytesText(group.bytes),
          ranksText(group.rankCount),
          formatCount(group.count),
          isTimed ? formatShort(group.kernelTime) : "-",
          isTimed ? formatShort(group.kernelMedian) : "-",
          algbw ? formatPerSecond(*algbw, "B") + mark : "-",
          busbw ? formatPerSecond(*busbw, "B") + mark : "-",
          group.completeCount > 0 ? formatShort(group.largestSkew) : "-"};
}

Status writeClocks(Page& page, Trace& trace, const CollectiveAnalysis& analysis) {
  const auto clocks = sayClocks(trace, analysis.clocks);
  if (!clocks.ok()) return clocks.error();
  for (const ClockStatement& one : clocks.value()) page.paragraph(escaped(one.message));
  return Unit{};
}

void explain(Page& page, const std::vector<CollectiveGroup>& groups) {
  int64_t shared = 0, withoutKernel = 0, count = 0, incomplete = 0;
  bool anyTransfer = false;
  for (const CollectiveGroup& group : groups) {
    count += group.count;
    shared += group.sharedKernel;
    withoutKernel += group.withoutKernel;
    incomplete += group.completeCount == 0;
    anyTransfer |= group.transferAlgbw.has_value();
  }
  page.paragraph(fmt::format(
      "calls: one per rank; kernels: their summed time, waiting for other ranks included. Bytes are NCCL's: all-gather "
      "and reduce-scatter count all ranks' parts. algbw = bytes / {}; busbw = algbw x 2(n-1)/n (all-reduce), (n-1)/n "
      "(all-gather, reduce-scatter, all-to-all), 1 (others): compare it with the link's speed. skew = last - first "
      "arrival{}.",
      anyTransfer ? "transfer (last end - last arrival; * kernel time, where not all ranks are in the file)"
                  : "kernel time (*)",
      incomplete > 0 ? "; - where not all ranks are in the file, or their clocks cannot be compared" : ""));
  if (withoutKernel > 0) {
    page.paragraph(fmt::format("Of {} of the {} calls no time is known (-), because the file has no kernel of them.",
                               formatCount(withoutKernel), formatCount(count)));
  }
  if (shared > 0) {
    page.paragraph(fmt::format("{} calls share their kernel with others of their group and count in no time.",
                               formatCount(shared)));
  }
}

}  // namespace

Status writeCollectives(Page& page, Trace& trace) {
  auto analysis = analyzeCollectives(trace);
  if (!analysis.ok()) return analysis.error();
  const auto& groups = analysis.value().groups;
  if (groups.empty()) {
    if (const std::string reason = whyNoCollective(trace); !reason.empty()) {
      page.heading("Collectives");
      page.paragraph(reason);
      return writeClocks(page, trace, analysis.value());
    }
    return Unit{};
  }
  page.heading("Collectives");
  if (std::ranges::none_of(groups, hasTime)) {
    writeWithoutTimes(page, groups);
    return Unit{};
  }
  TextTable table({"operation", "bytes", "ranks", "calls", "kernels", "median", "algbw", "busbw", "max skew"},
                  {kLeft, kRight, kRight, kRight, kRight, kRight, kRight, kRight, kRight});
  for (size_t i = 0; i < std::min(groups.size(), kMostRows); ++i) table.add(rowOf(groups[i]));
  page.table(table);
  if (groups.size() > kMostRows)
    page.line(fmt::format("and {} more: plumb report collectives FILE", groups.size() - kMostRows));
  explain(page, groups);
  return writeClocks(page, trace, analysis.value());
}

}  // namespace plumb::cli
