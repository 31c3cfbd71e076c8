// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <QWidget>
#include <memory>

#include "gui/async/trace_data.h"
#include "gui/models/diagnostic_model.h"
#include "gui/models/field_model.h"

class QTableView;

namespace plumb::gui {

// What the recording is, and what is missing or doubtful in it.
class HealthPage : public QWidget {
  Q_OBJECT

 public:
  explicit HealthPage(QWidget* parent = nullptr);
  void setData(const std::shared_ptr<const TraceData>& trace);

 private:
  FieldModel m_facts;
  DiagnosticModel m_diagnostics;
  QTableView* m_factTable;
  QTableView* m_diagnosticTable;
};

}  // namespace plumb::gui
