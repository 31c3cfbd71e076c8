// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <QAbstractTableModel>
#include <QString>
#include <optional>
#include <vector>

namespace plumb::gui {

// A cell reads as its text and sorts by its number, if it has one.
struct Cell {
  QString text;
  std::optional<double> number;
};

// A table that was computed elsewhere. Qt::UserRole gives what to sort by.
class TableModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  explicit TableModel(QStringList columns, QObject* parent = nullptr)
      : QAbstractTableModel(parent), m_columns(std::move(columns)) {}
  // Every row has as many cells as there are columns.
  void setRows(std::vector<std::vector<Cell>> rows);

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role = Qt::DisplayRole) const override;

 private:
  QStringList m_columns;
  std::vector<std::vector<Cell>> m_rows;
};

}  // namespace plumb::gui
