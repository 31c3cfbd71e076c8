// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <QWidget>
#include <memory>

#include "gui/async/trace_data.h"
#include "gui/models/diagnostic_model.h"
#include "gui/models/field_model.h"
#include "gui/pages/table_section.h"

class QLabel;
class QTableView;

namespace plumb::gui {

// What the recording is, and what is missing or doubtful in it.
class HealthPage : public QWidget {
  Q_OBJECT

 public:
  explicit HealthPage(QWidget* parent = nullptr);
  void setData(const std::shared_ptr<const TraceData>& trace);
  [[nodiscard]] TableSection& clocks() { return *m_clocks; }
  // What stands in place of the diagnostics; "" : there are some.
  [[nodiscard]] QString emptyText() const;

 protected:
  void showEvent(QShowEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void showFacts(const TraceData& trace);
  void fitRows();

  FieldModel m_facts;
  DiagnosticModel m_diagnostics;
  QTableView* m_factTable;
  TableSection* m_clocks;
  QLabel* m_nothingLost;
  QTableView* m_diagnosticTable;
};

}  // namespace plumb::gui
