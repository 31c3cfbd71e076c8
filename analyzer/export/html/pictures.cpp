// SPDX-License-Identifier: Apache-2.0
#include "analyzer/export/html/pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/analyses/breakdown.h"
#include "analyzer/analyses/memory.h"
#include "analyzer/analyses/roofline.h"
#include "analyzer/analyses/timeline.h"
#include "analyzer/cli/text.h"
#include "analyzer/export/html/svg.h"

namespace plumb::exports {
namespace {

constexpr double kWidth = 1100, kLeft = 210, kRight = 20;
constexpr double kPlot = kWidth - kLeft - kRight;
constexpr std::string_view kMuted = "#7d8b99", kGrid = "#e3e6ea";

std::string_view colorOf(timeline::SliceKind kind) {
  using timeline::SliceKind;
  switch (kind) {
    case SliceKind::kCommunication:
    case SliceKind::kCollective:
      return "#e08a3c";
    case SliceKind::kCopy:
    case SliceKind::kSet:
      return "#5aa469";
    case SliceKind::kKernel:
      return "#4c86c6";
    default:
      return "#c9d8ee";
  }
}

// A slice of a lane that is narrower than this is drawn together with its neighbours.
constexpr double kNarrowest = 0.75;

void drawLane(Svg& svg, const timeline::Timeline& timeline, const timeline::Lane& lane, const timeline::Window& window,
              double y, double height) {
  const double scale = kPlot / static_cast<double>(window.endNs - window.startNs);
  double pendingStart = -1, pendingEnd = -1;
  timeline::SliceKind pendingKind{};
  const auto flush = [&] {
    if (pendingStart >= 0) {
      svg.rectangle(pendingStart, y, std::max(pendingEnd - pendingStart, 0.4), height, colorOf(pendingKind));
    }
    pendingStart = -1;
  };
  for (const timeline::Slice& slice : lane.slices) {
    if (slice.endNs() <= window.startNs || slice.startNs >= window.endNs) continue;
    const double x1 = kLeft + static_cast<double>(std::max(slice.startNs, window.startNs) - window.startNs) * scale;
    const double x2 = kLeft + static_cast<double>(std::min(slice.endNs(), window.endNs) - window.startNs) * scale;
    if (x2 - x1 < kNarrowest) {
      if (pendingStart >= 0 && x1 - pendingEnd < kNarrowest && pendingKind == slice.kind) {
        pendingEnd = std::max(pendingEnd, x2);
        continue;
      }
      flush();
      pendingStart = x1, pendingEnd = x2, pendingKind = slice.kind;
      continue;
    }
    flush();
    const std::string& name = timeline.names[slice.name];
    svg.rectangle(x1, y, x2 - x1, height, colorOf(slice.kind),
                  fmt::format("{}: {}", name, cli::formatDuration(Duration(slice.durationNs))));
    const auto room = static_cast<size_t>(std::max(0.0, (x2 - x1 - 4) / 6));
    if (room >= 4 && height >= 12) {
      svg.text(x1 + 2, y + height - 3.5, cli::shortened(name, room), Svg::Anchor::Start,
               timeline::isDeviceWork(slice.kind) ? "#ffffff" : "#1f2933", 10);
    }
  }
  flush();
}

bool isShown(const timeline::Track& track) {
  using timeline::TrackKind;
  return track.kind == TrackKind::kStream || track.kind == TrackKind::kProjection ||
         track.kind == TrackKind::kCollectives;
}

// 1, 2 or 5 times a power of ten, so that about `count` fit.
double niceStep(double extent, double count) {
  const double raw = extent / count, magnitude = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (raw <= factor * magnitude) return factor * magnitude;
  }
  return 10 * magnitude;
}

}  // namespace

