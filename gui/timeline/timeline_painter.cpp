// SPDX-License-Identifier: Apache-2.0
#include "gui/timeline/timeline_painter.h"

#include <QFontMetricsF>
#include <QPainterPath>
#include <QStringList>
#include <algorithm>
#include <array>
#include <cmath>

#include "gui/timeline/elide.h"
#include "gui/timeline/visible_runs.h"

namespace plumb::gui {
namespace {

using timeline::Lane;
using timeline::Slice;
using timeline::SliceKind;
using timeline::SliceRef;
using timeline::Track;

QColor fillOf(const TimelineScene& scene, const Slice& slice) {
  QColor color = slice.kind == SliceKind::kRange ? scene.theme.range(scene.timeline->names[slice.name])
                                                 : scene.theme.kind(slice.kind);
  if (scene.matches && !(*scene.matches)[slice.name]) color.setAlphaF(0.22F);
  return color;
}

// What stands on a block: NCCL's kernels begin with what their colour says already.
QString blockText(const timeline::Timeline& timeline, const Slice& slice) {
  QString name = toQString(timeline.names[slice.name]);
  if (slice.kind == SliceKind::kStuck) return toQString(timeline.names[slice.note ? slice.note : slice.name]);
  if (slice.kind != SliceKind::kCommunication) return name;
  for (const QLatin1String prefix : {QLatin1String("ncclDevKernel_"), QLatin1String("ncclKernel_")}) {
    if (name.startsWith(prefix)) return name.mid(prefix.size());
  }
  return name;
}

// What has not ended has no right edge: it fades out in stripes.
void paintOpenBlock(QPainter& painter, const TimelineScene& scene, const QRectF& block, const QColor& fill) {
  painter.fillRect(block, fill);
  painter.fillRect(block, QBrush(scene.theme.background, Qt::BDiagPattern));
  constexpr double kFade = 24;
  if (block.width() < 2 * kFade) return;
  QLinearGradient fade(block.right() - kFade, 0, block.right(), 0);
  QColor clear = scene.theme.background;
  clear.setAlpha(0);
  fade.setColorAt(0, clear);
  fade.setColorAt(1, scene.theme.background);
  painter.fillRect(QRectF(block.right() - kFade, block.top(), kFade, block.height()), fade);
}

void paintLane(QPainter& painter, const TimelineScene& scene, const Lane& lane, const QRectF& area, bool withText) {
  const TimeScale scale = scene.scale();
  const QFontMetricsF metrics(painter.font());
  for (const Run& run : visibleRuns(lane, scale, static_cast<int>(std::ceil(area.width())))) {
    const Slice& slice = lane.slices[run.first];
    QColor fill = fillOf(scene, slice);
    const int width = run.x1 - run.x0;
    // A pixel that is only partly busy is paler: a sparse stretch must not look like a busy one.
    if (width == 1 && !scene.matches) fill.setAlphaF(std::max(0.35F, run.coverage));
    // The gap after a block tells neighbours apart.
    double right = run.x1;
    if (run.count == 1 && width >= 4)
      right = std::min(right, std::floor(scale.toPixel(static_cast<double>(slice.endNs())))) - 1;
    const QRectF block(area.left() + run.x0, area.top(), right - run.x0, area.height() - 1);
    const bool isOpen = slice.kind == SliceKind::kStuck;
    if (isOpen)
      paintOpenBlock(painter, scene, block, fill);
    else
      painter.fillRect(block, fill);
    if (!withText || run.count != 1 || width < 26) continue;
    const QString name = blockText(*scene.timeline, slice);
    const QString text = metrics.elidedText(name, Qt::ElideRight, block.width() - 6);
    if (text.size() < 3 && text != name) continue;
    if (isOpen) {
      // The stripes would make the text unreadable.
      painter.fillRect(
          QRectF(block.left() + 2, block.top() + 2, metrics.horizontalAdvance(text) + 6, block.height() - 4), fill);
    }
    painter.setPen(fill.alphaF() < 0.5F ? scene.theme.mutedText : textOn(fill));
    painter.drawText(
        block.adjusted(4, 0, -2, 0),
        static_cast<int>(Qt::AlignVCenter) | static_cast<int>(Qt::AlignLeft) | static_cast<int>(Qt::TextSingleLine),
        text);
  }
}

void paintTriangle(QPainter& painter, QPointF center, bool folded, const QColor& color) {
  QPainterPath path;
  if (folded) {
    path.moveTo(center + QPointF(-2.5, -4));
    path.lineTo(center + QPointF(3, 0));
    path.lineTo(center + QPointF(-2.5, 4));
  } else {
    path.moveTo(center + QPointF(-4, -2.5));
    path.lineTo(center + QPointF(4, -2.5));
    path.lineTo(center + QPointF(0, 3));
  }
  path.closeSubpath();
  painter.fillPath(path, color);
}

void paintGrid(QPainter& painter, const TimelineScene& scene, const std::vector<Tick>& axisTicks) {
  const QRectF plot = scene.plot();
  const TimeScale scale = scene.scale();
  painter.setPen(QPen(scene.theme.grid, 1));
  for (const Tick& tick : axisTicks) {
    const double x = std::round(plot.left() + scale.toPixel(tick.ns)) + 0.5;
    painter.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom()));
  }
}

