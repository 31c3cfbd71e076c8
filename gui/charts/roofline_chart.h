// SPDX-License-Identifier: Apache-2.0
// The roofline: kernels as points over the device's roofs, both axes logarithmic. Geometry is pure; painting goes to
// any QPaintDevice.
#pragma once
#include <QLineF>
#include <QPainter>
#include <QRectF>
#include <optional>
#include <vector>

#include "analyzer/analyses/roofline.h"
#include "gui/timeline/theme.h"

namespace plumb::gui {

// A logarithmic axis: value <-> position in [0, length].
class LogAxis {
 public:
  LogAxis(double low, double high, double length);
  [[nodiscard]] double toPixel(double value) const;
  [[nodiscard]] double toValue(double pixel) const;
  [[nodiscard]] double low() const { return m_low; }
  [[nodiscard]] double high() const { return m_high; }
  // The powers of ten within.
  [[nodiscard]] std::vector<double> decades() const;

 private:
  double m_low;
  double m_high;
  double m_length;
};

struct RooflineScene {
  const DeviceRoofline* roofline = nullptr;
  bool softwareDevice = false;
  QRectF area;
  Theme theme = Theme::light();
  std::optional<int> hovered;  // index into roofline->points
  std::optional<int> selected;
  int numbered = 10;  // so many of the longest points carry their number in the table

  [[nodiscard]] QRectF plot() const;
  [[nodiscard]] LogAxis xAxis() const;  // FLOP / byte
  [[nodiscard]] LogAxis yAxis() const;  // FLOP / s
  // Only points with an intensity and a rate have a place.
  [[nodiscard]] std::optional<QPointF> position(const RooflinePoint& point) const;
  // The line of a compute roof, from where memory is the limit no more; none of other roofs.
  [[nodiscard]] std::optional<QLineF> ceiling(const Roof& roof) const;
  // The line of a memory roof, from left to right, up to the highest compute roof; none of other roofs.
  [[nodiscard]] std::optional<QLineF> slope(const Roof& roof) const;
  [[nodiscard]] double radius(const RooflinePoint& point) const;
  [[nodiscard]] std::optional<int> pointAt(QPointF at) const;
};

void paintRoofline(QPainter& painter, const RooflineScene& scene);

// "cublasGemmEx · gemm_bf16_128x64": what was called and the kernel that did it.
[[nodiscard]] std::string titleOf(const RooflinePoint& point);

// Several lines of plain text about a point.
[[nodiscard]] QString describe(const DeviceRoofline& roofline, const RooflinePoint& point);

}  // namespace plumb::gui
