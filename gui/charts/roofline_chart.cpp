// SPDX-License-Identifier: Apache-2.0
#include "gui/charts/roofline_chart.h"

#include <QFontMetricsF>
#include <QPainterPath>
#include <QStringList>
#include <algorithm>
#include <cmath>
#include <set>

#include "gui/charts/roofline_labels.h"
#include "gui/timeline/time_scale.h"

namespace plumb::gui {
namespace {

constexpr double kLeft = 92;
constexpr double kBottom = 66;
constexpr double kTop = 40;
constexpr double kRight = 285;  // the roofs' names
constexpr int kLine = static_cast<int>(Qt::AlignVCenter) | static_cast<int>(Qt::TextSingleLine);

QString toText(std::string_view text) { return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())); }
bool isMemory(const Roof& roof) { return roof.resource == "memory"; }
// Links, whose roofs are bytes per second and have no place in the plot.
bool isNetwork(const Roof& roof) {
  return roof.resource == "network" || roof.resource == "nvlink" || roof.resource == "pcie";
}

const Roof* memoryRoof(const DeviceRoofline& roofline) { return roofline.roof("memory"); }

// "1", "10", "100 k", "0.01"
QString decadeText(double value) { return value >= 1000 ? formatSi(value) : QString::number(value); }

void paintAxes(QPainter& painter, const RooflineScene& scene) {
  const QRectF plot = scene.plot();
  const LogAxis x = scene.xAxis();
  const LogAxis y = scene.yAxis();
  const QFontMetricsF metrics(painter.font());
  QColor faint = scene.theme.grid;
  faint.setAlphaF(0.5F);
  for (const double decade : x.decades()) {
    for (int i = 2; i < 10; ++i) {
      const double px = plot.left() + x.toPixel(decade * i);
      if (px > plot.right()) break;
      painter.setPen(faint);
      painter.drawLine(QPointF(px, plot.top()), QPointF(px, plot.bottom()));
    }
    const double px = plot.left() + x.toPixel(decade);
    painter.setPen(scene.theme.grid);
    painter.drawLine(QPointF(px, plot.top()), QPointF(px, plot.bottom()));
    painter.setPen(scene.theme.mutedText);
    painter.drawText(QRectF(px - 40, plot.bottom() + 4, 80, 18), Qt::AlignCenter, decadeText(decade));
  }
  for (const double decade : y.decades()) {
    for (int i = 2; i < 10; ++i) {
      const double py = plot.bottom() - y.toPixel(decade * i);
      if (py < plot.top()) break;
      painter.setPen(faint);
      painter.drawLine(QPointF(plot.left(), py), QPointF(plot.right(), py));
    }
    const double py = plot.bottom() - y.toPixel(decade);
    painter.setPen(scene.theme.grid);
    painter.drawLine(QPointF(plot.left(), py), QPointF(plot.right(), py));
    painter.setPen(scene.theme.mutedText);
    painter.drawText(QRectF(scene.area.left() + 18, py - 9, kLeft - 26, 18), kLine | static_cast<int>(Qt::AlignRight),
                     formatSi(decade));
  }
  painter.setPen(scene.theme.text);
  painter.drawText(QRectF(plot.center().x() - 250, plot.bottom() + 21, 500, 18), Qt::AlignCenter,
                   QStringLiteral("arithmetic intensity [FLOP / byte of device memory]"));
  painter.save();
  painter.translate(scene.area.left() + metrics.height(), plot.center().y());
  painter.rotate(-90);
  painter.drawText(QRectF(-plot.height() / 2, -metrics.height() / 2 - 4, plot.height(), 18), Qt::AlignCenter,
                   QStringLiteral("attained [FLOP/s]"));
  painter.restore();
}

struct RoofLabel {
  double lineY;
  double y;  // middle of the text
  QString text;
  QColor color;
};

