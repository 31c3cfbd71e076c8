// SPDX-License-Identifier: Apache-2.0
#include "gui/models/table_model.h"

namespace plumb::gui {

void TableModel::setRows(std::vector<std::vector<Cell>> rows) {
  beginResetModel();
  m_rows = std::move(rows);
  endResetModel();
}

int TableModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}
int TableModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(m_columns.size());
}

QVariant TableModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const Cell& cell = m_rows[static_cast<size_t>(index.row())][static_cast<size_t>(index.column())];
  if (role == Qt::DisplayRole) return cell.text;
  // Long texts are cut in the table. They come from the trace, and a tooltip would read markup in them.
  if (role == Qt::ToolTipRole && !cell.number) return QString("<p>" + cell.text.toHtmlEscaped() + "</p>");
  if (role == Qt::UserRole) return cell.number ? QVariant(*cell.number) : QVariant(cell.text);
  if (role == Qt::TextAlignmentRole && cell.number)
    return QVariant::fromValue(Qt::Alignment(Qt::AlignRight | Qt::AlignVCenter));
  return {};
}

QVariant TableModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole || section >= m_columns.size()) return {};
  return m_columns[section];
}

}  // namespace plumb::gui
