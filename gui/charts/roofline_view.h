// SPDX-License-Identifier: Apache-2.0
// The roofline as a widget: hover and selection of points.
#pragma once
#include <QWidget>
#include <optional>

#include "gui/charts/roofline_chart.h"

namespace plumb::gui {

class RooflineView : public QWidget {
  Q_OBJECT

 public:
  explicit RooflineView(QWidget* parent = nullptr);

  // The roofline must live as long as it is shown; null: nothing.
  void setRoofline(const DeviceRoofline* roofline, bool softwareDevice);
  void setSelected(std::optional<int> point);

 signals:
  void selected(int point);  // -1: none

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  bool event(QEvent* event) override;

 private:
  [[nodiscard]] RooflineScene scene() const;

  const DeviceRoofline* m_roofline = nullptr;
  bool m_softwareDevice = false;
  std::optional<int> m_hovered;
  std::optional<int> m_selected;
};

}  // namespace plumb::gui
