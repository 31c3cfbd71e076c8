// SPDX-License-Identifier: Apache-2.0
#include "gui/charts/roofline_labels.h"

#include <QLineF>
#include <QTransform>
#include <algorithm>
#include <array>

namespace plumb::gui {
namespace {

constexpr double kLineHeight = 18;  // of a slope's name
constexpr double kFromSlope = 3;

// What is taken of the plot.
class Room {
 public:
  explicit Room(const QRectF& plot) : m_plot(plot) {}
  void take(const QPolygonF& outline) { m_taken.push_back(outline); }
  // Takes it, if it is free.
  [[nodiscard]] bool claim(const QPolygonF& outline) {
    const QRectF bounds = outline.boundingRect();
    if (!m_plot.contains(bounds)) return false;
    const auto covers = [&](const QPolygonF& other) {
      return other.boundingRect().intersects(bounds) && other.intersects(outline);
    };
    if (std::ranges::any_of(m_taken, covers)) return false;
    take(outline);
    return true;
  }

 private:
  QRectF m_plot;
  std::vector<QPolygonF> m_taken;
};

QPolygonF bandAround(const QLineF& line) {
  QLineF across = line.normalVector();
  across.setLength(1);
  const QPointF side(across.dx(), across.dy());
  return QPolygonF({line.p1() - side, line.p1() + side, line.p2() + side, line.p2() - side});
}

bool placeSlope(const QLineF& line, double width, Room& room, SlopeLabel& label) {
  constexpr double kStep = 16;
  label.degrees = -line.angle();
  for (const double top : {-kFromSlope - kLineHeight, kFromSlope}) {
    for (double along = 0.04 * line.length(); along + width + 4 <= line.length(); along += kStep) {
      label.origin = line.pointAt(along / line.length());
      label.box = QRectF(4, top, width, kLineHeight);
      if (room.claim(label.outline())) return true;
    }
  }
  return false;
}

// Beside its point, else farther away.
bool placeNumber(QPointF center, double radius, const QSizeF& size, Room& room, NumberLabel& label) {
  static constexpr std::array<std::pair<double, double>, 8> kDirections{
      {{1, 0}, {-1, 0}, {0, -1}, {0, 1}, {0.7, -0.7}, {-0.7, -0.7}, {0.7, 0.7}, {-0.7, 0.7}}};
  for (const double distance : {3.0, 16.0, 32.0}) {
    for (const auto& [right, down] : kDirections) {
      const double reach = radius + distance;
      QRectF box(QPointF(0, 0), size);
      box.moveCenter(center + QPointF(right * (reach + size.width() / 2), down * (reach + size.height() / 2)));
      if (!room.claim(box)) continue;
      label.box = box;
      label.isFar = distance > 3;
      return true;
    }
  }
  return false;
}

}  // namespace

QPolygonF SlopeLabel::outline() const {
  return QTransform().translate(origin.x(), origin.y()).rotate(degrees).map(QPolygonF(box));
}

RooflineLabels placeLabels(const RooflineScene& scene, const QFontMetricsF& metrics) {
  RooflineLabels labels;
  Room room(scene.plot());
  const auto& points = scene.roofline->points;
  for (const RooflinePoint& point : points) {
    const auto at = scene.position(point);
    const double radius = scene.radius(point);
    if (at) room.take(QRectF(at->x() - radius, at->y() - radius, 2 * radius, 2 * radius));
  }
  for (const Roof& roof : scene.roofline->roofs) {
    for (const auto& line : {scene.slope(roof), scene.ceiling(roof)}) {
      if (line) room.take(bandAround(*line));
    }
  }
  for (size_t i = 0; i < scene.roofline->roofs.size(); ++i) {
    const auto line = scene.slope(scene.roofline->roofs[i]);
    if (!line) continue;
    SlopeLabel label{i, roofText(scene.roofline->roofs[i]), {}, 0, {}};
    if (placeSlope(*line, metrics.horizontalAdvance(label.text) + 2, room, label))
      labels.slopes.push_back(label);
    else
      labels.roofsBeside.push_back(i);
  }
  for (size_t i = 0; i < points.size() && static_cast<int>(i) < scene.numbered; ++i) {
    const auto at = scene.position(points[i]);
    if (!at) continue;
    NumberLabel label{static_cast<int>(i), {}, false};
    const QSizeF size(metrics.horizontalAdvance(QString::number(i + 1)) + 2, metrics.height() - 2);
    if (placeNumber(*at, scene.radius(points[i]), size, room, label))
      labels.numbers.push_back(label);
    else
      ++labels.numbersLeftOut;
  }
  return labels;
}

}  // namespace plumb::gui