// Beside the plot, at the height of their roofs; roofs that lie close together get labels one below the other.
void paintRoofLabels(QPainter& painter, const RooflineScene& scene, std::vector<RoofLabel> labels) {
  const QRectF plot = scene.plot();
  const double line = QFontMetricsF(painter.font()).height() + 2;
  std::sort(labels.begin(), labels.end(), [](const RoofLabel& a, const RoofLabel& b) { return a.lineY < b.lineY; });
  double middle = 0;
  for (const RoofLabel& label : labels) middle += label.lineY / static_cast<double>(labels.size());
  // Spread around their common middle, and never above the picture.
  double free = std::max(plot.top() - 10, std::min(labels.empty() ? 0.0 : labels.front().lineY - line / 2,
                                                   middle - line * static_cast<double>(labels.size()) / 2));
  for (RoofLabel& label : labels) {
    label.y = std::max(label.lineY, free + line / 2);
    free = label.y + line / 2;
  }
  for (const RoofLabel& label : labels) {
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(label.color, 1));
    painter.drawLine(QPointF(plot.right() + 1, label.lineY), QPointF(plot.right() + 16, label.y));
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.drawText(QRectF(plot.right() + 19, label.y - line / 2, scene.area.right() - plot.right() - 19, line), kLine,
                     label.text);
  }
}

void paintRoofs(QPainter& painter, const RooflineScene& scene, const RooflineLabels& placed) {
  std::vector<RoofLabel> labels;
  painter.setRenderHint(QPainter::Antialiasing);
  for (const Roof& roof : scene.roofline->roofs) {
    const auto ceiling = scene.ceiling(roof), slope = scene.slope(roof);
    if (!ceiling && !slope) continue;
    const QColor color =
        slope ? scene.theme.text : scene.theme.dtype(roof.resource).darker(scene.theme.dark ? 90 : 120);
    painter.setPen(QPen(color, 1.6, roof.source == RoofSource::Measured ? Qt::SolidLine : Qt::DashLine));
    painter.drawLine(slope ? *slope : *ceiling);
  }
  for (const size_t beside : placed.roofsBeside) {
    const Roof& roof = scene.roofline->roofs[beside];
    const double end = scene.slope(roof)->y2();
    labels.push_back({end, end, roofText(roof), scene.theme.text});
  }
  painter.setRenderHint(QPainter::Antialiasing, false);
  for (const Roof& roof : scene.roofline->roofs) {
    const auto ceiling = scene.ceiling(roof);
    if (!ceiling) continue;
    const QColor color =
        scene.theme.dark ? scene.theme.dtype(roof.resource).lighter(120) : scene.theme.dtype(roof.resource).darker(140);
    labels.push_back({ceiling->y2(), ceiling->y2(), roofText(roof), color});
  }
  paintRoofLabels(painter, scene, std::move(labels));
}

void paintPoints(QPainter& painter, const RooflineScene& scene) {
  const auto& points = scene.roofline->points;
  painter.setRenderHint(QPainter::Antialiasing);
  // Large ones first, so that small ones are not hidden; the list is sorted by duration.
  for (size_t i = 0; i < points.size(); ++i) {
    const auto at = scene.position(points[i]);
    if (!at) continue;
    const double radius = scene.radius(points[i]);
    QColor fill = scene.theme.dtype(points[i].precision);
    const bool flagged = points[i].verdict == Verdict::AboveRoof;
    const bool chosen = scene.selected == static_cast<int>(i) || scene.hovered == static_cast<int>(i);
    fill.setAlphaF(0.72F);
    painter.setBrush(fill);
    painter.setPen(QPen(flagged ? scene.theme.marker : scene.theme.background, flagged ? 2.2 : 1));
    if (points[i].source == WorkSource::Shape) {
      painter.drawEllipse(*at, radius, radius);
    } else {
      painter.drawPolygon(QPolygonF({*at + QPointF(0, -radius * 1.25), *at + QPointF(radius * 1.25, 0),
                                     *at + QPointF(0, radius * 1.25), *at + QPointF(-radius * 1.25, 0)}));
    }
    if (!chosen) continue;
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(scene.theme.accent, 2));
    painter.drawEllipse(*at, radius + 4, radius + 4);
  }
  painter.setBrush(Qt::NoBrush);
  painter.setRenderHint(QPainter::Antialiasing, false);
}

