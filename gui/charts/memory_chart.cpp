// SPDX-License-Identifier: Apache-2.0
#include "gui/charts/memory_chart.h"

#include <QFontMetricsF>
#include <QPainterPath>
#include <QPolygonF>
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace plumb::gui {
namespace {

constexpr double kAxisWidth = 78;
constexpr double kEventNs = 1000;  // apart, in a file without times (import/memory_snapshot.cpp)
constexpr double kLegendWidth = 236;
constexpr double kTitleHeight = 24;
constexpr double kTimeHeight = 40;  // marks and the axis' title
constexpr int kLine = static_cast<int>(Qt::AlignVCenter) | static_cast<int>(Qt::TextSingleLine);

QString toText(std::string_view text) { return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())); }

double topOf(const MemoryScene& scene) {
  const double top = scene.topBytes > 0 ? scene.topBytes : static_cast<double>(scene.memory->peak.totalBytes) * 1.3;
  return std::max(top, 1.0);
}

// 1 MiB, not 1.00 MiB.
QString tickText(double bytes) {
  QStringList parts = formatBytes(bytes).split(' ');
  if (parts.front().contains('.')) {
    while (parts.front().endsWith('0')) parts.front().chop(1);
    if (parts.front().endsWith('.')) parts.front().chop(1);
  }
  return bytes == 0 ? QStringLiteral("0") : parts.join(' ');
}

double toY(const MemoryScene& scene, double bytes) {
  return scene.plot().bottom() - bytes / topOf(scene) * scene.plot().height();
}

void paintAxes(QPainter& painter, const MemoryScene& scene) {
  const QRectF plot = scene.plot();
  for (const double bytes : byteTicks(topOf(scene), std::max(2, static_cast<int>(plot.height() / 36)))) {
    const double y = std::round(toY(scene, bytes)) + 0.5;
    painter.setPen(scene.theme.grid);
    painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y));
    painter.setPen(scene.theme.mutedText);
    painter.drawText(QRectF(scene.area.left(), y - 9, kAxisWidth - 8, 18), kLine | static_cast<int>(Qt::AlignRight),
                     tickText(bytes));
  }
  const TimeScale scale = scene.scale();
  const QFontMetricsF metrics(painter.font());
  const auto marks = scene.axis == MemoryAxis::kTime     ? ticks(scale, scene.originNs, 110)
                     : scene.axis == MemoryAxis::kEvents ? eventTicks(scale, 110)
                                                         : std::vector<Tick>();
  for (const Tick& tick : marks) {
    const double x = plot.left() + scale.toPixel(tick.ns);
    painter.setPen(scene.theme.grid.darker(130));
    painter.drawLine(QPointF(x, plot.bottom()), QPointF(x, plot.bottom() + 4));
    const double width = metrics.horizontalAdvance(tick.label) + 4;
    if (x + width / 2 > plot.right() + 20 || x - width / 2 < scene.area.left()) continue;
    painter.setPen(scene.theme.mutedText);
    painter.drawText(QRectF(x - width / 2, plot.bottom() + 5, width, 18), Qt::AlignCenter, tick.label);
  }
}

void paintAxisTitle(QPainter& painter, const MemoryScene& scene) {
  const char* title = scene.axis == MemoryAxis::kTime ? "time since start"
                      : scene.axis == MemoryAxis::kEvents
                          ? "number of the allocator's event (this file holds no times)"
                          : "the state that the file holds (it holds no times and no history)";
  painter.setPen(scene.theme.mutedText);
  painter.drawText(QRectF(scene.plot().left(), scene.plot().bottom() + 22, scene.plot().width(), 18), Qt::AlignCenter,
                   QLatin1String(title));
}

void paintSteps(QPainter& painter, const MemoryScene& scene) {
  const QRectF plot = scene.plot();
  const TimeScale scale = scene.scale();
  const QFontMetricsF metrics(painter.font());
  double free = plot.left();
  QColor line = scene.theme.mutedText;
  line.setAlphaF(0.55F);
  for (const timeline::Step& step : scene.steps) {
    const double x = plot.left() + scale.toPixel(static_cast<double>(step.window.startNs));
    const double end = plot.left() + scale.toPixel(static_cast<double>(step.window.endNs));
    if (x < plot.left() || x > plot.right() || end - x < 3) continue;
    painter.setPen(QPen(line, 1, Qt::DotLine));
    painter.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom()));
    const QString label = QStringLiteral("step %1").arg(step.number);
    const double width = metrics.horizontalAdvance(label);
    if (x + 4 < free || x + 4 + width > plot.right() || width + 8 > end - x) continue;
    painter.setPen(scene.theme.mutedText);
    painter.drawText(QPointF(x + 4, plot.top() + metrics.ascent() + 2), label);
    free = x + width + 12;
  }
}

