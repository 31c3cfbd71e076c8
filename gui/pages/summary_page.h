// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <QSortFilterProxyModel>
#include <QWidget>
#include <memory>

#include "gui/async/trace_data.h"
#include "gui/models/table_model.h"
#include "gui/state/view_state.h"

class QLabel;
class QTableView;

namespace plumb::gui {

// Where the time went per rank and per step, and what the collectives did.
class SummaryPage : public QWidget {
  Q_OBJECT

 public:
  explicit SummaryPage(ViewState& state, QWidget* parent = nullptr);
  void setData(const std::shared_ptr<const TraceData>& trace);

 signals:
  // The view state's span is that of a step which the user wants to see.
  void timelineRequested();

 private:
  struct Table {
    explicit Table(QStringList columns) : model(std::move(columns)) {}
    TableModel model;
    QSortFilterProxyModel sorted;
    QTableView* view = nullptr;
  };
  void addTable(Table& table, const QString& title, const QString& definition);
  void fillRanks(const TraceData& trace);
  void fillSteps(const TraceData& trace);
  void fillCollectives(const TraceData& trace);

  ViewState& m_state;
  Table m_ranks;
  Table m_steps;
  Table m_collectives;
  std::vector<TimeSpan> m_stepSpans;  // by row of m_steps.model
  QLabel* m_problem;
};

}  // namespace plumb::gui
