// SPDX-License-Identifier: Apache-2.0
// Everything that the recording holds about the selected slice, and what it is linked to.
#pragma once
#include <QWidget>
#include <memory>
#include <vector>

#include "gui/async/job.h"
#include "gui/async/trace_data.h"
#include "gui/models/field_model.h"
#include "gui/state/view_state.h"

class QLabel;
class QListWidget;
class QTableView;

namespace plumb::gui {

class DetailsPane : public QWidget {
  Q_OBJECT

 public:
  explicit DetailsPane(ViewState& state, QWidget* parent = nullptr);
  void setData(std::shared_ptr<const TraceData> trace);
  [[nodiscard]] const FieldModel& fields() const { return m_fields; }

 signals:
  void revealRequested(const plumb::timeline::SliceRef& slice);

 private:
  void showSelection();
  void addStepTimes(int64_t range);
  void readFields(const timeline::Slice& slice);

  ViewState& m_state;
  std::shared_ptr<const TraceData> m_data;
  JobRunner m_jobs;
  FieldModel m_fields;
  std::vector<FieldModel::Field> m_basics;
  std::vector<timeline::SliceRef> m_linked;
  QLabel* m_title;
  QLabel* m_linkTitle;
  QTableView* m_table;
  QListWidget* m_links;
};

}  // namespace plumb::gui
