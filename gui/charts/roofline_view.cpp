// SPDX-License-Identifier: Apache-2.0
#include "gui/charts/roofline_view.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QToolTip>

namespace plumb::gui {

RooflineView::RooflineView(QWidget* parent) : QWidget(parent) {
  setMouseTracking(true);
  setMinimumSize(420, 300);
  setAccessibleName(tr("Roofline chart"));
}

void RooflineView::setRoofline(const DeviceRoofline* roofline, bool softwareDevice) {
  m_roofline = roofline;
  m_softwareDevice = softwareDevice;
  m_hovered.reset();
  m_selected.reset();
  update();
}

void RooflineView::setSelected(std::optional<int> point) {
  m_selected = point;
  update();
}

RooflineScene RooflineView::scene() const {
  RooflineScene scene;
  scene.roofline = m_roofline;
  scene.softwareDevice = m_softwareDevice;
  scene.area = QRectF(rect()).adjusted(6, 6, -6, -6);
  scene.theme = Theme::fromPalette(palette());
  scene.hovered = m_hovered;
  scene.selected = m_selected;
  return scene;
}

void RooflineView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), Theme::fromPalette(palette()).background);
  paintRoofline(painter, scene());
}

void RooflineView::mouseMoveEvent(QMouseEvent* event) {
  const auto hovered = m_roofline ? scene().pointAt(event->position()) : std::nullopt;
  if (hovered == m_hovered) return;
  m_hovered = hovered;
  update();
}

void RooflineView::mousePressEvent(QMouseEvent* event) {
  if (!m_roofline || event->button() != Qt::LeftButton) return;
  m_selected = scene().pointAt(event->position());
  emit selected(m_selected.value_or(-1));
  update();
}

void RooflineView::leaveEvent(QEvent*) {
  m_hovered.reset();
  update();
}

bool RooflineView::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const auto point = m_roofline ? scene().pointAt(help->pos()) : std::nullopt;
  if (!point) {
    QToolTip::hideText();
    return true;
  }
  const QString text = describe(*m_roofline, m_roofline->points[static_cast<size_t>(*point)]);
  QToolTip::showText(help->globalPos(), "<p style='white-space:pre'>" + text.toHtmlEscaped() + "</p>", this);
  return true;
}

}  // namespace plumb::gui