Result<std::string> timelinePicture(Trace& trace) {
  auto loaded = timeline::loadTimeline(trace);
  if (!loaded.ok()) return loaded.error();
  const timeline::Timeline& timeline = loaded.value();
  const timeline::Window window = timeline::steadyWindow(timeline);
  if (window.endNs <= window.startNs) return std::string();
  constexpr double kLane = 15;
  constexpr size_t kMostProcesses = 8, kMostLanes = 6;

  struct Line {
    std::string label;
    const timeline::Lane* lane;
  };
  std::vector<Line> lines;
  size_t processes = 0;
  for (const timeline::Process& process : timeline.processes) {
    std::vector<Line> own;
    for (const timeline::Track& track : process.tracks) {
      if (!isShown(track)) continue;
      for (size_t i = 0; i < std::min(track.lanes.size(), kMostLanes); ++i) {
        const auto inside = [&](const timeline::Slice& s) {
          return s.startNs < window.endNs && s.endNs() > window.startNs;
        };
        if (std::ranges::any_of(track.lanes[i].slices, inside))
          own.push_back({i == 0 ? track.label : "", &track.lanes[i]});
      }
    }
    if (own.empty()) continue;
    if (++processes > kMostProcesses) break;
    lines.push_back({process.label, nullptr});
    lines.insert(lines.end(), own.begin(), own.end());
  }
  if (lines.empty()) return std::string();

  const double height = 30 + static_cast<double>(lines.size()) * (kLane + 2);
  Svg svg(kWidth, height);
  const double extent = static_cast<double>(window.endNs - window.startNs);
  const double step = niceStep(extent, 8);
  for (double at = 0; at <= extent; at += step) {
    const double x = kLeft + at / extent * kPlot;
    svg.line(x, 18, x, height, kGrid);
    svg.text(x, 12, cli::formatDuration(at), Svg::Anchor::Middle, kMuted, 10);
  }
  double y = 22;
  for (const Line& line : lines) {
    if (!line.lane) {
      svg.text(4, y + kLane - 3, line.label, Svg::Anchor::Start, "#1f2933", 12);
    } else {
      svg.text(kLeft - 6, y + kLane - 3, cli::shortened(line.label, 34), Svg::Anchor::End, kMuted, 10);
      drawLane(svg, timeline, *line.lane, window, y, kLane);
    }
    y += kLane + 2;
  }
  return svg.finish("timeline of a typical step");
}

Result<std::string> breakdownPicture(Trace& trace) {
  auto devices = breakDown(trace);
  if (!devices.ok()) return devices.error();
  if (devices.value().empty()) return std::string();
  constexpr double kBar = 20;
  constexpr size_t kMost = 64;
  const size_t count = std::min(devices.value().size(), kMost);
  Svg svg(kWidth, 30 + static_cast<double>(count) * (kBar + 6));
  struct Part {
    const char* name;
    Duration Breakdown::*time;
    const char* color;
  };
  static constexpr std::array<Part, 4> kParts = {
      {{"compute", &Breakdown::compute, "#4c86c6"},
       {"exposed communication", &Breakdown::exposedCommunication, "#e08a3c"},
       {"exposed memory", &Breakdown::exposedMemory, "#5aa469"},
       {"idle", &Breakdown::idle, "#d5dbe3"}}};
  double legend = kLeft;
  for (const Part& part : kParts) {
    svg.rectangle(legend, 4, 10, 10, part.color);
    svg.text(legend + 14, 13, part.name, Svg::Anchor::Start, kMuted);
    legend += 40 + 7 * static_cast<double>(std::string_view(part.name).size());
  }
  double y = 24;
  for (size_t i = 0; i < count; ++i) {
    const DeviceBreakdown& device = devices.value()[i];
    const Process* process = trace.process(device.process);
    svg.text(kLeft - 6, y + 14, process ? cli::shortened(process->label(), 32) : std::string("device"),
             Svg::Anchor::End);
    const auto span = static_cast<double>(device.whole.span.ns());
    double x = kLeft;
    for (const Part& part : kParts) {
      if (span <= 0) break;
      const Duration time = device.whole.*part.time;
      const double width = static_cast<double>(time.ns()) / span * kPlot;
      const std::string share = cli::formatPercent(100 * static_cast<double>(time.ns()) / span);
      svg.rectangle(x, y, width, kBar, part.color,
                    fmt::format("{}: {}, {}", part.name, cli::formatDuration(time), share));
      if (width > 50)
        svg.text(x + width / 2, y + 14, share, Svg::Anchor::Middle, part.color[1] == 'd' ? "#1f2933" : "#ffffff");
      x += width;
    }
    y += kBar + 6;
  }
  return svg.finish("breakdown of each device's time");
}

