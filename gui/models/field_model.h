// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <QAbstractTableModel>
#include <QString>
#include <utility>
#include <vector>

namespace plumb::gui {

// Names and values of one thing.
class FieldModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kName, kValue, kColumnCount };
  using Field = std::pair<QString, QString>;

  explicit FieldModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}
  void setFields(std::vector<Field> fields);

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role = Qt::DisplayRole) const override;

 private:
  std::vector<Field> m_fields;
};

}  // namespace plumb::gui