void paintLabels(QPainter& painter, const RooflineScene& scene, const RooflineLabels& labels) {
  painter.setPen(scene.theme.text);
  for (const SlopeLabel& label : labels.slopes) {
    painter.save();
    painter.translate(label.origin);
    painter.rotate(label.degrees);
    painter.drawText(label.box, kLine, label.text);
    painter.restore();
  }
  for (const NumberLabel& label : labels.numbers) {
    const auto& point = scene.roofline->points[static_cast<size_t>(label.point)];
    if (const auto at = scene.position(point); at && label.isFar) {
      QLineF leader(*at, label.box.center());
      leader.setP1(leader.pointAt(std::min(1.0, scene.radius(point) / leader.length())));
      leader.setLength(std::max(0.0, leader.length() - std::max(label.box.width(), label.box.height()) / 2));
      painter.setRenderHint(QPainter::Antialiasing);
      painter.setPen(QPen(scene.theme.mutedText, 0.8));
      painter.drawLine(leader);
      painter.setRenderHint(QPainter::Antialiasing, false);
    }
    painter.setPen(scene.theme.text);
    painter.drawText(label.box, Qt::AlignCenter, QString::number(label.point + 1));
  }
}

void paintLegend(QPainter& painter, const RooflineScene& scene) {
  const QRectF plot = scene.plot();
  const QFontMetricsF metrics(painter.font());
  double x = plot.left();
  const double y = plot.bottom() + 44;
  const auto text = [&](const QString& label, double after) {
    painter.setPen(scene.theme.text);
    painter.drawText(QRectF(x, y, metrics.horizontalAdvance(label) + 4, 18), kLine, label);
    x += metrics.horizontalAdvance(label) + after;
  };
  std::set<std::string> precisions;
  std::set<WorkSource> sources;
  bool flagged = false;
  for (const RooflinePoint& point : scene.roofline->points) {
    if (!scene.position(point)) continue;
    precisions.insert(point.precision);
    sources.insert(point.source);
    flagged |= point.verdict == Verdict::AboveRoof;
  }
  for (const std::string& precision : precisions) {
    painter.fillRect(QRectF(x, y + 4, 11, 11), scene.theme.dtype(precision));
    x += 16;
    text(toText(precision.empty() ? std::string("unknown") : precision), 16);
  }
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setBrush(scene.theme.mutedText);
  painter.setPen(Qt::NoPen);
  if (sources.contains(WorkSource::Shape)) {
    painter.drawEllipse(QPointF(x + 5, y + 9.5), 5, 5);
    x += 16;
    text(QStringLiteral("library call (FLOPs from its shape)"), 16);
  }
  if (sources.contains(WorkSource::Declared)) {
    painter.setPen(Qt::NoPen);
    painter.setBrush(scene.theme.mutedText);
    painter.drawPolygon(QPolygonF({{x + 6, y + 3}, {x + 12, y + 9}, {x + 6, y + 15}, {x, y + 9}}));
    x += 18;
    text(QStringLiteral("declared by the program (NVTX)"), 16);
  }
  if (flagged) {
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(scene.theme.marker, 2.2));
    painter.drawEllipse(QPointF(x + 5, y + 9.5), 5, 5);
    x += 16;
    text(QStringLiteral("above a roof: check the inputs, or calibrate again"), 16);
  }
  painter.setBrush(Qt::NoBrush);
  painter.setRenderHint(QPainter::Antialiasing, false);
  if (!sources.empty()) text(QStringLiteral("area: total time"), 0);
}

}  // namespace

QString roofText(const Roof& roof) {
  const QString unit = isMemory(roof)     ? QStringLiteral("memory %1B/s")
                       : roof.tensorCores ? QStringLiteral("%2 tensor cores %1FLOP/s")
                                          : QStringLiteral("%2 %1FLOP/s");
  const QString rate = unit.arg(formatSi(roof.perSecond));
  return (isMemory(roof) ? rate : rate.arg(toText(roof.resource))) +
         QStringLiteral(" (%1)").arg(toText(nameOf(roof.source)));
}

LogAxis::LogAxis(double low, double high, double length)
    : m_low(low), m_high(std::max(high, low * 10)), m_length(length) {}

double LogAxis::toPixel(double value) const {
  if (value <= 0) return 0;
  return (std::log10(value) - std::log10(m_low)) / (std::log10(m_high) - std::log10(m_low)) * m_length;
}

double LogAxis::toValue(double pixel) const { return m_low * std::pow(m_high / m_low, pixel / m_length); }

std::vector<double> LogAxis::decades() const {
  std::vector<double> result;
  const int first = static_cast<int>(std::ceil(std::log10(m_low) - 1e-9));
  const int last = static_cast<int>(std::floor(std::log10(m_high) + 1e-9));
  for (int exponent = first; exponent <= last; ++exponent) result.push_back(std::pow(10.0, exponent));
  return result;
}

