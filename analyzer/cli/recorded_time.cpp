// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/recorded_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "analyzer/cli/text.h"

namespace plumb::cli {

std::string recordedText(const Trace& trace, const std::vector<DeviceBreakdown>& devices) {
  std::optional<Interval> recorded;
  for (const Process& process : trace.processes()) {
    if (!process.end) continue;
    recorded = recorded ? Interval{std::min(recorded->start, process.start), std::max(recorded->end, *process.end)}
                        : Interval{process.start, *process.end};
  }
  if (!recorded || devices.empty()) return "";
  Interval work = devices.front().whole.window;
  for (const DeviceBreakdown& device : devices) {
    work.start = std::min(work.start, device.whole.window.start);
    work.end = std::max(work.end, device.whole.window.end);
  }
  constexpr double kNearlyAll = 0.9, kMuch = 0.1;
  const double all = recorded->length().seconds();
  if (work.length().seconds() >= kNearlyAll * all) return "";
  std::string text = fmt::format("{} recorded, from {} to {}; GPU work from {} to {}.", formatShort(recorded->length()),
                                 formatShort(recorded->start - TimePoint()), formatShort(recorded->end - TimePoint()),
                                 formatShort(work.start - TimePoint()), formatShort(work.end - TimePoint()));
  const Duration before = work.start - recorded->start;
  if (before.seconds() < kMuch * all) return text;
  return text + fmt::format(
                    " The first GPU work begins {} ({} of the recording) after its start: what the program did "
                    "until then is in none of these times; ask for it with --to {} (plumb report api, ranges, "
                    "os_calls).",
                    formatShort(before), formatPercent(100 * before.seconds() / all), work.start.ns());
}

}  // namespace plumb::cli
