// SPDX-License-Identifier: Apache-2.0
#include "gui/models/diagnostic_model.h"

#include <algorithm>

namespace plumb::gui {
namespace {

int weight(const std::string& severity) { return severity == "error" ? 0 : severity == "warning" ? 1 : 2; }

}  // namespace

void DiagnosticModel::setDiagnostics(std::vector<Diagnostic> diagnostics, const std::vector<Process>& processes) {
  beginResetModel();
  m_rows.clear();
  for (Diagnostic& diagnostic : diagnostics) {
    // Without a process: the recorder's, or of a file as a whole that it did not make.
    const bool isOfFile = diagnostic.lane == "import" || diagnostic.lane == "nsight" || diagnostic.lane == "merge";
    QString process = isOfFile ? tr("whole file") : tr("recorder");
    for (const Process& candidate : processes) {
      if (diagnostic.process == candidate.id) process = QString::fromStdString(candidate.label());
    }
    m_rows.push_back({std::move(diagnostic), process});
  }
  std::stable_sort(m_rows.begin(), m_rows.end(), [](const Row& a, const Row& b) {
    return weight(a.diagnostic.severity) < weight(b.diagnostic.severity);
  });
  endResetModel();
}

int DiagnosticModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}
int DiagnosticModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : kColumnCount; }

QVariant DiagnosticModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid) || role != Qt::DisplayRole) return {};
  const Row& row = m_rows[static_cast<size_t>(index.row())];
  switch (index.column()) {
    case kSeverity:
      return QString::fromStdString(row.diagnostic.severity);
    case kProcess:
      return row.process;
    case kLane:
      return QString::fromStdString(row.diagnostic.lane);
    case kCount:
      return static_cast<qlonglong>(row.diagnostic.count);
    case kMessage:
      return QString::fromStdString(row.diagnostic.message);
    default:
      return {};
  }
}

QVariant DiagnosticModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
  switch (section) {
    case kSeverity:
      return tr("severity");
    case kProcess:
      return tr("process");
    case kLane:
      return tr("lane");
    case kCount:
      return tr("count");
    case kMessage:
      return tr("message");
    default:
      return {};
  }
}

}  // namespace plumb::gui