QRectF RooflineScene::plot() const {
  return {area.left() + kLeft, area.top() + kTop, std::max(50.0, area.width() - kLeft - kRight),
          std::max(50.0, area.height() - kTop - kBottom)};
}

LogAxis RooflineScene::xAxis() const {
  double low = 0.1;
  double high = 100;
  const Roof* memory = memoryRoof(*roofline);
  for (const RooflinePoint& point : roofline->points) {
    if (!point.intensity || *point.intensity <= 0) continue;
    low = std::min(low, *point.intensity / 1.5);
    high = std::max(high, *point.intensity * 1.5);
  }
  for (const Roof& roof : roofline->roofs) {
    if (memory && !isMemory(roof) && !isNetwork(roof) && memory->perSecond > 0)
      high = std::max(high, roof.perSecond / memory->perSecond * 4);
  }
  return {std::max(low, 1e-6), std::min(high, 1e9), plot().width()};
}

LogAxis RooflineScene::yAxis() const {
  double low = 1e30;
  double high = 0;
  for (const RooflinePoint& point : roofline->points) {
    if (!point.flopsPerSecond || !point.intensity || *point.flopsPerSecond <= 0) continue;
    low = std::min(low, *point.flopsPerSecond / 3);
    high = std::max(high, *point.flopsPerSecond * 2);
  }
  for (const Roof& roof : roofline->roofs) {
    if (isMemory(roof) || isNetwork(roof) || roof.perSecond <= 0) continue;
    high = std::max(high, roof.perSecond * 2.5);
    low = std::min(low, roof.perSecond / 30);
  }
  if (high <= 0) return {1e6, 1e12, plot().height()};
  return {std::max(low, high * 1e-9), high, plot().height()};
}

std::optional<QPointF> RooflineScene::position(const RooflinePoint& point) const {
  if (!point.intensity || !point.flopsPerSecond || *point.intensity <= 0 || *point.flopsPerSecond <= 0)
    return std::nullopt;
  return QPointF(plot().left() + xAxis().toPixel(*point.intensity),
                 plot().bottom() - yAxis().toPixel(*point.flopsPerSecond));
}

std::optional<QLineF> RooflineScene::ceiling(const Roof& roof) const {
  if (isMemory(roof) || isNetwork(roof) || roof.perSecond <= 0) return std::nullopt;
  const QRectF inside = plot();
  const Roof* memory = memoryRoof(*roofline);
  const double ridge =
      memory ? std::clamp(xAxis().toPixel(roof.perSecond / memory->perSecond), 0.0, inside.width()) : 0;
  const double y = inside.bottom() - yAxis().toPixel(roof.perSecond);
  return QLineF(inside.left() + ridge, y, inside.right(), y);
}

std::optional<QLineF> RooflineScene::slope(const Roof& roof) const {
  if (!isMemory(roof) || roof.perSecond <= 0) return std::nullopt;
  double highest = 0;
  for (const Roof& other : roofline->roofs) {
    if (!isMemory(other) && !isNetwork(other)) highest = std::max(highest, other.perSecond);
  }
  const LogAxis x = xAxis(), y = yAxis();
  const double x0 = std::max(x.low(), y.low() / roof.perSecond);
  const double x1 = std::min(x.high(), (highest > 0 ? highest : y.high()) / roof.perSecond);
  if (x1 <= x0) return std::nullopt;
  return QLineF(plot().left() + x.toPixel(x0), plot().bottom() - y.toPixel(x0 * roof.perSecond),
                plot().left() + x.toPixel(x1), plot().bottom() - y.toPixel(x1 * roof.perSecond));
}

double RooflineScene::radius(const RooflinePoint& point) const {
  const auto longest = roofline->points.empty()
                           ? 1.0
                           : static_cast<double>(std::max<int64_t>(1, roofline->points.front().duration.ns()));
  return std::max(3.5, 20 * std::sqrt(static_cast<double>(point.duration.ns()) / longest));
}

std::optional<int> RooflineScene::pointAt(QPointF at) const {
  // Small ones are on top.
  for (size_t i = roofline->points.size(); i-- > 0;) {
    const auto center = position(roofline->points[i]);
    if (!center) continue;
    const QPointF offset = at - *center;
    const double reach = radius(roofline->points[i]) + 2;
    if (offset.x() * offset.x() + offset.y() * offset.y() <= reach * reach) return static_cast<int>(i);
  }
  return std::nullopt;
}

