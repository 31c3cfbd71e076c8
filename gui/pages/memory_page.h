// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <QWidget>
#include <memory>

#include "gui/async/trace_data.h"
#include "gui/charts/memory_view.h"
#include "gui/state/view_state.h"

class QLabel;
class QScrollArea;

namespace plumb::gui {

// Memory per device and rank, over the same time span as the timeline.
class MemoryPage : public QWidget {
  Q_OBJECT

 public:
  explicit MemoryPage(ViewState& state, QWidget* parent = nullptr);
  void setData(std::shared_ptr<const TraceData> trace);
  [[nodiscard]] QString note() const;

 private:
  ViewState& m_state;
  std::shared_ptr<const TraceData> m_data;
  QLabel* m_note;
  QScrollArea* m_scroll;
  MemoryView* m_view;
};

}  // namespace plumb::gui
