// SPDX-License-Identifier: Apache-2.0
#include "gui/models/field_model.h"

namespace plumb::gui {

void FieldModel::setFields(std::vector<Field> fields) {
  beginResetModel();
  m_fields = std::move(fields);
  endResetModel();
}

int FieldModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(m_fields.size());
}
int FieldModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : kColumnCount; }

QVariant FieldModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const Field& field = m_fields[static_cast<size_t>(index.row())];
  // Long values are cut in the table. Values come from the trace, and a tooltip would read markup in them.
  if (role == Qt::ToolTipRole) return QString("<p>" + field.second.toHtmlEscaped() + "</p>");
  if (role != Qt::DisplayRole) return {};
  return index.column() == kName ? field.first : field.second;
}

QVariant FieldModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
  return section == kName ? tr("field") : tr("value");
}

}  // namespace plumb::gui