void paintHeader(QPainter& painter, const TimelineScene& scene, const Row& row, double top) {
  painter.fillRect(QRectF(0, top, scene.size.width(), row.height), scene.theme.panel);
  if (scene.foldable) paintTriangle(painter, QPointF(12, top + row.height / 2), row.collapsed, scene.theme.mutedText);
  const QFont plain = painter.font();
  QFont bold = plain;
  bold.setBold(true);
  painter.setFont(bold);
  painter.setPen(scene.theme.text);
  painter.drawText(QRectF(24, top, scene.size.width() - 28, row.height),
                   static_cast<int>(Qt::AlignVCenter) | static_cast<int>(Qt::TextSingleLine),
                   elidedLabel(toQString(scene.timeline->processes[row.process].label), QFontMetricsF(bold),
                               scene.size.width() - 32));
  painter.setFont(plain);
}

void paintRows(QPainter& painter, const TimelineScene& scene) {
  const QRectF plot = scene.plot();
  const auto& rows = scene.layout->rows();
  const QFontMetricsF metrics(painter.font());
  for (size_t i = scene.layout->firstRowBelow(scene.scrollY); i < rows.size(); ++i) {
    const Row& row = rows[i];
    const double top = plot.top() + row.y - scene.scrollY;
    if (top >= plot.bottom()) break;
    const auto& process = scene.timeline->processes[row.process];
    if (row.kind == RowKind::kProcess) {
      paintHeader(painter, scene, row, top);
      continue;
    }
    const Track& track = process.tracks[row.track];
    if (scene.foldable)
      paintTriangle(painter, QPointF(16, top + std::min(row.height, scene.layout->metrics().laneHeight) / 2),
                    row.collapsed, scene.theme.grid.darker(120));
    painter.setPen(scene.theme.mutedText);
    // A thin row's name needs more height than the row has.
    const double line = std::max(scene.layout->laneHeight(row), metrics.height());
    const double lineTop = top + (scene.layout->laneHeight(row) - line) / 2;
    painter.drawText(QRectF(26, lineTop, scene.gutterWidth - 34, line),
                     static_cast<int>(Qt::AlignVCenter) | static_cast<int>(Qt::TextSingleLine),
                     elidedLabel(toQString(track.label), metrics, scene.gutterWidth - 34));
    painter.save();
    painter.setClipRect(plot, Qt::IntersectClip);
    for (uint32_t lane = 0; lane < track.lanes.size(); ++lane) {
      const QRectF area(plot.left(), plot.top() + scene.layout->laneTop(row, lane) - scene.scrollY, plot.width(),
                        scene.layout->laneHeight(row));
      if (area.bottom() < plot.top()) continue;
      if (area.top() > plot.bottom()) break;
      paintLane(painter, scene, track.lanes[lane], area, !row.collapsed);
    }
    painter.restore();
  }
  if (const Row* header = scene.pinnedHeader()) paintHeader(painter, scene, *header, plot.top());
}

