// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "analyzer/analyses/launched_work.h"
#include "analyzer/trace/trace.h"

namespace plumb {

enum class Side { Host, Gpu };

// From the first to the last moment that the filter keeps on that side of any process; none when it keeps nothing.
inline std::optional<Interval> hullOf(const Trace& trace, const EventFilter& kept, Side side) {
  if (kept.keepsAll()) return kAllTime;
  std::optional<Interval> hull;
  for (const Process& process : trace.processes()) {
    const ProcessWindows* windows = kept.windowsOf(process.id);
    if (!windows) continue;
    const IntervalSet& times = side == Side::Host ? windows->host : windows->gpu;
    if (times.parts().empty()) continue;
    const Interval own{times.parts().front().start, times.parts().back().end};
    hull = !hull ? own : Interval{std::min(hull->start, own.start), std::max(hull->end, own.end)};
  }
  return hull;
}

// SQL for behind WHERE that is true of every row whose start the filter keeps on that side, so that SQLite passes over
// most of the others; what comes through has to be asked for itself.
inline std::string mayBegin(const Trace& trace, const EventFilter& kept, Side side) {
  if (kept.keepsAll()) return "true";
  const auto hull = hullOf(trace, kept, side);
  return hull ? fmt::format("start_ns >= {} AND start_ns < {}", hull->start.ns(), hull->end.ns()) : "false";
}

}  // namespace plumb