// What is painted one above the other, the lowest first.
struct Band {
  QString name;
  QColor color;
  std::function<double(const MemoryPoint&)> bytes;
};

std::vector<Band> bandsOf(const MemoryScene& scene) {
  std::vector<Band> bands;
  if (const auto& places = scene.memory->places; !places.empty()) {
    for (size_t i = 0; i < places.size(); ++i) {
      bands.push_back({toText(places[i].name), scene.theme.series(i), [&place = places[i]](const MemoryPoint& point) {
                         return static_cast<double>(place.bytesAt(point.time));
                       }});
    }
    bands.push_back({QStringLiteral("others"), scene.theme.memoryCategory(nameOf(MemoryCategory::Unattributed)),
                     [&places](const MemoryPoint& point) {
                       int64_t bytes = point.totalBytes;
                       for (const PlaceMemory& place : places) bytes -= place.bytesAt(point.time);
                       return static_cast<double>(std::max<int64_t>(bytes, 0));
                     }});
    return bands;
  }
  for (const MemoryCategory category : usedCategories(*scene.memory)) {
    bands.push_back({toText(displayNameOf(category)), scene.theme.memoryCategory(nameOf(category)),
                     [category](const MemoryPoint& point) {
                       return static_cast<double>(point.bytes[static_cast<size_t>(category)]);
                     }});
  }
  return bands;
}

void paintStack(QPainter& painter, const MemoryScene& scene, const std::vector<Band>& bands) {
  const QRectF plot = scene.plot();
  const auto columns = memoryColumns(*scene.memory, scene.scale(), static_cast<int>(plot.width()));
  for (size_t x = 0; x < columns.size(); ++x) {
    if (!columns[x]) continue;
    double bottom = plot.bottom();
    double sum = 0;
    for (const Band& band : bands) {
      // Regions in each other could add up to more.
      const double bytes = std::min(band.bytes(*columns[x]), static_cast<double>(columns[x]->totalBytes) - sum);
      if (bytes <= 0) continue;
      sum += bytes;
      const double top = toY(scene, sum);
      painter.fillRect(QRectF(plot.left() + static_cast<double>(x), top, 1, bottom - top), band.color);
      bottom = top;
    }
  }
}

void paintCapacity(QPainter& painter, const MemoryScene& scene) {
  if (!scene.capacityBytes || static_cast<double>(*scene.capacityBytes) > topOf(scene)) return;
  const QRectF plot = scene.plot();
  const double y = toY(scene, static_cast<double>(*scene.capacityBytes));
  painter.setPen(QPen(scene.theme.marker, 1.5, Qt::DashLine));
  painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y));
  painter.drawText(QRectF(plot.left() + 6, y - 19, plot.width() - 12, 18), kLine | static_cast<int>(Qt::AlignRight),
                   scene.capacityText);
}

// A small box with text, kept inside the plot.
void paintTag(QPainter& painter, const MemoryScene& scene, QPointF at, const QString& text, const QColor& color) {
  const QFontMetricsF metrics(painter.font());
  const QRectF plot = scene.plot();
  const double width = metrics.horizontalAdvance(text) + 12;
  const double height = metrics.height() + 4;
  const double left =
      std::clamp(at.x() - width / 2, plot.left() + 2, std::max(plot.left() + 2, plot.right() - width - 2));
  const QRectF box(left, std::max(plot.top() + (scene.steps.empty() ? 1 : 19), at.y() - height - 9), width, height);
  painter.setRenderHint(QPainter::Antialiasing);
  QPainterPath path;
  path.addRoundedRect(box, 3, 3);
  painter.fillPath(path, color);
  QPainterPath tip;
  tip.addPolygon(QPolygonF({at, at + QPointF(-4, -7), at + QPointF(4, -7)}));
  painter.fillPath(tip, color);
  painter.setRenderHint(QPainter::Antialiasing, false);
  painter.setPen(textOn(color));
  painter.drawText(box, Qt::AlignCenter, text);
}

