// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <QWidget>
#include <memory>

#include "gui/async/trace_data.h"
#include "gui/pages/table_section.h"
#include "gui/state/view_state.h"

class QLabel;

namespace plumb::gui {

// What the run hangs in, and what the collectives did.
class CollectivesPage : public QWidget {
  Q_OBJECT

 public:
  explicit CollectivesPage(ViewState& state, QWidget* parent = nullptr);
  void setData(const std::shared_ptr<const TraceData>& trace);
  [[nodiscard]] TableSection& stuck() { return *m_stuck; }
  [[nodiscard]] QString clockNote() const;
  [[nodiscard]] TableSection& collectives() { return *m_collectives; }

 private:
  void fillStuck(const TraceData& trace);
  void fillCollectives(const TraceData& trace);
  void reveal(size_t row);

  ViewState& m_state;
  std::shared_ptr<const TraceData> m_data;
  QLabel* m_verdict;
  QLabel* m_clockNote;
  TableSection* m_stuck;
  TableSection* m_collectives;
};

}  // namespace plumb::gui
