// SPDX-License-Identifier: Apache-2.0
// The timeline as a widget: turns input into changes of ViewState and paints what it says.
#pragma once
#include <QAbstractScrollArea>
#include <QElapsedTimer>
#include <memory>
#include <optional>
#include <vector>

#include "gui/state/commands.h"
#include "gui/state/view_state.h"
#include "gui/timeline/timeline_painter.h"

namespace plumb::gui {

class TimelineView : public QAbstractScrollArea {
  Q_OBJECT

 public:
  explicit TimelineView(ViewState& state, QWidget* parent = nullptr);

  // Shows a timeline; null: nothing.
  void setTimeline(std::shared_ptr<const timeline::Timeline> timeline);
  // By name index: 1 keeps its colour; empty: no search.
  void setMatches(std::vector<char> matches);
  // Brings the selected slice into view: scrolls to its track and moves the time span if it lies outside.
  void reveal(const timeline::SliceRef& ref);
  // Fits the selection, or without one the measured span.
  void zoomToSelection();
  // What stands in the plot when the timeline has no slices.
  void setEmptyText(const QString& text);
  // Does what concerns the timeline; false: it is nothing of the timeline's.
  bool run(Command command);
  // Of the names, in pixels; none: as the names need.
  void setGutterWidth(std::optional<double> width);
  void setFolding(const Folding& folding);
  [[nodiscard]] const Folding& folding() const { return m_folding; }
  [[nodiscard]] TimelineScene scene() const;
  // What a tooltip at a point of the viewport says; "" : nothing.
  [[nodiscard]] QString tipAt(QPointF position) const;

 signals:
  // A key of the timeline's that means something elsewhere.
  void commandRequested(plumb::gui::Command command);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void changeEvent(QEvent* event) override;
  bool viewportEvent(QEvent* event) override;

 private:
  enum class Drag { kNone, kPending, kPan, kMeasure, kGutter };

  void rebuildLayout();
  void updateScrollBar();
  void zoomAt(double x, double factor);
  void pan(double pixels);
  [[nodiscard]] double zoomAnchor() const;
  void measureSelection();
  [[nodiscard]] double gutterWidth() const;
  [[nodiscard]] bool isOnGutterEdge(QPointF position) const;
  [[nodiscard]] double widestLabel() const;
  void continueDrag(QPointF position);
  // Several steps of one gesture within a short time become one entry of the zoom history.
  ViewState::History gesture();
  void selectNeighbour(int offset);
  void selectOtherLane(int direction);
  bool showTip(QPoint position, QPoint globalPosition);
  void fold(const Row& row);

  ViewState& m_state;
  std::shared_ptr<const timeline::Timeline> m_timeline;
  Folding m_folding;
  bool m_foldsItself = true;  // until the user does something: to show device work in the height that there is
  TrackLayout m_layout;
  Theme m_theme;
  std::vector<char> m_matches;
  QString m_emptyText;
  double m_widestLabel = 0;
  std::optional<double> m_gutterWidth;  // as the user dragged it
  std::optional<timeline::SliceRef> m_hovered;
  Drag m_drag = Drag::kNone;
  QPointF m_pressed;
  QPointF m_dragged;
  QElapsedTimer m_sinceGesture;
};

}  // namespace plumb::gui
