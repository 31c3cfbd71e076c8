// SPDX-License-Identifier: Apache-2.0
// Time <-> pixel, the ticks of a time axis, and zooming. Pure arithmetic.
#pragma once
#include <QString>
#include <cstdint>
#include <vector>

namespace plumb::gui {

// A span of time in nanoseconds since the session's start. Fractions matter when a few nanoseconds fill the window.
struct TimeSpan {
  double startNs = 0;
  double endNs = 1;
  [[nodiscard]] double length() const { return endNs - startNs; }
  friend bool operator==(const TimeSpan&, const TimeSpan&) = default;
};

inline constexpr double kShortestSpanNs = 20;

// Maps span onto [0, width) pixels.
class TimeScale {
 public:
  TimeScale(TimeSpan span, double width);
  [[nodiscard]] double toPixel(double ns) const { return (ns - m_span.startNs) / m_nsPerPixel; }
  [[nodiscard]] double toNs(double pixel) const { return m_span.startNs + pixel * m_nsPerPixel; }
  [[nodiscard]] double nsPerPixel() const { return m_nsPerPixel; }
  [[nodiscard]] const TimeSpan& span() const { return m_span; }
  [[nodiscard]] double width() const { return m_width; }

 private:
  TimeSpan m_span;
  double m_width;
  double m_nsPerPixel;
};

// The span scaled by factor (< 1: closer) with the instant anchorNs kept at its place, within limits.
[[nodiscard]] TimeSpan zoomed(const TimeSpan& span, double factor, double anchorNs, const TimeSpan& limits);
// The span moved by offsetNs, within limits.
[[nodiscard]] TimeSpan panned(const TimeSpan& span, double offsetNs, const TimeSpan& limits);
// The span made at least kShortestSpanNs long and moved or cut to lie within limits.
[[nodiscard]] TimeSpan clamped(TimeSpan span, const TimeSpan& limits);

struct Tick {
  double ns;
  QString label;  // relative to the axis' origin, with a unit
};

// Ticks at round times at least minGapPx apart, as times after originNs.
[[nodiscard]] std::vector<Tick> ticks(const TimeScale& scale, double originNs, double minGapPx);

// "1.25 ms": three to four significant digits and a unit.
[[nodiscard]] QString formatDuration(double ns);
// "1.234 567 s" without rounding away what a step of resolutionNs distinguishes.
[[nodiscard]] QString formatTime(double ns, double resolutionNs);
// "12.5 MiB"
[[nodiscard]] QString formatBytes(double bytes);
// "3.2 T" with the SI prefix that fits; the caller adds the unit: "FLOP/s".
[[nodiscard]] QString formatSi(double value);

}  // namespace plumb::gui
