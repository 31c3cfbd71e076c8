// SPDX-License-Identifier: Apache-2.0
#include "gui/pages/summary_page.h"
#include "tests/gui/window_fixture.h"

namespace plumb::test {
namespace {

using namespace plumb::gui;

class Summary : public WindowTest {};

TEST_F(Summary, TellsSpanAndStartToStartOfSteps) {
  openSample();
  const TableModel& times = m_window.summaryPage().stepTimes().model();
  const TableModel& steps = m_window.summaryPage().steps().model();
  const auto cell = [](const TableModel& table, const char* column, int row) {
    for (int i = 0; i < table.columnCount(); ++i) {
      if (table.headerData(i, Qt::Horizontal).toString() == QLatin1String(column))
        return table.data(table.index(row, i)).toString();
    }
    return QStringLiteral("no such column");
  };
  const RankSteps& rank = m_window.data()->steps.front();
  ASSERT_TRUE(rank.statistics && rank.startToStart && rank.steps.front().startToStart);
  const auto textOf = [](Duration duration) { return formatDuration(static_cast<double>(duration.ns())); };
  EXPECT_EQ(times.rowCount(), 2);
  EXPECT_EQ(cell(times, "median", 0), textOf(rank.statistics->median));
  EXPECT_EQ(cell(times, "of", 0), "GPU span");
  EXPECT_EQ(cell(times, "start to start", 0), textOf(rank.startToStart->median));
  EXPECT_EQ(cell(steps, "start to start", 0), textOf(*rank.steps.front().startToStart));
  EXPECT_EQ(cell(steps, "start to start", 2), "–");

  m_window.state().select(timeline::SliceRef{0, 0, 0, 0});
  ASSERT_EQ(timelineShown().slice({0, 0, 0, 0}).kind, timeline::SliceKind::kStep);
  const FieldModel& fields = page().details().fields();
  QStringList told;
  for (int row = 0; row < fields.rowCount(); ++row) {
    told << fields.data(fields.index(row, FieldModel::kName)).toString() + " = " +
                fields.data(fields.index(row, FieldModel::kValue)).toString();
  }
  EXPECT_TRUE(told.contains("GPU span = " + textOf(rank.steps.front().gpu->span))) << told.join('\n').toStdString();
  EXPECT_TRUE(told.contains("start to start = " + textOf(*rank.steps.front().startToStart)));
}

}  // namespace
}  // namespace plumb::test
