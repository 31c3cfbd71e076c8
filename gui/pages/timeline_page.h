// SPDX-License-Identifier: Apache-2.0
// Timeline, search and details, wired to the view state.
#pragma once
#include <QWidget>
#include <memory>

#include "gui/async/trace_data.h"
#include "gui/pages/details_pane.h"
#include "gui/state/search.h"
#include "gui/state/view_state.h"
#include "gui/timeline/legend.h"
#include "gui/timeline/timeline_view.h"

class QLabel;
class QLineEdit;

namespace plumb::gui {

class TimelinePage : public QWidget {
  Q_OBJECT

 public:
  explicit TimelinePage(ViewState& state, QWidget* parent = nullptr);
  void setData(std::shared_ptr<const TraceData> trace);
  [[nodiscard]] TimelineView& view() { return *m_view; }
  [[nodiscard]] DetailsPane& details() { return *m_details; }
  [[nodiscard]] QLineEdit& searchBox() { return *m_searchBox; }
  void findNext(int direction);

 private:
  void searchChanged();

  ViewState& m_state;
  std::shared_ptr<const TraceData> m_data;
  SearchResult m_found;
  QLineEdit* m_searchBox;
  QLabel* m_searchLabel;
  TimelineView* m_view;
  LegendBar* m_legend;
  DetailsPane* m_details;
};

}  // namespace plumb::gui
