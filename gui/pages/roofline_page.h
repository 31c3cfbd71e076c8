// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <QSortFilterProxyModel>
#include <QWidget>
#include <memory>

#include "gui/async/trace_data.h"
#include "gui/charts/roofline_view.h"
#include "gui/models/point_model.h"
#include "gui/state/view_state.h"

class QComboBox;
class QLabel;
class QSplitter;
class QTableView;

namespace plumb::gui {

// Roofline and its table for one rank; a selection in one is a selection in the other.
class RooflinePage : public QWidget {
  Q_OBJECT

 public:
  explicit RooflinePage(ViewState& state, QWidget* parent = nullptr);
  void setData(std::shared_ptr<const TraceData> trace);
  [[nodiscard]] QString note() const;

 private:
  void showDevice(int index);

  ViewState& m_state;
  std::shared_ptr<const TraceData> m_data;
  PointModel m_points;
  QSortFilterProxyModel m_sorted;
  QComboBox* m_devices;
  QLabel* m_note;
  RooflineView* m_view;
  QTableView* m_table;
  QSplitter* m_splitter;
};

}  // namespace plumb::gui