void paintRoofline(QPainter& painter, const RooflineScene& scene) {
  if (!scene.roofline) return;
  const QRectF plot = scene.plot();
  paintAxes(painter, scene);
  painter.save();
  painter.setClipRect(plot.adjusted(0, -14, kRight, 10), Qt::IntersectClip);
  const RooflineLabels labels = placeLabels(scene, QFontMetricsF(painter.font()));
  paintRoofs(painter, scene, labels);
  paintPoints(painter, scene);
  paintLabels(painter, scene, labels);
  painter.restore();
  painter.setPen(scene.theme.grid.darker(130));
  painter.drawLine(plot.bottomLeft(), plot.bottomRight());
  painter.drawLine(plot.topLeft(), plot.bottomLeft());
  paintLegend(painter, scene);
  if (scene.roofline->points.empty()) {
    painter.setPen(scene.theme.text);
    painter.drawText(plot.adjusted(plot.width() / 2, 0, -12, -12), Qt::AlignRight | Qt::AlignBottom | Qt::TextWordWrap,
                     QStringLiteral("No FLOPs are known: %1.").arg(toText(scene.roofline->howToKnowFlops)));
  }
  QStringList notes;
  if (scene.softwareDevice) notes << QStringLiteral("software device (CPU): times are CPU time, not a GPU's");
  if (scene.roofline->roofs.empty()) {
    const bool canMeasure = scene.roofline->howToKnowRoofs.starts_with("measure");
    notes << (canMeasure
                  ? QStringLiteral("no roofs known for this device: run plumb calibrate and record again")
                  : QStringLiteral("no roofs known for this device: plumb report roofline takes them with --peak"));
  }
  const double known = static_cast<double>(scene.roofline->knownDuration.ns());
  const double unknown = static_cast<double>(scene.roofline->unknownDuration.ns());
  if (known + unknown > 0)
    notes << QStringLiteral("FLOPs are known for %1 % of the compute kernels' time")
                 .arg(known / (known + unknown) * 100, 0, 'f', 0);
  const auto absent = std::count_if(scene.roofline->points.begin(), scene.roofline->points.end(),
                                    [&](const RooflinePoint& point) { return !scene.position(point); });
  if (absent > 0) notes << QStringLiteral("not drawn: %1 without FLOPs or bytes").arg(absent);
  if (labels.numbersLeftOut > 0) notes << QStringLiteral("%1 of the numbers have no room").arg(labels.numbersLeftOut);
  painter.setPen(scene.theme.mutedText);
  const QRectF above(plot.left(), scene.area.top(), scene.area.right() - plot.left(), kTop - 8);
  painter.drawText(
      above, Qt::AlignLeft | Qt::AlignTop | Qt::TextWordWrap,
      QFontMetricsF(painter.font()).elidedText(notes.join(QStringLiteral(" · ")), Qt::ElideRight, 1.9 * above.width()));
}

std::string titleOf(const RooflinePoint& point) {
  return point.operation.empty() || point.operation == point.name ? point.name : point.operation + " · " + point.name;
}

QString describe(const DeviceRoofline&, const RooflinePoint& point) {
  QStringList lines;
  lines << toText(titleOf(point));
  lines << QStringLiteral("%1 kernels in %2 calls, %3 in all")
               .arg(point.kernelCount)
               .arg(point.count)
               .arg(formatDuration(static_cast<double>(point.duration.ns())));
  if (point.flopsPerSecond) lines << QStringLiteral("%1FLOP/s attained").arg(formatSi(*point.flopsPerSecond));
  if (point.bytesPerSecond) lines << QStringLiteral("%1B/s attained").arg(formatSi(*point.bytesPerSecond));
  if (point.intensity) lines << QStringLiteral("%1 FLOP/byte").arg(*point.intensity, 0, 'g', 3);
  if (point.computeShare)
    lines
        << QStringLiteral("%1 % of the %2 roof").arg(*point.computeShare * 100, 0, 'f', 1).arg(toText(point.precision));
  if (point.memoryShare) lines << QStringLiteral("%1 % of the memory roof").arg(*point.memoryShare * 100, 0, 'f', 1);
  lines << QStringLiteral("%1 (FLOPs: %2)").arg(toText(nameOf(point.verdict)), toText(nameOf(point.source)));
  if (!point.reason.empty()) lines << toText(point.reason);
  return lines.join('\n');
}

}  // namespace plumb::gui