namespace {

// What the moments of allocations mean: a memory snapshot may tell only their order, which is stored as a microsecond
// each.
struct MemoryClock {
  bool isOrder = false;

  [[nodiscard]] std::string text(double ns) const {
    return isOrder ? fmt::format("event {:.0f}", ns / kMicrosecond) : cli::formatDuration(ns);
  }
  [[nodiscard]] std::string momentText(Duration sinceFirst) const {
    const auto ns = static_cast<double>(sinceFirst.ns());
    return isOrder ? fmt::format("after event {:.0f} (the file tells the order of the events, not their times)",
                                 ns / kMicrosecond)
                   : fmt::format("{} after the first of these events", cli::formatDuration(ns));
  }
  static constexpr double kMicrosecond = 1000;
};

void drawTimeAxis(Svg& svg, const MemoryClock& clock, double extent, double top, double bottom) {
  constexpr double kTicks = 8;
  const double step =
      clock.isOrder ? std::max(niceStep(extent, kTicks), MemoryClock::kMicrosecond) : niceStep(extent, kTicks);
  for (double at = 0; at <= extent; at += step) {
    const double x = kLeft + at / extent * kPlot;
    svg.line(x, top, x, bottom, kGrid);
    svg.text(x, bottom + 12, clock.text(at), Svg::Anchor::Middle, kMuted, 10);
  }
}

}  // namespace

bool tellsOrderOnly(Trace& trace) {
  auto rows = trace.query(
      "SELECT 1 FROM main.diagnostic g JOIN main.process p ON p.id = g.process_id JOIN main.string s"
      " ON s.id = p.program_id WHERE g.lane = 'import' AND g.code = 'no_time' AND s.text = 'PyTorch memory snapshot'"
      " LIMIT 1");
  return rows.ok() && rows.value().next();
}