void paintEmptyText(QPainter& painter, const TimelineScene& scene) {
  if (scene.timeline->sliceCount > 0 || scene.emptyText.isEmpty()) return;
  painter.setPen(scene.theme.text);
  painter.drawText(QRectF(40, scene.axisHeight, scene.size.width() - 80, scene.size.height() - scene.axisHeight),
                   static_cast<int>(Qt::AlignCenter) | static_cast<int>(Qt::TextWordWrap), scene.emptyText);
}

void outline(QPainter& painter, const TimelineScene& scene, const SliceRef& ref, const QColor& color, double width) {
  QRectF rect = scene.sliceRect(ref);
  if (rect.isEmpty()) return;
  const QRectF plot = scene.plot();
  rect = rect.intersected(QRectF(plot.left() - 4, plot.top() - 40, plot.width() + 8, plot.height() + 80));
  if (rect.isEmpty()) return;
  painter.setPen(QPen(color, width));
  painter.setBrush(Qt::NoBrush);
  painter.drawRect(rect.adjusted(0, 0, -0.5, -0.5));
}

// From the end of a launch down to the start of the work that it caused.
void paintArrow(QPainter& painter, const TimelineScene& scene, const SliceRef& host, const SliceRef& work) {
  const QRectF from = scene.sliceRect(host);
  const QRectF to = scene.sliceRect(work);
  if (from.isEmpty() || to.isEmpty()) return;
  const bool down = to.top() >= from.top();
  const QPointF begin(from.right(), from.center().y());
  const QPointF end(to.left(), to.center().y());
  const double reach = std::clamp(std::abs(end.x() - begin.x()) / 2, 12.0, 80.0);
  QPainterPath path(begin);
  path.cubicTo(begin + QPointF(reach, down ? 6 : -6), end - QPointF(reach, down ? 6 : -6), end - QPointF(4, 0));
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(scene.theme.accent, 1.5));
  painter.setBrush(Qt::NoBrush);
  painter.drawPath(path);
  QPainterPath head(end);
  head.lineTo(end + QPointF(-7, -3.5));
  head.lineTo(end + QPointF(-7, 3.5));
  head.closeSubpath();
  painter.fillPath(head, scene.theme.accent);
  painter.setRenderHint(QPainter::Antialiasing, false);
}

void paintMarks(QPainter& painter, const TimelineScene& scene) {
  painter.save();
  painter.setClipRect(scene.plot());
  if (scene.hovered && scene.hovered != scene.selected) outline(painter, scene, *scene.hovered, scene.theme.text, 1);
  if (scene.marked) {
    for (const SliceRef& ref : *scene.marked) outline(painter, scene, ref, scene.theme.accent, 2);
  }
  if (scene.selected) {
    constexpr size_t kMostArrows = 64;  // a graph launch can have thousands of nodes
    const auto linked = timeline::linkedSlices(*scene.timeline, *scene.selected);
    const bool isHost = scene.timeline->slice(*scene.selected).kind == SliceKind::kApiCall;
    const bool isCollective = scene.timeline->slice(*scene.selected).kind == SliceKind::kCollective;
    for (size_t i = 0; i < std::min(linked.size(), kMostArrows); ++i) {
      outline(painter, scene, linked[i], scene.theme.accent, 1.5);
      if (isCollective) continue;
      paintArrow(painter, scene, isHost ? *scene.selected : linked[i], isHost ? linked[i] : *scene.selected);
    }
    outline(painter, scene, *scene.selected, scene.theme.accent, 2);
  }
  painter.restore();
}

