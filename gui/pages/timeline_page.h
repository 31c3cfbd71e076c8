// SPDX-License-Identifier: Apache-2.0
// Timeline, search and details, wired to the view state.
#pragma once
#include <QWidget>
#include <memory>

#include "gui/async/trace_data.h"
#include "gui/pages/details_pane.h"
#include "gui/pages/step_list.h"
#include "gui/state/search.h"
#include "gui/state/view_state.h"
#include "gui/timeline/legend.h"
#include "gui/timeline/timeline_view.h"

class QHBoxLayout;
class QLabel;
class QLineEdit;
class QSpinBox;

namespace plumb::gui {

class TimelinePage : public QWidget {
  Q_OBJECT

 public:
  explicit TimelinePage(ViewState& state, QWidget* parent = nullptr);
  // The same timeline with more beside it keeps the selection and what is folded.
  void setData(std::shared_ptr<const TraceData> trace);
  [[nodiscard]] TimelineView& view() { return *m_view; }
  [[nodiscard]] DetailsPane& details() { return *m_details; }
  [[nodiscard]] QLineEdit& searchBox() { return *m_searchBox; }
  void findNext(int direction);
  [[nodiscard]] const std::vector<StepSpan>& steps() const { return m_steps; }
  // Shows the step of that number; false when there is none.
  bool goToStep(int64_t number);
  // From the step in the middle of the view.
  void moveByStep(int direction);
  [[nodiscard]] QString searchText() const;
  // What has to be known to read the timeline, such as that the ranks' times cannot be compared; "" when nothing.
  [[nodiscard]] QString note() const;

 private:
  QHBoxLayout* makeBar();
  void showSteps();
  void showStep();
  void searchChanged();

  ViewState& m_state;
  std::shared_ptr<const TraceData> m_data;
  SearchResult m_found;
  std::vector<StepSpan> m_steps;
  QLineEdit* m_searchBox;
  QLabel* m_searchLabel;
  QLabel* m_note;
  QSpinBox* m_stepBox;
  TimelineView* m_view;
  LegendBar* m_legend;
  DetailsPane* m_details;
};

}  // namespace plumb::gui