Result<std::string> memoryPicture(Trace& trace) {
  auto analysis = analyzeMemory(trace);
  if (!analysis.ok()) return analysis.error();
  const std::vector<DeviceMemory>& devices = analysis.value().devices;
  const auto largest = std::ranges::max_element(devices, {}, [](const DeviceMemory& d) { return d.peak.totalBytes; });
  if (largest == devices.end() || largest->points.size() < 2 || largest->peak.totalBytes <= 0) return std::string();
  constexpr double kHeight = 275, kTop = 30, kPlotHeight = kHeight - kTop - 35;
  const MemoryClock clock{tellsOrderOnly(trace)};
  static constexpr std::array<const char*, kMemoryCategoryCount> kColors = {
      "#4c86c6", "#8f6fc0", "#5aa469", "#d9a441", "#3aa3a9", "#e07b3c", "#c96a8a", "#b8c4cf", "#8a949e"};

  const std::vector<MemoryPoint>& points = largest->points;
  const TimePoint first = points.front().time, last = points.back().time;
  const auto extent = static_cast<double>((last - first).ns());
  constexpr double kFewestEvents = 2;
  if (extent <= 0 || (clock.isOrder && extent < kFewestEvents * MemoryClock::kMicrosecond)) return std::string();
  // Per pixel the moment of the largest total, so that no peak is lost.
  std::vector<const MemoryPoint*> columns(static_cast<size_t>(kPlot), nullptr);
  const MemoryPoint* held = nullptr;
  size_t next = 0;
  for (size_t x = 0; x < columns.size(); ++x) {
    const double end = (static_cast<double>(x) + 1) / static_cast<double>(columns.size()) * extent;
    const MemoryPoint* best = held;
    while (next < points.size() && static_cast<double>((points[next].time - first).ns()) <= end) {
      held = &points[next++];
      if (!best || held->totalBytes > best->totalBytes) best = held;
    }
    columns[x] = best;
  }
  Svg svg(kWidth, kHeight);
  drawTimeAxis(svg, clock, extent, kTop, kTop + kPlotHeight);
  const auto top = static_cast<double>(largest->peak.totalBytes) * 1.05;
  for (int i = 0; i <= 4; ++i) {
    const double y = kTop + kPlotHeight * (1 - i / 4.0);
    svg.line(kLeft, y, kWidth - kRight, y, kGrid);
    svg.text(kLeft - 6, y + 4, cli::formatBytes(top * i / 4), Svg::Anchor::End, kMuted, 10);
  }
  std::vector<double> base(columns.size(), 0);
  double legend = kLeft;
  for (size_t category = 0; category < kMemoryCategoryCount; ++category) {
    const auto bytes = [&](size_t x) { return columns[x] ? static_cast<double>(columns[x]->bytes[category]) : 0.0; };
    bool any = false;
    std::string upper, lower;
    for (size_t x = 0; x < columns.size(); ++x) {
      any = any || bytes(x) > 0;
      const double y = kTop + kPlotHeight * (1 - (base[x] + bytes(x)) / top);
      upper += fmt::format("{:.1f},{:.1f} ", kLeft + static_cast<double>(x), y);
      lower = fmt::format("{:.1f},{:.1f} ", kLeft + static_cast<double>(x), kTop + kPlotHeight * (1 - base[x] / top)) +
              lower;
      base[x] += bytes(x);
    }
    if (!any) continue;
    const std::string name(displayNameOf(static_cast<MemoryCategory>(category)));
    svg.polygon(upper + lower, kColors[category], name);
    svg.rectangle(legend, 4, 10, 10, kColors[category]);
    svg.text(legend + 14, 13, name, Svg::Anchor::Start, kMuted);
    legend += 34 + 6.5 * static_cast<double>(name.size());
  }
  const Process* process = trace.process(largest->process);
  svg.text(kLeft, kHeight - 4,
           fmt::format("{}: peak {} {}", process ? process->label() : "device",
                       cli::formatBytes(static_cast<double>(largest->peak.totalBytes)),
                       clock.momentText(largest->peak.time - first)),
           Svg::Anchor::Start, kMuted);
  return svg.finish("device memory over time by category");
}