// Where the length of the measured span stands on the axis; empty without one in view.
QRectF measuredLabel(const TimelineScene& scene, const QFont& font) {
  if (!scene.measured) return {};
  const QRectF plot = scene.plot();
  const TimeScale scale = scene.scale();
  const double x0 = plot.left() + std::clamp(scale.toPixel(scene.measured->startNs), -1.0, plot.width() + 1);
  const double x1 = plot.left() + std::clamp(scale.toPixel(scene.measured->endNs), -1.0, plot.width() + 1);
  if (x1 < plot.left() || x0 > plot.right()) return {};
  const double width = QFontMetricsF(font).horizontalAdvance(formatDuration(scene.measured->length())) + 10;
  const double left = std::clamp((x0 + x1 - width) / 2, plot.left(), std::max(plot.left(), plot.right() - width));
  return {left, 1, width, scene.axisHeight - 3};
}

void paintMeasured(QPainter& painter, const TimelineScene& scene) {
  if (!scene.measured) return;
  const QRectF plot = scene.plot();
  const TimeScale scale = scene.scale();
  const double x0 = std::clamp(plot.left() + scale.toPixel(scene.measured->startNs), plot.left() - 1, plot.right() + 1);
  const double x1 = std::clamp(plot.left() + scale.toPixel(scene.measured->endNs), plot.left() - 1, plot.right() + 1);
  if (x1 < plot.left() || x0 > plot.right()) return;
  QColor shade = scene.theme.accent;
  shade.setAlphaF(0.10F);
  painter.fillRect(QRectF(x0, 0, x1 - x0, scene.size.height()), shade);
  painter.setPen(QPen(scene.theme.accent, 1));
  painter.drawLine(QPointF(x0, 0), QPointF(x0, scene.size.height()));
  painter.drawLine(QPointF(x1, 0), QPointF(x1, scene.size.height()));
  const QRectF box = measuredLabel(scene, painter.font());
  painter.fillRect(box, scene.theme.accent);
  painter.setPen(textOn(scene.theme.accent));
  painter.drawText(box, Qt::AlignCenter, formatDuration(scene.measured->length()));
}

void paintAxis(QPainter& painter, const TimelineScene& scene, const std::vector<Tick>& axisTicks) {
  const QRectF plot = scene.plot();
  const TimeScale scale = scene.scale();
  painter.fillRect(QRectF(0, 0, scene.size.width(), scene.axisHeight), scene.theme.panel);
  painter.setPen(scene.theme.mutedText);
  painter.drawText(QRectF(12, 0, scene.gutterWidth - 16, scene.axisHeight - 2),
                   static_cast<int>(Qt::AlignVCenter) | static_cast<int>(Qt::TextSingleLine),
                   QStringLiteral("time since start"));
  const QFontMetricsF metrics(painter.font());
  const QRectF measured = measuredLabel(scene, painter.font());
  for (const Tick& tick : axisTicks) {
    const double x = plot.left() + scale.toPixel(tick.ns);
    const double width = metrics.horizontalAdvance(tick.label) + 4;
    painter.setPen(scene.theme.grid.darker(130));
    painter.drawLine(QPointF(x, scene.axisHeight - 6), QPointF(x, scene.axisHeight));
    // Labels stay inside the picture; one at the edge would be cut.
    if (x - width / 2 < scene.gutterWidth - 8 || x + width / 2 > scene.size.width()) continue;
    const QRectF box(x - width / 2, 2, width, scene.axisHeight - 9);
    if (box.intersects(measured)) continue;
    painter.setPen(scene.theme.text);
    painter.drawText(box, Qt::AlignCenter, tick.label);
  }
  painter.setPen(scene.theme.grid.darker(115));
  painter.drawLine(QPointF(0, scene.axisHeight - 0.5), QPointF(scene.size.width(), scene.axisHeight - 0.5));
}

}  // namespace

const Row* TimelineScene::pinnedHeader() const {
  const auto& rows = layout->rows();
  size_t index = layout->firstRowBelow(scrollY);
  if (index >= rows.size() || rows[index].kind == RowKind::kProcess) return nullptr;
  while (rows[index].kind != RowKind::kProcess) --index;
  return &rows[index];
}