void paintPeak(QPainter& painter, const MemoryScene& scene) {
  const MemoryPoint& peak = scene.memory->peak;
  if (peak.totalBytes <= 0) return;
  const double x = scene.plot().left() + scene.scale().toPixel(static_cast<double>(peak.time.ns()));
  if (x < scene.plot().left() - 1 || x > scene.plot().right() + 1) return;
  QString text = QStringLiteral("peak %1").arg(formatBytes(static_cast<double>(peak.totalBytes)));
  if (scene.axis == MemoryAxis::kTime)
    text += QStringLiteral(" at %1").arg(formatDuration(static_cast<double>(peak.time.ns()) - scene.originNs));
  else if (scene.axis == MemoryAxis::kEvents)
    text += QStringLiteral(" at %1").arg(scene.placeOf(static_cast<double>(peak.time.ns()), 1));
  paintTag(painter, scene, QPointF(x, toY(scene, static_cast<double>(peak.totalBytes))), text, scene.theme.marker);
}

// Lines with a word beside the first of them; later ones of a loop that tries again stand close together.
void paintOutOfMemory(QPainter& painter, const MemoryScene& scene) {
  const QRectF plot = scene.plot();
  double previous = -std::numeric_limits<double>::max();
  const QFontMetricsF metrics(painter.font());
  for (const double ns : scene.outOfMemoryNs) {
    double x = plot.left() + scene.scale().toPixel(ns);
    if (x < plot.left() - 1 || x > plot.right() + 1) continue;
    x = std::clamp(x, plot.left() + 1, plot.right() - 1);  // often the last event
    painter.setPen(QPen(scene.theme.marker, 2));
    painter.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom()));
    const QString text = QStringLiteral("out of memory at %1").arg(scene.placeOf(ns, scene.scale().nsPerPixel()));
    const double width = metrics.horizontalAdvance(text) + 12;
    const bool isLeft = x + width > plot.right();
    if (x - previous < width) continue;
    previous = x;
    const QRectF box(isLeft ? x - width : x, plot.center().y(), width, metrics.height() + 4);
    painter.fillRect(box, scene.theme.marker);
    painter.setPen(textOn(scene.theme.marker));
    painter.drawText(box, Qt::AlignCenter, text);
  }
}

// Category or place, value at the peak or at the hovered instant.
void paintLegend(QPainter& painter, const MemoryScene& scene, const std::vector<Band>& bands) {
  const QRectF plot = scene.plot();
  const MemoryPoint* shown = scene.hoverNs ? memoryAt(*scene.memory, *scene.hoverNs) : &scene.memory->peak;
  const double left = plot.right() + 18;
  const double right = scene.area.right();
  const double line = std::clamp((plot.height() - 4) / static_cast<double>(bands.size() + 2), 13.0, 21.0);
  double y = plot.top() - 2;
  QFont bold = painter.font();
  const QFont plain = bold;
  bold.setBold(true);
  painter.setFont(bold);
  painter.setPen(scene.theme.text);
  painter.drawText(QRectF(left, y, right - left, line), kLine,
                   scene.axis == MemoryAxis::kOneState ? QStringLiteral("held")
                   : scene.hoverNs
                       ? QStringLiteral("at %1").arg(scene.placeOf(*scene.hoverNs, scene.scale().nsPerPixel()))
                       : QStringLiteral("at the peak"));
  painter.setFont(plain);
  y += line;
  const QFontMetricsF metrics(plain);
  for (const Band& band : bands) {
    painter.fillRect(QRectF(left, y + (line - 11) / 2, 11, 11), band.color);
    painter.setPen(scene.theme.text);
    const QString bytes = formatBytes(shown ? band.bytes(*shown) : 0);
    // The callers at the end tell places apart.
    painter.drawText(
        QRectF(left + 18, y, right - left - 18, line), kLine,
        metrics.elidedText(band.name, Qt::ElideLeft, right - left - 18 - metrics.horizontalAdvance(bytes) - 8));
    painter.drawText(QRectF(left + 18, y, right - left - 18, line), kLine | static_cast<int>(Qt::AlignRight), bytes);
    y += line;
  }
  painter.setPen(scene.theme.grid.darker(120));
  painter.drawLine(QPointF(left, y + 0.5), QPointF(right, y + 0.5));
  painter.setPen(scene.theme.text);
  painter.setFont(bold);
  painter.drawText(QRectF(left + 18, y, right - left - 18, line), kLine, QStringLiteral("total"));
  painter.drawText(QRectF(left + 18, y, right - left - 18, line), kLine | static_cast<int>(Qt::AlignRight),
                   formatBytes(shown ? static_cast<double>(shown->totalBytes) : 0));
  painter.setFont(plain);
}

