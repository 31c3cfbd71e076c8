// SPDX-License-Identifier: Apache-2.0
#include "gui/timeline/timeline_view.h"

#include <QApplication>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

namespace plumb::gui {
namespace {

using timeline::SliceRef;

constexpr double kZoomStep = 1.25;
constexpr double kPanPixels = 80;

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
  connect(verticalScrollBar(), &QScrollBar::valueChanged, this, repaint);
}

void TimelineView::setTimeline(std::shared_ptr<const timeline::Timeline> timeline) {
  m_timeline = std::move(timeline);
  m_folding = {};
  m_matches.clear();
  m_hovered.reset();
  verticalScrollBar()->setValue(0);
  rebuildLayout();
}

void TimelineView::setMatches(std::vector<char> matches) {
  m_matches = std::move(matches);
  viewport()->update();
}

void TimelineView::setFolding(const Folding& folding) {
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
  scene.gutterWidth = std::min(210.0, std::max(90.0, viewport()->width() * 0.25));
  scene.theme = m_theme;
  scene.selected = m_state.selection();
  scene.hovered = m_hovered;
  scene.measured = m_state.measured();
  scene.matches = m_matches.empty() ? nullptr : &m_matches;
  return scene;
}

void TimelineView::rebuildLayout() {
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
  const QPoint degrees = event->angleDelta();
  if (event->modifiers() & Qt::ShiftModifier) {
    pan(-(degrees.y() + degrees.x()) / 120.0 * kPanPixels);
  } else if (event->modifiers() & Qt::AltModifier || event->position().x() < scene().gutterWidth) {
    verticalScrollBar()->setValue(verticalScrollBar()->value() - (degrees.y() + degrees.x()) / 2);
  } else {
    if (degrees.x() != 0) pan(-degrees.x() / 120.0 * kPanPixels);
    if (degrees.y() != 0) zoomAt(event->position().x(), std::pow(kZoomStep, -degrees.y() / 120.0));
  }
  event->accept();
}

void TimelineView::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || !m_timeline) return;
  m_pressed = m_dragged = event->position();
  m_drag = event->position().y() < scene().axisHeight ? Drag::kMeasure : Drag::kPending;
  if (m_drag == Drag::kMeasure) m_state.measure(std::nullopt);
}

