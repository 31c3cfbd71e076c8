// SPDX-License-Identifier: Apache-2.0
#include "gui/timeline/time_scale.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace plumb::gui {
namespace {

struct Unit {
  double ns;
  const char* name;
};
constexpr std::array<Unit, 4> kUnits{{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}, {1, "ns"}}};

const Unit& unitFor(double ns) {
  for (const Unit& unit : kUnits) {
    if (std::abs(ns) >= unit.ns) return unit;
  }
  return kUnits.back();
}

// Three significant digits without exponents.
QString significant(double value) {
  const double magnitude = std::abs(value);
  const int decimals = magnitude >= 100 ? 0 : magnitude >= 10 ? 1 : 2;
  QString text = QString::number(value, 'f', decimals);
  while (text.contains('.') && (text.endsWith('0') || text.endsWith('.'))) text.chop(1);
  return text;
}

double niceStep(double atLeast) {
  const double power = std::pow(10.0, std::floor(std::log10(atLeast)));
  for (const double multiple : {1.0, 2.0, 5.0, 10.0}) {
    if (multiple * power >= atLeast * (1 - 1e-12)) return multiple * power;
  }
  return 10 * power;
}

}  // namespace

TimeScale::TimeScale(TimeSpan span, double width)
    : m_span(span), m_width(std::max(width, 1.0)), m_nsPerPixel(std::max(span.length(), 1e-3) / m_width) {}

TimeSpan clamped(TimeSpan span, const TimeSpan& limits) {
  const double limit = std::max(limits.length(), kShortestSpanNs);
  const double length = std::clamp(span.length(), kShortestSpanNs, limit);
  const double start = std::clamp(span.startNs, limits.startNs, limits.startNs + limit - length);
  return {start, start + length};
}

TimeSpan zoomed(const TimeSpan& span, double factor, double anchorNs, const TimeSpan& limits) {
  const double length = std::clamp(span.length() * factor, kShortestSpanNs, std::max(limits.length(), kShortestSpanNs));
  const double share = span.length() > 0 ? (anchorNs - span.startNs) / span.length() : 0.5;
  const double start = anchorNs - share * length;
  return clamped({start, start + length}, limits);
}

TimeSpan panned(const TimeSpan& span, double offsetNs, const TimeSpan& limits) {
  return clamped({span.startNs + offsetNs, span.endNs + offsetNs}, limits);
}

std::vector<Tick> ticks(const TimeScale& scale, double originNs, double minGapPx) {
  const double step = niceStep(std::max(scale.nsPerPixel() * minGapPx, 1.0));
  // Small steps far from the origin: "1521.0034 ms" reads better than "1521003400 ns".
  const Unit& unit = unitFor(std::max(step * 5, std::abs(scale.span().endNs - originNs) / 1e3));
  const int decimals = std::max(0, static_cast<int>(std::ceil(std::log10(unit.ns / step) - 1e-9)));
  std::vector<Tick> result;
  const double first = std::ceil((scale.span().startNs - originNs) / step);
  for (double i = first; originNs + i * step <= scale.span().endNs; ++i) {
    const double relative = i * step;
    result.push_back({originNs + relative, QString::number(relative / unit.ns, 'f', decimals) + ' ' + unit.name});
    if (result.size() > 10000) break;
  }
  return result;
}

QString formatDuration(double ns) {
  const Unit& unit = unitFor(ns);
  return significant(ns / unit.ns) + ' ' + unit.name;
}

QString formatTime(double ns, double resolutionNs) {
  const Unit& unit = unitFor(ns);
  const double digits = std::log10(unit.ns / std::max(resolutionNs, 1.0));
  return QString::number(ns / unit.ns, 'f', std::clamp(static_cast<int>(std::ceil(digits)), 0, 9)) + ' ' + unit.name;
}

QString formatBytes(double bytes) {
  static constexpr std::array<const char*, 6> kNames{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t unit = 0;
  while (std::abs(bytes) >= 1024 && unit + 1 < kNames.size()) {
    bytes /= 1024;
    ++unit;
  }
  return significant(bytes) + ' ' + kNames[unit];
}

QString formatSi(double value) {
  static constexpr std::array<const char*, 7> kNames{"", "k", "M", "G", "T", "P", "E"};
  size_t unit = 0;
  while (std::abs(value) >= 1000 && unit + 1 < kNames.size()) {
    value /= 1000;
    ++unit;
  }
  return significant(value) + ' ' + kNames[unit];
}

}  // namespace plumb::gui
