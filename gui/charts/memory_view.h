// SPDX-License-Identifier: Apache-2.0
// The memory chart as a widget: one panel a device and rank, all with one scale.
#pragma once
#include <QWidget>
#include <optional>
#include <vector>

#include "gui/charts/memory_chart.h"

namespace plumb::gui {

class MemoryView : public QWidget {
  Q_OBJECT

 public:
  explicit MemoryView(QWidget* parent = nullptr);

  // What the scenes point to must live as long as they are shown.
  void setScenes(std::vector<MemoryScene> scenes);
  void setSpan(TimeSpan span);
  void setMeasured(std::optional<TimeSpan> span);
  [[nodiscard]] QSize minimumSizeHint() const override;

 signals:
  void zoomRequested(double factor, double anchorNs);
  void panRequested(double offsetNs);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;

 private:
  [[nodiscard]] MemoryScene placed(size_t index) const;

  std::vector<MemoryScene> m_scenes;
  TimeSpan m_span;
  std::optional<TimeSpan> m_measured;
  std::optional<double> m_hoverNs;
  double m_pressedX = 0;
};

}  // namespace plumb::gui