void TimelineView::mouseMoveEvent(QMouseEvent* event) {
  const QPointF position = event->position();
  const TimelineScene current = scene();
  if (m_drag == Drag::kPending && (position - m_pressed).manhattanLength() >= QApplication::startDragDistance())
    m_drag = Drag::kPan;
  if (m_drag == Drag::kPan) {
    pan(m_dragged.x() - position.x());
    verticalScrollBar()->setValue(verticalScrollBar()->value() + static_cast<int>(m_dragged.y() - position.y()));
    m_dragged = position;
    viewport()->setCursor(Qt::ClosedHandCursor);
    return;
  }
  if (m_drag == Drag::kMeasure) {
    const double a = current.scale().toNs(std::max(0.0, m_pressed.x() - current.gutterWidth));
    const double b = current.scale().toNs(std::max(0.0, position.x() - current.gutterWidth));
    m_state.measure(TimeSpan{std::min(a, b), std::max(a, b)});
    return;
  }
  viewport()->setCursor(position.y() < current.axisHeight ? Qt::IBeamCursor : Qt::ArrowCursor);
  const auto hovered = m_timeline ? current.sliceAt(position) : std::nullopt;
  if (hovered != m_hovered) {
    m_hovered = hovered;
    viewport()->update();
    if (!hovered) QToolTip::hideText();
  }
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

void TimelineView::keyPressEvent(QKeyEvent* event) {
  if (!m_timeline || event->modifiers() & (Qt::ControlModifier | Qt::AltModifier | Qt::MetaModifier)) {
    QAbstractScrollArea::keyPressEvent(event);
    return;
  }
  const double middle = scene().plot().center().x();
  const double cursor = viewport()->mapFromGlobal(QCursor::pos()).x();
  const double anchor =
      viewport()->underMouse() && scene().plot().contains(QPointF(cursor, scene().plot().center().y())) ? cursor
                                                                                                        : middle;
  switch (event->key()) {
    case Qt::Key_W:
      zoomAt(anchor, 1 / (kZoomStep * kZoomStep));
      break;
    case Qt::Key_S:
      zoomAt(anchor, kZoomStep * kZoomStep);
      break;
    case Qt::Key_A:
      pan(-kPanPixels);
      break;
    case Qt::Key_D:
      pan(kPanPixels);
      break;
    case Qt::Key_F:
      zoomToSelection();
      break;
    case Qt::Key_Home:
      m_state.showAll();
      break;
    case Qt::Key_Backspace:
      m_state.undo();
      break;
    case Qt::Key_Left:
      selectNeighbour(-1);
      break;
    case Qt::Key_Right:
      selectNeighbour(1);
      break;
    case Qt::Key_Up:
      selectOtherLane(-1);
      break;
    case Qt::Key_Down:
      selectOtherLane(1);
      break;
    case Qt::Key_Escape:
      m_state.select(std::nullopt);
      m_state.measure(std::nullopt);
      break;
    default:
      QAbstractScrollArea::keyPressEvent(event);
      return;
  }
  event->accept();
}

void TimelineView::selectNeighbour(int offset) {
  if (!m_state.selection()) return selectOtherLane(1);
  SliceRef ref = *m_state.selection();
  const auto& slices = m_timeline->track(ref).lanes[ref.lane].slices;
  const int64_t index = static_cast<int64_t>(ref.index) + offset;
  if (index < 0 || index >= static_cast<int64_t>(slices.size())) return;
  ref.index = static_cast<uint32_t>(index);
  m_state.select(ref);
  reveal(ref);
}

// The slice nearest in time in the lane above or below, over all tracks that are shown.
void TimelineView::selectOtherLane(int direction) {
  std::vector<SliceRef> lanes;
  for (const Row& row : m_layout.rows()) {
    if (row.kind != RowKind::kTrack) continue;
    const auto& track = m_timeline->processes[row.process].tracks[row.track];
    for (uint32_t lane = 0; lane < track.lanes.size(); ++lane) lanes.push_back({row.process, row.track, lane, 0});
  }
  if (lanes.empty()) return;
  const auto& selection = m_state.selection();
  int64_t at = direction > 0 ? -1 : static_cast<int64_t>(lanes.size());
  double ns = (m_state.span().startNs + m_state.span().endNs) / 2;
  if (selection) {
    SliceRef lane = *selection;
    lane.index = 0;
    const auto found = std::find(lanes.begin(), lanes.end(), lane);
    if (found != lanes.end()) at = found - lanes.begin();
    const auto& slice = m_timeline->slice(*selection);
    ns = static_cast<double>(slice.startNs) + static_cast<double>(slice.durationNs) / 2;
  }
  at += direction;
  if (at < 0 || at >= static_cast<int64_t>(lanes.size())) return;
  SliceRef next = lanes[static_cast<size_t>(at)];
  const auto& slices = m_timeline->track(next).lanes[next.lane].slices;
  const auto after = std::partition_point(
      slices.begin(), slices.end(), [ns](const timeline::Slice& s) { return static_cast<double>(s.startNs) <= ns; });
  next.index = static_cast<uint32_t>(std::max<int64_t>(0, (after - slices.begin()) - 1));
  m_state.select(next);
  reveal(next);
}

void TimelineView::reveal(const SliceRef& ref) {
  if (!m_timeline) return;
  if (m_folding.processes.erase(ref.process)) rebuildLayout();
  const auto& slice = m_timeline->slice(ref);
  const auto start = static_cast<double>(slice.startNs);
  const auto end = static_cast<double>(slice.endNs());
  const TimeSpan& span = m_state.span();
  if (end < span.startNs || start > span.endNs) {
    const double middle = (start + end) / 2;
    const double half = std::max(span.length(), (end - start) * 1.2) / 2;
    m_state.setSpan({middle - half, middle + half});
  }
  const Row* row = m_layout.trackRow(ref.process, ref.track);
  if (!row) return;
  const double top = m_layout.laneTop(*row, ref.lane);
  const double visible = scene().plot().height();
  const int value = verticalScrollBar()->value();
  if (top < value || top + m_layout.laneHeight(*row) > value + visible)
    verticalScrollBar()->setValue(static_cast<int>(top - visible / 3));
}

void TimelineView::zoomToSelection() {
  if (!m_timeline) return;
  if (m_state.selection()) {
    const auto& slice = m_timeline->slice(*m_state.selection());
    const double length = std::max<double>(static_cast<double>(slice.durationNs), kShortestSpanNs);
    const auto start = static_cast<double>(slice.startNs);
    m_state.setSpan({start - length * 0.1, start + length * 1.1});
  } else if (m_state.measured()) {
    m_state.setSpan(*m_state.measured());
  }
}

bool TimelineView::showTip(QPoint position, QPoint globalPosition) {
  if (!m_timeline) return false;
  const TimelineScene current = scene();
  QString text;
  if (const auto ref = current.sliceAt(position)) {
    text = describe(*m_timeline, *ref, current.originNs);
  } else if (const Row* row = current.rowAt(position); row && position.x() < current.gutterWidth) {
    const auto& process = m_timeline->processes[row->process];
    text = toQString(row->kind == RowKind::kProcess ? process.label : process.tracks[row->track].label);
  }
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
