// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <QAbstractTableModel>
#include <vector>

#include "analyzer/trace/trace.h"

namespace plumb::gui {

// What was lost, failed or is doubtful in a recording; errors first.
class DiagnosticModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kSeverity, kProcess, kLane, kCount, kMessage, kColumnCount };

  explicit DiagnosticModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}
  void setDiagnostics(std::vector<Diagnostic> diagnostics, const std::vector<Process>& processes);

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role = Qt::DisplayRole) const override;

 private:
  struct Row {
    Diagnostic diagnostic;
    QString process;
  };
  std::vector<Row> m_rows;
};

}  // namespace plumb::gui
