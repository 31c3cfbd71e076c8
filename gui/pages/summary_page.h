// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <QWidget>
#include <memory>

#include "gui/async/trace_data.h"
#include "gui/pages/table_section.h"
#include "gui/state/view_state.h"

class QLabel;

namespace plumb::gui {

// Where the time went per rank and per step.
class SummaryPage : public QWidget {
  Q_OBJECT

 public:
  explicit SummaryPage(ViewState& state, QWidget* parent = nullptr);
  void setData(const std::shared_ptr<const TraceData>& trace);
  [[nodiscard]] TableSection& ranks() { return *m_ranks; }
  [[nodiscard]] TableSection& stepTimes() { return *m_stepTimes; }
  [[nodiscard]] TableSection& steps() { return *m_steps; }

 private:
  void fillRanks(const TraceData& trace);
  void fillStepTimes(const TraceData& trace);
  void fillSteps(const TraceData& trace);

  ViewState& m_state;
  TableSection* m_ranks;
  TableSection* m_stepTimes;
  TableSection* m_steps;
  std::vector<TimeSpan> m_stepSpans;  // by row of m_steps
  QLabel* m_problem;
};

}  // namespace plumb::gui