Result<std::string> rooflinePicture(Trace& trace) {
  auto devices = analyzeRoofline(trace);
  if (!devices.ok()) return devices.error();
  for (const DeviceRoofline& device : devices.value()) {
    const Roof* memory = device.roof("memory");
    std::vector<const RooflinePoint*> points;
    std::vector<const Roof*> roofs;
    for (const RooflinePoint& point : device.points) {
      if (!point.intensity || !point.flopsPerSecond || *point.intensity <= 0 || *point.flopsPerSecond <= 0) continue;
      if (points.size() < 100) points.push_back(&point);
      const Roof* roof = device.roof(point.precision);
      if (roof && std::ranges::find(roofs, roof) == roofs.end()) roofs.push_back(roof);
    }
    if (!memory || points.empty() || roofs.empty()) continue;
    constexpr double kHeight = 340, kTop = 14, kPlotHeight = kHeight - kTop - 34;
    double lowX = 1e300, highX = 0, lowY = 1e300, highY = 0;
    for (const RooflinePoint* point : points) {
      lowX = std::min(lowX, *point->intensity), highX = std::max(highX, *point->intensity);
      lowY = std::min(lowY, *point->flopsPerSecond);
    }
    for (const Roof* roof : roofs) {
      highY = std::max(highY, roof->perSecond);
      highX = std::max(highX, roof->perSecond / memory->perSecond * 4);
    }
    const double x0 = std::floor(std::log10(lowX)), x1 = std::ceil(std::log10(highX));
    const double y0 = std::floor(std::log10(lowY)), y1 = std::ceil(std::log10(highY * 1.01));
    const auto atX = [&](double value) { return kLeft + (std::log10(value) - x0) / (x1 - x0) * kPlot; };
    const auto atY = [&](double value) { return kTop + kPlotHeight * (1 - (std::log10(value) - y0) / (y1 - y0)); };
    Svg svg(kWidth, kHeight);
    for (double e = x0; e <= x1; ++e) {
      svg.line(atX(std::pow(10, e)), kTop, atX(std::pow(10, e)), kTop + kPlotHeight, kGrid);
      svg.text(atX(std::pow(10, e)), kTop + kPlotHeight + 14, fmt::format("{:g}", std::pow(10, e)), Svg::Anchor::Middle,
               kMuted, 10);
    }
    for (double e = y0; e <= y1; ++e) {
      svg.line(kLeft, atY(std::pow(10, e)), kLeft + kPlot, atY(std::pow(10, e)), kGrid);
      svg.text(kLeft - 6, atY(std::pow(10, e)) + 4, cli::formatPerSecond(std::pow(10, e), "FLOP"), Svg::Anchor::End,
               kMuted, 10);
    }
    double lastRoof = -1e9;
    for (const Roof* roof : roofs) {
      const double ridge = std::clamp(roof->perSecond / memory->perSecond, std::pow(10, x0), std::pow(10, x1));
      const double y = atY(roof->perSecond);
      const double startX = std::max(std::pow(10, x0), std::pow(10, y0) / memory->perSecond);
      svg.line(atX(startX), atY(startX * memory->perSecond), atX(ridge), atY(ridge * memory->perSecond), "#1f2933",
               1.5);
      svg.line(atX(ridge), y, kLeft + kPlot, y, "#1f2933", 1.5);
      // Roofs that lie close together have their labels above and below.
      const double labelY = std::abs(y - lastRoof) < 12 ? y + 12 : y - 4;
      lastRoof = y;
      svg.text(kLeft + kPlot - 4, labelY,
               fmt::format("{} {} ({})", roof->resource, cli::formatPerSecond(roof->perSecond, "FLOP"),
                           nameOf(roof->source)),
               Svg::Anchor::End, kMuted, 10);
    }
    for (const RooflinePoint* point : points) {
      const double share = static_cast<double>(point->duration.ns()) /
                           std::max<double>(1, static_cast<double>(device.knownDuration.ns()));
      const char* color = point->verdict == Verdict::ComputeBound  ? "#4c86c6"
                          : point->verdict == Verdict::MemoryBound ? "#5aa469"
                          : point->verdict == Verdict::AboveRoof   ? "#d1606b"
                                                                   : "#e08a3c";
      svg.circle(atX(*point->intensity), atY(*point->flopsPerSecond), 3 + 14 * std::sqrt(share), color,
                 fmt::format("{} ({}): {:.3g} FLOP/byte, {}, {} in all, {}", point->name, point->precision,
                             *point->intensity, cli::formatPerSecond(*point->flopsPerSecond, "FLOP"),
                             cli::formatDuration(point->duration), nameOf(point->verdict)));
    }
    svg.text(kLeft + kPlot / 2, kHeight - 4, "arithmetic intensity (FLOP/byte)", Svg::Anchor::Middle, kMuted);
    return svg.finish("roofline");
  }
  return std::string();
}

}  // namespace plumb::exports
