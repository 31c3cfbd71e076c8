// SPDX-License-Identifier: Apache-2.0
// A titled table with its definitions, which says why when it has no rows.
#pragma once
#include <QSortFilterProxyModel>
#include <QWidget>
#include <optional>
#include <vector>

#include "gui/models/table_model.h"

class QLabel;
class QTableView;

namespace plumb::gui {

class TableSection : public QWidget {
  Q_OBJECT

 public:
  TableSection(const QString& title, const QString& definition, QStringList columns, QWidget* parent = nullptr);
  // whyEmpty is shown in place of a table without rows.
  void setRows(std::vector<std::vector<Cell>> rows, const QString& whyEmpty);
  [[nodiscard]] const TableModel& model() const { return m_model; }
  [[nodiscard]] QTableView& view() { return *m_view; }
  // What stands in place of the table; "" : the table is shown.
  [[nodiscard]] QString emptyText() const;
  // The row that the user has chosen, in setRows' order.
  [[nodiscard]] std::optional<size_t> currentRow() const;
  void setCurrentRow(size_t row);
  // Takes no more height than its rows need.
  void fitHeight();

 signals:
  // By a double click or Enter. The row in setRows' order.
  void rowActivated(size_t row);

 private:
  TableModel m_model;
  QSortFilterProxyModel m_sorted;
  QTableView* m_view;
  QLabel* m_empty;
};

// Of a table with its header, all rows and the scroll bar.
[[nodiscard]] int heightOfRows(const QTableView& table);

}  // namespace plumb::gui
