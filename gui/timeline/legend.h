// SPDX-License-Identifier: Apache-2.0
// Which colour means what, for the kinds that a timeline has.
#pragma once
#include <QPainter>
#include <QString>
#include <QWidget>
#include <vector>

#include "analyzer/analyses/timeline_data.h"
#include "gui/timeline/theme.h"

namespace plumb::gui {

struct LegendEntry {
  timeline::SliceKind kind;
  QString text;
};

// Looks at every slice once: keep the answer.
[[nodiscard]] std::vector<LegendEntry> legendOf(const timeline::Timeline& timeline);

// From left to right, wrapped within width. Returns the height taken.
double paintLegend(QPainter& painter, const std::vector<LegendEntry>& entries, const Theme& theme, QPointF topLeft,
                   double width);

// The legend below the window's timeline.
class LegendBar : public QWidget {
  Q_OBJECT

 public:
  explicit LegendBar(QWidget* parent = nullptr);
  void setEntries(std::vector<LegendEntry> entries);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  std::vector<LegendEntry> m_entries;
};

}  // namespace plumb::gui
