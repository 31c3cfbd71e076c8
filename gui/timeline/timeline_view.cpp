// SPDX-License-Identifier: Apache-2.0
#include "gui/timeline/timeline_view.h"

#include <QApplication>
#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "gui/timeline/folding.h"

namespace plumb::gui {
namespace {

using timeline::SliceRef;

constexpr double kWheelZoom = 1.25;
constexpr double kWheelPan = 80;
constexpr double kGutterEdge = 4;  // pixels to both sides in which the edge can be grasped

}  // namespace

TimelineView::TimelineView(ViewState& state, QWidget* parent)
    : QAbstractScrollArea(parent), m_state(state), m_theme(Theme::fromPalette(palette())) {
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Timeline"));
  viewport()->setMouseTracking(true);
  setFrameShape(QFrame::NoFrame);
  const auto repaint = [this] { viewport()->update(); };
  connect(&state, &ViewState::spanChanged, this, repaint);
  connect(&state, &ViewState::selectionChanged, this, repaint);
  connect(&state, &ViewState::measuredChanged, this, repaint);
  connect(&state, &ViewState::shown, this, [this] {
    if (m_state.selection()) reveal(*m_state.selection());
  });
  connect(verticalScrollBar(), &QScrollBar::valueChanged, this, repaint);
}

void TimelineView::setTimeline(std::shared_ptr<const timeline::Timeline> timeline) {
  m_timeline = std::move(timeline);
  m_folding = {};
  m_foldsItself = true;
  m_matches.clear();
  m_hovered.reset();
  m_widestLabel = widestLabel();
  verticalScrollBar()->setValue(0);
  rebuildLayout();
}

void TimelineView::setMatches(std::vector<char> matches) {
  m_matches = std::move(matches);
  viewport()->update();
}

void TimelineView::setEmptyText(const QString& text) {
  m_emptyText = text;
  viewport()->update();
}

void TimelineView::setGutterWidth(std::optional<double> width) {
  m_gutterWidth = width;
  viewport()->update();
}

double TimelineView::widestLabel() const {
  double widest = 0;
  if (!m_timeline) return widest;
  const QFontMetricsF metrics(font());
  for (const auto& process : m_timeline->processes) {
    for (const auto& track : process.tracks)
      widest = std::max(widest, metrics.horizontalAdvance(toQString(track.label)));
  }
  return widest;
}

double TimelineView::gutterWidth() const {
  constexpr double kLeast = 60, kBesideLabel = 36;
  const double width = viewport()->width();
  if (m_gutterWidth) return std::clamp(*m_gutterWidth, kLeast, std::max(kLeast, width * 0.6));
  return std::clamp(m_widestLabel + kBesideLabel, 110.0, std::clamp(width * 0.28, 110.0, 340.0));
}

bool TimelineView::isOnGutterEdge(QPointF position) const {
  return m_timeline && std::abs(position.x() - gutterWidth()) <= kGutterEdge;
}

void TimelineView::setFolding(const Folding& folding) {
  m_foldsItself = false;
  m_folding = folding;
  rebuildLayout();
}

TimelineScene TimelineView::scene() const {
  TimelineScene scene;
  scene.timeline = m_timeline.get();
  scene.layout = &m_layout;
  scene.span = m_state.span();
  scene.size = viewport()->size();
  scene.scrollY = verticalScrollBar()->value();
  scene.gutterWidth = gutterWidth();
  scene.emptyText = m_emptyText;
  scene.theme = m_theme;
  scene.selected = m_state.selection();
  scene.hovered = m_hovered;
  scene.marked = &m_state.marked();
  scene.measured = m_state.measured();
  scene.matches = m_matches.empty() ? nullptr : &m_matches;
  return scene;
}

void TimelineView::rebuildLayout() {
  if (m_foldsItself && m_timeline)
    m_folding = foldedAboveStreams(*m_timeline, LayoutMetrics{}, scene().plot().height());
  m_layout = m_timeline ? TrackLayout(*m_timeline, LayoutMetrics{}, m_folding) : TrackLayout();
  updateScrollBar();
  viewport()->update();
}

void TimelineView::updateScrollBar() {
  const double visible = scene().plot().height();
  verticalScrollBar()->setPageStep(static_cast<int>(visible));
  verticalScrollBar()->setSingleStep(20);
  verticalScrollBar()->setRange(0, static_cast<int>(std::ceil(std::max(0.0, m_layout.height() - visible))));
}

void TimelineView::paintEvent(QPaintEvent*) {
  QPainter painter(viewport());
  paintTimeline(painter, scene());
  if (hasFocus()) {
    painter.setPen(QPen(m_theme.accent, 1));
    painter.drawRect(QRectF(viewport()->rect()).adjusted(0.5, 0.5, -0.5, -0.5));
  }
}

void TimelineView::resizeEvent(QResizeEvent* event) {
  QAbstractScrollArea::resizeEvent(event);
  if (m_foldsItself)
    rebuildLayout();
  else
    updateScrollBar();
}

void TimelineView::changeEvent(QEvent* event) {
  QAbstractScrollArea::changeEvent(event);
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::ApplicationPaletteChange) {
    m_theme = Theme::fromPalette(palette());
    viewport()->update();
  }
}

