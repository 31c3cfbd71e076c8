// SPDX-License-Identifier: Apache-2.0
// Device memory over time, stacked by category. Geometry is pure; painting goes to any QPaintDevice.
#pragma once
#include <QPainter>
#include <QRectF>
#include <optional>
#include <vector>

#include "analyzer/analyses/memory.h"
#include "analyzer/analyses/timeline_data.h"
#include "gui/timeline/theme.h"
#include "gui/timeline/time_scale.h"

namespace plumb::gui {

// What the horizontal axis of a memory chart is. A file without times has its events a microsecond apart, in their
// order.
enum class MemoryAxis {
  kTime,
  kEvents,   // the number of the event, from 0
  kOneState  // nothing but the state at the end is known
};

struct MemoryScene {
  const DeviceMemory* memory = nullptr;
  std::optional<int64_t> capacityBytes;  // of the device; none: not known
  QString capacityText;                  // what to call it: "capacity 80 GiB"
  std::vector<timeline::Step> steps;     // of this process: marked on the time axis
  TimeSpan span;
  double originNs = 0;
  MemoryAxis axis = MemoryAxis::kTime;
  double topBytes = 0;  // of the y axis; 0: from the peak. Panels side by side share one
  QRectF area;
  QString title;
  Theme theme = Theme::light();
  std::optional<double> hoverNs;  // reads the values of that instant
  std::optional<TimeSpan> measured;
  std::vector<double> outOfMemoryNs;  // when the program asked for more than there was
  bool withLegend = true;             // false: the panel to the right has it

  [[nodiscard]] QRectF plot() const;
  [[nodiscard]] TimeScale scale() const { return {span, plot().width()}; }
  // "12.5 ms" or "event 17", as the axis counts.
  [[nodiscard]] QString placeOf(double ns, double resolutionNs) const;
};

// Whole events at least minGapPx apart.
[[nodiscard]] std::vector<Tick> eventTicks(const TimeScale& scale, double minGapPx);

// The state at an instant: the last point not after it; null before the first.
[[nodiscard]] const MemoryPoint* memoryAt(const DeviceMemory& memory, double ns);

// The time in which memory changed in the step that has the peak; none when the peak lies outside the steps. A host
// that runs far ahead of the device allocates and frees for a whole step within an instant of it.
[[nodiscard]] std::optional<TimeSpan> peakSpan(const DeviceMemory& memory, const std::vector<timeline::Step>& steps);

// One point a pixel: of the states that hold in a pixel the one with the largest total, so that no peak vanishes.
// Null: nothing was known yet.
[[nodiscard]] std::vector<const MemoryPoint*> memoryColumns(const DeviceMemory& memory, const TimeScale& scale,
                                                            int width);

// Round marks of a byte axis from 0 to about top: the step is 1, 2, 5, 10, … of the unit, or a power of two where the
// axis goes beyond 1024 of it.
[[nodiscard]] std::vector<double> byteTicks(double top, int most);

// The categories that the recording uses, in stacking order.
[[nodiscard]] std::vector<MemoryCategory> usedCategories(const DeviceMemory& memory);

// The top of the byte axis that suits all of them: their peaks, and a capacity that is near.
[[nodiscard]] double sharedTop(const std::vector<MemoryScene>& scenes);

void paintMemory(QPainter& painter, const MemoryScene& scene);

}  // namespace plumb::gui
