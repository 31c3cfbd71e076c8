// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <QAbstractTableModel>
#include <vector>

#include "analyzer/analyses/roofline.h"

namespace plumb::gui {

// The points of a roofline as a table; a row is a point, in the analysis' order. Qt::UserRole gives numbers to sort by.
class PointModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column {
    kNumber,
    kOperation,
    kKernel,
    kPrecision,
    kTime,
    kShare,
    kIntensity,
    kRate,
    kRoofShare,
    kVerdict,
    kSource,
    kColumnCount
  };

  explicit PointModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}
  // Copies what it shows.
  void setRoofline(const DeviceRoofline& roofline);
  void clear();

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role = Qt::DisplayRole) const override;

 private:
  [[nodiscard]] QVariant number(const RooflinePoint& point, int row, int column) const;
  [[nodiscard]] QString text(const RooflinePoint& point, int row, int column) const;

  std::vector<RooflinePoint> m_points;
  double m_totalNs = 0;
};

}  // namespace plumb::gui