ViewState::History TimelineView::gesture() {
  const bool continues = m_sinceGesture.isValid() && m_sinceGesture.elapsed() < 400;
  m_sinceGesture.restart();
  return continues ? ViewState::History::kContinue : ViewState::History::kNew;
}

void TimelineView::zoomAt(double x, double factor) {
  const TimelineScene current = scene();
  const double inPlot = std::clamp(x - current.gutterWidth, 0.0, current.plot().width());
  m_state.setSpan(zoomed(m_state.span(), factor, current.scale().toNs(inPlot), m_state.limits()), gesture());
}

void TimelineView::pan(double pixels) {
  m_state.setSpan(panned(m_state.span(), pixels * scene().scale().nsPerPixel(), m_state.limits()), gesture());
}

void TimelineView::wheelEvent(QWheelEvent* event) {
  m_foldsItself = false;
  const QPoint degrees = event->angleDelta();
  if (event->modifiers() & Qt::ShiftModifier) {
    pan(-(degrees.y() + degrees.x()) / 120.0 * kWheelPan);
  } else if (event->modifiers() & Qt::AltModifier || event->position().x() < scene().gutterWidth) {
    verticalScrollBar()->setValue(verticalScrollBar()->value() - (degrees.y() + degrees.x()) / 2);
  } else {
    if (degrees.x() != 0) pan(-degrees.x() / 120.0 * kWheelPan);
    if (degrees.y() != 0) zoomAt(event->position().x(), std::pow(kWheelZoom, -degrees.y() / 120.0));
  }
  event->accept();
}

void TimelineView::mousePressEvent(QMouseEvent* event) {
  m_foldsItself = false;
  if (event->button() != Qt::LeftButton || !m_timeline) return;
  m_pressed = m_dragged = event->position();
  const bool measures = event->position().y() < scene().axisHeight || (event->modifiers() & Qt::ShiftModifier);
  m_drag = isOnGutterEdge(event->position()) ? Drag::kGutter : measures ? Drag::kMeasure : Drag::kPending;
  if (m_drag == Drag::kMeasure) m_state.measure(std::nullopt);
}