const Row* TimelineScene::rowAt(QPointF point) const {
  const Row* pinned = pinnedHeader();
  if (pinned && point.y() >= axisHeight && point.y() < axisHeight + pinned->height) return pinned;
  return point.y() < axisHeight ? nullptr : layout->rowAt(point.y() - axisHeight + scrollY);
}

std::optional<SliceRef> TimelineScene::sliceAt(QPointF point) const {
  if (!plot().contains(point)) return std::nullopt;
  const Row* row = rowAt(point);
  if (!row || row->kind != RowKind::kTrack) return std::nullopt;
  const auto& lanes = timeline->processes[row->process].tracks[row->track].lanes;
  const auto lane = layout->laneAt(*row, point.y() - axisHeight + scrollY, lanes.size());
  if (!lane) return std::nullopt;
  const double x = point.x() - gutterWidth;
  // A folded track paints all lanes over each other, the innermost last.
  const uint32_t deepest = row->collapsed ? static_cast<uint32_t>(lanes.size()) - 1 : *lane;
  for (uint32_t l = deepest + 1; l-- > *lane;) {
    const int64_t index = gui::sliceAt(lanes[l], scale(), x, row->collapsed ? 0 : 2);
    if (index >= 0) return SliceRef{row->process, row->track, l, static_cast<uint32_t>(index)};
  }
  return std::nullopt;
}

QRectF TimelineScene::sliceRect(const SliceRef& ref) const {
  const Row* row = layout->trackRow(ref.process, ref.track);
  if (!row) return {};
  const PixelSpan pixels = pixelSpan(timeline->slice(ref), scale());
  return {gutterWidth + pixels.x0, axisHeight + layout->laneTop(*row, ref.lane) - scrollY, pixels.x1 - pixels.x0,
          layout->laneHeight(*row) - 1};
}

void paintTimeline(QPainter& painter, const TimelineScene& scene) {
  painter.setRenderHint(QPainter::Antialiasing, false);
  painter.fillRect(QRectF(QPointF(0, 0), scene.size), scene.theme.background);
  if (!scene.timeline || !scene.layout) return;
  const auto axisTicks = ticks(scene.scale(), scene.originNs, 96);
  painter.save();
  painter.setClipRect(QRectF(0, scene.axisHeight, scene.size.width(), scene.size.height() - scene.axisHeight),
                      Qt::IntersectClip);
  paintGrid(painter, scene, axisTicks);
  painter.setPen(scene.theme.grid);
  painter.drawLine(QPointF(scene.gutterWidth - 0.5, scene.axisHeight),
                   QPointF(scene.gutterWidth - 0.5, scene.size.height()));
  paintRows(painter, scene);
  painter.restore();
  paintMarks(painter, scene);
  paintAxis(painter, scene, axisTicks);
  paintMeasured(painter, scene);
  paintEmptyText(painter, scene);
}

QString durationOf(const Slice& slice) {
  return slice.kind == SliceKind::kStuck ? QStringLiteral("has not ended")
                                         : formatDuration(static_cast<double>(slice.durationNs));
}

QString describe(const timeline::Timeline& timeline, const SliceRef& ref, double originNs) {
  const Slice& slice = timeline.slice(ref);
  const auto& process = timeline.processes[ref.process];
  QStringList lines;
  lines << toQString(timeline.names[slice.name]);
  lines << QStringLiteral("%1 · %2").arg(QLatin1String(timeline::kindName(slice.kind)), durationOf(slice));
  lines << QStringLiteral("starts at %1").arg(formatTime(static_cast<double>(slice.startNs) - originNs, 1000));
  if (slice.note) lines << toQString(timeline.names[slice.note]);
  const QString who = process.rank       ? QStringLiteral("rank %1").arg(*process.rank)
                      : process.pid != 0 ? QStringLiteral("pid %1").arg(process.pid)
                                         : toQString(process.label);
  lines << QStringLiteral("%1 · %2").arg(who, toQString(timeline.track(ref).label));
  return lines.join('\n');
}

}  // namespace plumb::gui