void paintHover(QPainter& painter, const MemoryScene& scene) {
  if (!scene.hoverNs) return;
  const QRectF plot = scene.plot();
  const double x = plot.left() + scene.scale().toPixel(*scene.hoverNs);
  if (x < plot.left() || x > plot.right()) return;
  painter.setPen(QPen(scene.theme.text, 1));
  painter.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom()));
  if (const MemoryPoint* point = memoryAt(*scene.memory, *scene.hoverNs)) {
    painter.setBrush(scene.theme.text);
    painter.drawEllipse(QPointF(x, toY(scene, static_cast<double>(point->totalBytes))), 3, 3);
    painter.setBrush(Qt::NoBrush);
  }
}

}  // namespace

QRectF MemoryScene::plot() const {
  return {area.left() + kAxisWidth, area.top() + kTitleHeight,
          std::max(20.0, area.width() - kAxisWidth - (withLegend ? kLegendWidth : 24)),
          std::max(20.0, area.height() - kTitleHeight - kTimeHeight)};
}

QString MemoryScene::placeOf(double ns, double resolutionNs) const {
  if (axis == MemoryAxis::kTime) return formatTime(ns - originNs, resolutionNs);
  return QStringLiteral("event %1").arg(static_cast<qlonglong>(std::floor((ns - originNs) / kEventNs)));
}

std::vector<Tick> eventTicks(const TimeScale& scale, double minGapPx) {
  double step = 1;
  for (int i = 0; step * kEventNs / scale.nsPerPixel() < minGapPx; ++i) step *= i % 3 == 1 ? 2.5 : 2;
  std::vector<Tick> marks;
  for (double event = std::ceil(std::max(scale.span().startNs, 0.0) / kEventNs / step) * step;
       event * kEventNs <= scale.span().endNs; event += step)
    marks.push_back({event * kEventNs, QString::number(event, 'f', 0)});
  return marks;
}

std::optional<TimeSpan> peakSpan(const DeviceMemory& memory, const std::vector<timeline::Step>& steps) {
  const int64_t peak = memory.peak.time.ns();
  for (const timeline::Step& step : steps) {
    if (peak < step.window.startNs || peak >= step.window.endNs) continue;
    const auto first = std::partition_point(memory.points.begin(), memory.points.end(),
                                            [&](const MemoryPoint& p) { return p.time.ns() < step.window.startNs; });
    const auto last = std::partition_point(first, memory.points.end(),
                                           [&](const MemoryPoint& p) { return p.time.ns() < step.window.endNs; });
    if (last - first < 2) return std::nullopt;
    const auto start = static_cast<double>(first->time.ns());
    const auto end = static_cast<double>(std::prev(last)->time.ns());
    const double margin = std::max((end - start) * 0.06, kShortestSpanNs);
    return TimeSpan{start - margin, end + margin};
  }
  return std::nullopt;
}

const MemoryPoint* memoryAt(const DeviceMemory& memory, double ns) {
  const auto after = std::partition_point(memory.points.begin(), memory.points.end(), [ns](const MemoryPoint& point) {
    return static_cast<double>(point.time.ns()) <= ns;
  });
  return after == memory.points.begin() ? nullptr : &*std::prev(after);
}

