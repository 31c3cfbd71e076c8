// SPDX-License-Identifier: Apache-2.0
// Draws the timeline on any QPaintDevice: the window's view and --render alike.
#pragma once
#include <QPainter>
#include <QRectF>
#include <QSizeF>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/analyses/timeline_data.h"
#include "gui/timeline/theme.h"
#include "gui/timeline/time_scale.h"
#include "gui/timeline/track_layout.h"

namespace plumb::gui {

struct TimelineScene {
  const timeline::Timeline* timeline = nullptr;
  const TrackLayout* layout = nullptr;
  TimeSpan span;
  double originNs = 0;  // the instant that the axis calls 0
  QSizeF size;
  double scrollY = 0;
  double gutterWidth = 168;  // track names, left
  double axisHeight = 30;    // ruler, top
  Theme theme = Theme::light();
  std::optional<timeline::SliceRef> selected;
  std::optional<timeline::SliceRef> hovered;
  const std::vector<timeline::SliceRef>* marked = nullptr;  // outlined like the selected one; null: none
  std::optional<TimeSpan> measured;
  bool foldable = true;  // false: a picture, where nothing can be clicked
  QString emptyText;     // what stands in the plot of a timeline without slices
  // By name index: 1 keeps its colour, 0 is dimmed. Null: no search.
  const std::vector<char>* matches = nullptr;

  [[nodiscard]] QRectF plot() const {
    return {gutterWidth, axisHeight, std::max(1.0, size.width() - gutterWidth),
            std::max(1.0, size.height() - axisHeight)};
  }
  [[nodiscard]] TimeScale scale() const { return {span, plot().width()}; }
  // What is painted at a point of the scene.
  [[nodiscard]] std::optional<timeline::SliceRef> sliceAt(QPointF point) const;
  // The header of the process whose rows are at the top, while it is scrolled out of view: it stays below the ruler.
  [[nodiscard]] const Row* pinnedHeader() const;
  [[nodiscard]] const Row* rowAt(QPointF point) const;
  // The rectangle of a slice in the scene, not clipped; empty when its process is folded.
  [[nodiscard]] QRectF sliceRect(const timeline::SliceRef& ref) const;
};

void paintTimeline(QPainter& painter, const TimelineScene& scene);

// Several lines of plain text about a slice, for a tooltip.
[[nodiscard]] QString describe(const timeline::Timeline& timeline, const timeline::SliceRef& ref, double originNs);
// "2.5 ms", or that it has not ended.
[[nodiscard]] QString durationOf(const timeline::Slice& slice);

[[nodiscard]] inline QString toQString(const std::string& text) {
  return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

}  // namespace plumb::gui
