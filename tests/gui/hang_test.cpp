// SPDX-License-Identifier: Apache-2.0
// What the window shows of a run that hung or was killed.
#include <QPushButton>
#include <QTableView>

#include "gui/pages/collectives_page.h"
#include "tests/gui/window_fixture.h"

namespace plumb::test {
namespace {

using namespace plumb::gui;
using timeline::SliceKind;

constexpr int64_t kMs = 1'000'000;

class Hang : public WindowTest {
 protected:
  // A flight recorder's dumps of two ranks: both completed the first collective; rank 1 never called the second.
  static void dumpHang(TraceBuilder& builder) {
    for (int64_t rank = 0; rank < 2; ++rank) {
      const int64_t process = builder.addRank(rank, 2), thread = builder.addThread(process);
      const int64_t communicator = builder.addCommunicator(process, 9, 2, rank, "");
      builder.execute("INSERT INTO communicator_state VALUES(" + std::to_string(communicator) + ", " +
                      std::to_string(builder.text("7")) + ", " + std::to_string(builder.text("DATA")) +
                      ", NULL, NULL, NULL)");
      for (int64_t member = 0; member < 2; ++member)
        builder.execute("INSERT INTO communicator_member VALUES(" + std::to_string(communicator) + ", " +
                        std::to_string(member) + ", " + std::to_string(member) + ")");
      for (int64_t sequence = 1; sequence <= (rank == 1 ? 1 : 2); ++sequence) {
        const int64_t id = builder.addCollective({.process = process,
                                                  .thread = thread,
                                                  .communicator = communicator,
                                                  .startNs = sequence * kMs,
                                                  .sequence = sequence});
        builder.execute(
            "INSERT INTO collective_state(collective_id, name_id, state, input_sizes_id, output_sizes_id)"
            " VALUES(" +
            std::to_string(id) + ", " + std::to_string(builder.text("nccl:all_reduce")) + ", '" +
            (sequence == 1 ? "completed" : "started") + "', " + std::to_string(builder.text("16")) + ", " +
            std::to_string(builder.text("16")) + ")");
      }
    }
  }
  std::vector<timeline::SliceRef> stuckSlices() {
    std::vector<timeline::SliceRef> found;
    const auto& processes = timelineShown().processes;
    for (uint32_t p = 0; p < processes.size(); ++p) {
      for (uint32_t t = 0; t < processes[p].tracks.size(); ++t) {
        for (uint32_t l = 0; l < processes[p].tracks[t].lanes.size(); ++l) {
          const auto& slices = processes[p].tracks[t].lanes[l].slices;
          for (uint32_t i = 0; i < slices.size(); ++i) {
            if (slices[i].kind == SliceKind::kStuck) found.push_back({p, t, l, i});
          }
        }
      }
    }
    return found;
  }
  std::string cell(const TableSection& section, int row, const char* column) {
    const TableModel& model = section.model();
    for (int c = 0; c < model.columnCount(); ++c) {
      if (model.headerData(c, Qt::Horizontal) == QLatin1String(column))
        return model.data(model.index(row, c)).toString().toStdString();
    }
    return "no such column";
  }
};

TEST_F(Hang, OfARecordingStandsOnTopInATableAndAsOpenBars) {
  openTrace(recordHang);
  EXPECT_TRUE(m_window.note().contains("The run hangs in AllReduce 1 of world")) << m_window.note().toStdString();
  EXPECT_TRUE(m_window.note().contains("Look at rank 2."));
  EXPECT_TRUE(m_window.note().contains("Ended without a goodbye (killed?): rank 0, rank 1, rank 2"));
  TableSection& table = m_window.collectivesPage().stuck();
  ASSERT_EQ(table.model().rowCount(), 1);
  EXPECT_EQ(cell(table, 0, "state"), "never called");
  EXPECT_EQ(cell(table, 0, "missing ranks"), "2");
  EXPECT_EQ(cell(table, 0, "waiting ranks"), "0 1");
  EXPECT_EQ(cell(table, 0, "since"), "11 ms");
  const auto stuck = stuckSlices();
  ASSERT_EQ(stuck.size(), 2u);
  for (const auto& ref : stuck) EXPECT_EQ(timelineShown().slice(ref).endNs(), timelineShown().extent.endNs);
}

TEST_F(Hang, CanBeSeenOnTheTimeline) {
  openTrace(recordHang);
  const auto stuck = stuckSlices();
  ASSERT_FALSE(stuck.empty());
  const QPointF middle = view().scene().sliceRect(stuck[0]).center();
  const QString tip = view().tipAt(middle);
  EXPECT_TRUE(tip.contains("stuck collective · has not ended")) << tip.toStdString();
  EXPECT_TRUE(tip.contains("rank 2, which never called it")) << tip.toStdString();
  const QImage picture = view().viewport()->grab().toImage();
  int red = 0;
  for (int x = 0; x < picture.width(); ++x) {
    const QColor color = picture.pixelColor(x, static_cast<int>(middle.y()) - 6);
    red += color == Theme::light().kind(SliceKind::kStuck) ? 1 : 0;
  }
  EXPECT_GT(red, 100);
}

TEST_F(Hang, ATableRowLeadsToItsBar) {
  openTrace(recordHang);
  m_window.tabs().setCurrentIndex(m_window.tabs().indexOf(&m_window.collectivesPage()));
  emit m_window.collectivesPage().stuck().rowActivated(0);
  ASSERT_TRUE(m_window.state().selection());
  EXPECT_EQ(timelineShown().slice(*m_window.state().selection()).kind, SliceKind::kStuck);
  EXPECT_EQ(m_window.tabs().currentWidget(), &page());
  press(Qt::Key_F);
  EXPECT_FALSE(view().viewport()->grab().isNull());
}

TEST_F(Hang, OfAFlightRecordersDumpsIsShownToo) {
  openTrace(dumpHang);
  EXPECT_TRUE(m_window.note().contains("nccl:all_reduce 2 of process group 7")) << m_window.note().toStdString();
  EXPECT_EQ(cell(m_window.collectivesPage().stuck(), 0, "missing ranks"), "1");
  const auto stuck = stuckSlices();
  ASSERT_EQ(stuck.size(), 1u);  // what was completed stays a plain collective
  const timeline::Slice& slice = timelineShown().slice(stuck[0]);
  EXPECT_EQ(slice.startNs, 2 * kMs);
  // It began as the last event: there is room to see it.
  EXPECT_GT(view().scene().sliceRect(stuck[0]).width(), 40);
}

TEST_F(Hang, IsNotSaidOfARunThatEndedWell) {
  openSample();
  EXPECT_EQ(m_window.note(), "");
  EXPECT_TRUE(stuckSlices().empty());
  EXPECT_EQ(m_window.collectivesPage().stuck().emptyText(), "No rank waited in a collective for one that never came.");
  EXPECT_GT(m_window.collectivesPage().collectives().model().rowCount(), 0);
}

TEST_F(Hang, ARecordingThatIsNotFinishedSaysSo) {
  const std::string path = m_folder.path("open.sqlite");
  makeSampleTrace(path, {.ranks = 1, .layers = 1, .steps = 2, .complete = false});
  openWhole(path);
  EXPECT_TRUE(m_window.note().contains("The recording is not finished")) << m_window.note().toStdString();
  openSample();
  EXPECT_EQ(m_window.note(), "");
}

}  // namespace
}  // namespace plumb::test