std::vector<const MemoryPoint*> memoryColumns(const DeviceMemory& memory, const TimeScale& scale, int width) {
  std::vector<const MemoryPoint*> columns(static_cast<size_t>(std::max(width, 0)), nullptr);
  const auto& points = memory.points;
  if (points.empty()) return columns;
  const double last = static_cast<double>(points.back().time.ns());
  size_t next = static_cast<size_t>(std::partition_point(points.begin(), points.end(),
                                                         [&](const MemoryPoint& point) {
                                                           return static_cast<double>(point.time.ns()) <= scale.toNs(0);
                                                         }) -
                                    points.begin());
  for (size_t x = 0; x < columns.size(); ++x) {
    if (scale.toNs(static_cast<double>(x)) > last) break;
    const double end = scale.toNs(static_cast<double>(x) + 1);
    const MemoryPoint* best = next > 0 ? &points[next - 1] : nullptr;
    for (; next < points.size() && static_cast<double>(points[next].time.ns()) < end; ++next) {
      if (!best || points[next].totalBytes > best->totalBytes) best = &points[next];
    }
    columns[x] = best;
  }
  return columns;
}

std::vector<double> byteTicks(double top, int most) {
  double step = 1;
  while (top / step > most) step *= 2;
  // 5, 10, 20, 50, 100, 200 of a unit read better than 4, 8, 64, 128, but 1000 KiB is no MiB: across units the powers
  // of two stay.
  double unit = 1;
  while (unit * 1024 <= step) unit *= 1024;
  if (top < unit * 1024) {
    for (const double multiple : {1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0}) {
      if (top / (multiple * unit) > most) continue;
      step = multiple * unit;
      break;
    }
  }
  std::vector<double> result;
  for (double bytes = 0; bytes <= top; bytes += step) result.push_back(bytes);
  return result;
}

std::vector<MemoryCategory> usedCategories(const DeviceMemory& memory) {
  BytesByCategory most{};
  for (const MemoryPoint& point : memory.points) {
    for (size_t c = 0; c < kMemoryCategoryCount; ++c) most[c] = std::max(most[c], point.bytes[c]);
  }
  std::vector<MemoryCategory> used;
  for (size_t c = 0; c < kMemoryCategoryCount; ++c) {
    if (most[c] > 0) used.push_back(static_cast<MemoryCategory>(c));
  }
  return used;
}

double sharedTop(const std::vector<MemoryScene>& scenes) {
  double top = 0;
  for (const MemoryScene& scene : scenes) top = std::max(top, static_cast<double>(scene.memory->peak.totalBytes) * 1.3);
  const double peaks = top;
  for (const MemoryScene& scene : scenes) {
    const auto capacity = static_cast<double>(scene.capacityBytes.value_or(0));
    // A far capacity would press the chart flat; the title names it all the same.
    if (capacity > 0 && capacity < peaks * 1.6) top = std::max(top, capacity * 1.12);
  }
  return top;
}

void paintMemory(QPainter& painter, const MemoryScene& scene) {
  if (!scene.memory) return;
  const QRectF plot = scene.plot();
  const QFont plain = painter.font();
  QFont bold = plain;
  bold.setBold(true);
  painter.setFont(bold);
  painter.setPen(scene.theme.text);
  painter.drawText(QRectF(plot.left(), scene.area.top(), plot.width(), kTitleHeight - 4), kLine,
                   QFontMetricsF(bold).elidedText(scene.title, Qt::ElideRight, plot.width()));
  painter.setFont(plain);
  paintAxes(painter, scene);
  paintAxisTitle(painter, scene);
  painter.save();
  painter.setClipRect(plot, Qt::IntersectClip);
  const std::vector<Band> bands = bandsOf(scene);
  paintStack(painter, scene, bands);
  paintSteps(painter, scene);
  if (scene.measured) {
    QColor shade = scene.theme.accent;
    shade.setAlphaF(0.12F);
    const double x0 = plot.left() + scene.scale().toPixel(scene.measured->startNs);
    const double x1 = plot.left() + scene.scale().toPixel(scene.measured->endNs);
    painter.fillRect(QRectF(x0, plot.top(), x1 - x0, plot.height()), shade);
  }
  paintCapacity(painter, scene);
  paintHover(painter, scene);
  painter.restore();
  painter.setPen(scene.theme.grid.darker(130));
  painter.drawLine(plot.bottomLeft(), plot.bottomRight());
  painter.drawLine(plot.topLeft(), plot.bottomLeft());
  paintOutOfMemory(painter, scene);
  paintPeak(painter, scene);
  if (scene.withLegend) paintLegend(painter, scene, bands);
}

}  // namespace plumb::gui