void TimelineView::mouseMoveEvent(QMouseEvent* event) {
  const QPointF position = event->position();
  const TimelineScene current = scene();
  if (m_drag == Drag::kPending && (position - m_pressed).manhattanLength() >= QApplication::startDragDistance())
    m_drag = Drag::kPan;
  if (m_drag != Drag::kNone) return continueDrag(position);
  viewport()->setCursor(isOnGutterEdge(position)            ? Qt::SplitHCursor
                        : position.y() < current.axisHeight ? Qt::IBeamCursor
                                                            : Qt::ArrowCursor);
  const auto hovered = m_timeline ? current.sliceAt(position) : std::nullopt;
  if (hovered != m_hovered) {
    m_hovered = hovered;
    viewport()->update();
    if (!hovered) QToolTip::hideText();
  }
}

void TimelineView::continueDrag(QPointF position) {
  const TimelineScene current = scene();
  if (m_drag == Drag::kGutter) {
    setGutterWidth(position.x());
  } else if (m_drag == Drag::kPan) {
    pan(m_dragged.x() - position.x());
    verticalScrollBar()->setValue(verticalScrollBar()->value() + static_cast<int>(m_dragged.y() - position.y()));
    m_dragged = position;
    viewport()->setCursor(Qt::ClosedHandCursor);
  } else if (m_drag == Drag::kMeasure) {
    const double a = current.scale().toNs(std::max(0.0, m_pressed.x() - current.gutterWidth));
    const double b = current.scale().toNs(std::max(0.0, position.x() - current.gutterWidth));
    m_state.measure(TimeSpan{std::min(a, b), std::max(a, b)});
  }
}

void TimelineView::mouseDoubleClickEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || !m_timeline) return;
  if (isOnGutterEdge(event->position())) return setGutterWidth(std::nullopt);
  const auto slice = scene().sliceAt(event->position());
  if (!slice) return mousePressEvent(event);
  m_state.select(slice);
  zoomToSelection();
}

void TimelineView::mouseReleaseEvent(QMouseEvent* event) {
  const Drag drag = m_drag;
  m_drag = Drag::kNone;
  viewport()->setCursor(Qt::ArrowCursor);
  if (event->button() != Qt::LeftButton || drag != Drag::kPending || !m_timeline) return;
  const TimelineScene current = scene();
  const Row* row = current.rowAt(event->position());
  if (row && (row->kind == RowKind::kProcess || event->position().x() < current.gutterWidth)) {
    fold(*row);
    return;
  }
  m_state.select(current.sliceAt(event->position()));
}

void TimelineView::fold(const Row& row) {
  if (row.kind == RowKind::kProcess) {
    if (!m_folding.processes.erase(row.process)) m_folding.processes.insert(row.process);
  } else if (!m_folding.tracks.erase({row.process, row.track})) {
    m_folding.tracks.insert({row.process, row.track});
  }
  rebuildLayout();
}

QString TimelineView::tipAt(QPointF position) const {
  if (!m_timeline) return {};
  const TimelineScene current = scene();
  if (const auto ref = current.sliceAt(position)) return describe(*m_timeline, *ref, current.originNs);
  const Row* row = current.rowAt(position);
  if (!row || (row->kind == RowKind::kTrack && position.x() >= current.gutterWidth)) return {};
  const auto& process = m_timeline->processes[row->process];
  const QString label = toQString(process.label);
  return row->kind == RowKind::kProcess ? label : toQString(process.tracks[row->track].label) + '\n' + label;
}

bool TimelineView::showTip(QPoint position, QPoint globalPosition) {
  if (!m_timeline) return false;
  const QString text = tipAt(position);
  if (text.isEmpty()) {
    QToolTip::hideText();
  } else {
    // Names come from the trace: without escaping, a tooltip would take "<b>" for markup.
    QToolTip::showText(globalPosition, "<p style='white-space:pre'>" + text.toHtmlEscaped() + "</p>", viewport());
  }
  return true;
}

bool TimelineView::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    return showTip(help->pos(), help->globalPos());
  }
  if (event->type() == QEvent::Leave && m_hovered) {
    m_hovered.reset();
    viewport()->update();
  }
  return QAbstractScrollArea::viewportEvent(event);
}

}  // namespace plumb::gui
