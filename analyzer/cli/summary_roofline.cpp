// SPDX-License-Identifier: Apache-2.0
// The summary's part about the device's roofs.
#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "analyzer/analyses/roofline.h"
#include "analyzer/cli/summary_page.h"
#include "analyzer/cli/text.h"

namespace plumb::cli {
namespace {

struct Totals {
  std::array<Duration, kVerdictCount> byVerdict;
  std::map<std::string, Duration> reasons;  // why nothing can be said
  Duration shortOrSmall;                    // of the latency-bound
  Duration unknown, all;
  std::string howToKnow;
};

Totals totalsOf(const std::vector<DeviceRoofline>& devices) {
  Totals totals;
  for (const DeviceRoofline& device : devices) {
    for (const RooflinePoint& point : device.points) {
      totals.byVerdict[static_cast<size_t>(point.verdict)] += point.duration;
      if (point.isShortOrSmall) totals.shortOrSmall += point.duration;
      if (point.verdict == Verdict::CannotSay) totals.reasons[point.reason] += point.duration;
    }
    totals.unknown += device.unknownDuration;
    totals.howToKnow = device.howToKnowFlops;
    totals.all += device.knownDuration + device.unknownDuration;
  }
  return totals;
}

// "memory-bound 12.3 %, latency-bound 20.0 % (5.0 % in short kernels or small grids, 15.0 % in neither)"
std::string sharesText(const Totals& totals) {
  const auto share = [&](Duration part) {
    const double percent = 100 * static_cast<double>(part.ns()) / static_cast<double>(totals.all.ns());
    constexpr double kLeastShown = 0.05;
    return percent > 0 && percent < kLeastShown ? "less than 0.1 %" : formatPercent(percent);
  };
  std::string text;
  const auto add = [&](std::string_view name, Duration part) {
    if (part.ns() > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, share(part));
  };
  for (size_t i = 0; i < kVerdictCount; ++i) {
    const Duration part = totals.byVerdict[i];
    add(nameOf(static_cast<Verdict>(i)), part);
    if (static_cast<Verdict>(i) == Verdict::LatencyBound && part.ns() > 0) {
      text += fmt::format(" ({} in short kernels or small grids, {} in neither)", share(totals.shortOrSmall),
                          share(part - totals.shortOrSmall));
    }
  }
  add("no FLOPs known", totals.unknown);
  return text;
}

}  // namespace

Status writeRoofline(Page& page, Trace& trace) {
  auto devices = analyzeRoofline(trace);
  if (!devices.ok()) return devices.error();
  const Totals totals = totalsOf(devices.value());
  if (totals.all.ns() == 0) return Unit{};
  if (totals.unknown == totals.all) {
    page.cannotSay("What bounds the kernels (roofline)", "no FLOPs are known: " + totals.howToKnow);
    return Unit{};
  }
  page.heading("Roofline", "(what bounds the kernels: share of the kernel time without communication)");
  page.paragraph(sharesText(totals) + ".");
  const Duration cannotSay = totals.byVerdict[static_cast<size_t>(Verdict::CannotSay)];
  if (cannotSay + totals.unknown < totals.all) {
    page.paragraph(
        fmt::format("Roofs are the most that the device can do: arithmetic (compute) and traffic with its memory. {}.",
                    verdictRule()));
  }
  constexpr int64_t kMuch = 4;  // a quarter of the time
  if (totals.unknown.ns() > totals.all.ns() / kMuch) page.paragraph(fmt::format("FLOPs: {}.", totals.howToKnow));
  const auto reason = std::ranges::max_element(totals.reasons, {}, [](const auto& one) { return one.second; });
  if (reason != totals.reasons.end()) {
    page.paragraph(fmt::format("Cannot say, mostly because {}.", escaped(reason->first)));
  }
  page.line("Kernel by kernel: plumb report roofline FILE");
  return Unit{};
}

}  // namespace plumb::cli
