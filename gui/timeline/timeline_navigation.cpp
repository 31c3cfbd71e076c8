// SPDX-License-Identifier: Apache-2.0
// What the timeline does by command, and walking from event to event.
#include <QCursor>
#include <QKeyEvent>
#include <QScrollBar>
#include <algorithm>

#include "gui/timeline/timeline_view.h"

namespace plumb::gui {
namespace {

using timeline::SliceRef;

constexpr double kKeyZoom = 1.5625;
constexpr double kKeyPan = 80;

}  // namespace

void TimelineView::keyPressEvent(QKeyEvent* event) {
  m_foldsItself = false;
  const auto modifiers = event->modifiers() & ~Qt::KeypadModifier;
  auto command = timelineCommand(QKeySequence(event->key() | static_cast<int>(modifiers)));
  // Shift is needed to type some characters, and Caps Lock happens.
  if (!command)
    command = timelineCommand(QKeySequence(event->key() | static_cast<int>(modifiers & ~Qt::ShiftModifier)));
  if (!m_timeline || !command) {
    QAbstractScrollArea::keyPressEvent(event);
    return;
  }
  if (!run(*command)) emit commandRequested(*command);
  event->accept();
}

// The cursor's place, or the middle when it is elsewhere.
double TimelineView::zoomAnchor() const {
  const QRectF plot = scene().plot();
  const double cursor = viewport()->mapFromGlobal(QCursor::pos()).x();
  return viewport()->underMouse() && plot.contains(QPointF(cursor, plot.center().y())) ? cursor : plot.center().x();
}

bool TimelineView::run(Command command) {
  switch (command) {
    case Command::kZoomIn:
      zoomAt(zoomAnchor(), 1 / kKeyZoom);
      return true;
    case Command::kZoomOut:
      zoomAt(zoomAnchor(), kKeyZoom);
      return true;
    case Command::kPanLeft:
      pan(-kKeyPan);
      return true;
    case Command::kPanRight:
      pan(kKeyPan);
      return true;
    case Command::kFitAll:
      m_state.showAll();
      return true;
    case Command::kFitSelection:
      zoomToSelection();
      return true;
    case Command::kPreviousZoom:
      m_state.undo();
      return true;
    case Command::kNextZoom:
      m_state.redo();
      return true;
    case Command::kMeasureSelection:
      measureSelection();
      return true;
    case Command::kClear:
      m_state.select(std::nullopt);
      m_state.measure(std::nullopt);
      return true;
    case Command::kPreviousEvent:
      selectNeighbour(-1);
      return true;
    case Command::kNextEvent:
      selectNeighbour(1);
      return true;
    case Command::kRowAbove:
      selectOtherLane(-1);
      return true;
    case Command::kRowBelow:
      selectOtherLane(1);
      return true;
    default:
      return false;
  }
}

void TimelineView::measureSelection() {
  if (!m_timeline || !m_state.selection()) return;
  const auto& slice = m_timeline->slice(*m_state.selection());
  m_state.measure(TimeSpan{static_cast<double>(slice.startNs), static_cast<double>(slice.endNs())});
}

void TimelineView::selectNeighbour(int offset) {
  if (!m_timeline) return;
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
  if (!m_timeline) return;
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
  m_foldsItself = false;
  if (m_folding.processes.erase(ref.process) + m_folding.tracks.erase({ref.process, ref.track}) > 0) rebuildLayout();
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
  // The name of the rank covers the first row.
  if (top < value + m_layout.metrics().headerHeight || top + m_layout.laneHeight(*row) > value + visible)
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

}  // namespace plumb::gui
