// SPDX-License-Identifier: Apache-2.0
// Where the texts inside a roofline's plot stand, so that none covers another, a point or a roof. Pure.
#pragma once
#include <QFontMetricsF>
#include <QPointF>
#include <QPolygonF>
#include <QRectF>
#include <QString>
#include <vector>

#include "gui/charts/roofline_chart.h"

namespace plumb::gui {

// The number of a point.
struct NumberLabel {
  int point = 0;  // index into the roofline's points; the number is one more
  QRectF box;
  bool isFar = false;  // a line leads to its point
};

// The name of a memory roof, along its line.
struct SlopeLabel {
  size_t roof = 0;  // index into the roofline's roofs
  QString text;
  QPointF origin;  // of coordinates that are turned by degrees, in which box is upright
  double degrees = 0;
  QRectF box;

  [[nodiscard]] QPolygonF outline() const;
};

struct RooflineLabels {
  std::vector<SlopeLabel> slopes;
  std::vector<size_t> roofsBeside;  // memory roofs whose names have no room on their lines
  std::vector<NumberLabel> numbers;
  int numbersLeftOut = 0;
};

[[nodiscard]] RooflineLabels placeLabels(const RooflineScene& scene, const QFontMetricsF& metrics);

// "memory 3.35 TB/s (datasheet)"
[[nodiscard]] QString roofText(const Roof& roof);

}  // namespace plumb::gui
