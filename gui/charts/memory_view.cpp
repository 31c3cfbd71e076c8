// SPDX-License-Identifier: Apache-2.0
#include "gui/charts/memory_view.h"

#include <QEvent>
#include <QMouseEvent>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

namespace plumb::gui {
namespace {

constexpr int kPanelHeight = 200;
constexpr int kMargin = 8;

}  // namespace

MemoryView::MemoryView(QWidget* parent) : QWidget(parent) {
  setMouseTracking(true);
  setAccessibleName(tr("Memory chart"));
}

void MemoryView::setScenes(std::vector<MemoryScene> scenes) {
  m_scenes = std::move(scenes);
  const double top = sharedTop(m_scenes);
  for (MemoryScene& scene : m_scenes) scene.topBytes = top;
  m_hoverNs.reset();
  setMinimumHeight(minimumSizeHint().height());
  updateGeometry();
  update();
}

void MemoryView::setSpan(TimeSpan span) {
  m_span = span;
  update();
}

void MemoryView::setMeasured(std::optional<TimeSpan> span) {
  m_measured = span;
  update();
}

QSize MemoryView::minimumSizeHint() const {
  return {480, kPanelHeight * std::max(1, static_cast<int>(m_scenes.size())) + 2 * kMargin};
}

MemoryScene MemoryView::placed(size_t index) const {
  MemoryScene scene = m_scenes[index];
  const double panel = (height() - 2.0 * kMargin) / static_cast<double>(m_scenes.size());
  scene.area = QRectF(kMargin, kMargin + panel * static_cast<double>(index), width() - 2.0 * kMargin, panel - 6);
  scene.span = m_span;
  scene.theme = Theme::fromPalette(palette());
  scene.hoverNs = m_hoverNs;
  scene.measured = m_measured;
  return scene;
}

void MemoryView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), Theme::fromPalette(palette()).background);
  for (size_t i = 0; i < m_scenes.size(); ++i) paintMemory(painter, placed(i));
}

void MemoryView::mouseMoveEvent(QMouseEvent* event) {
  if (m_scenes.empty()) return;
  const MemoryScene scene = placed(0);
  const double x = event->position().x() - scene.plot().left();
  if (event->buttons() & Qt::LeftButton) {
    emit panRequested((m_pressedX - event->position().x()) * scene.scale().nsPerPixel());
    m_pressedX = event->position().x();
    return;
  }
  m_hoverNs = x >= 0 && x <= scene.plot().width() ? std::optional<double>(scene.scale().toNs(x)) : std::nullopt;
  update();
}

void MemoryView::mousePressEvent(QMouseEvent* event) { m_pressedX = event->position().x(); }

void MemoryView::leaveEvent(QEvent*) {
  m_hoverNs.reset();
  update();
}

void MemoryView::wheelEvent(QWheelEvent* event) {
  // Ctrl zooms, since the plain wheel scrolls through the ranks.
  if (m_scenes.empty() || !(event->modifiers() & Qt::ControlModifier)) {
    event->ignore();
    return;
  }
  const MemoryScene scene = placed(0);
  emit zoomRequested(std::pow(1.25, -event->angleDelta().y() / 120.0),
                     scene.scale().toNs(event->position().x() - scene.plot().left()));
  event->accept();
}

}  // namespace plumb::gui
