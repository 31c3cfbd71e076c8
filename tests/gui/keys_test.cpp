// SPDX-License-Identifier: Apache-2.0
// What people who know other timelines try first.
#include <QDialog>
#include <QLineEdit>
#include <QMenu>
#include <QMenuBar>
#include <QTextBrowser>
#include <QWheelEvent>
#include <set>

#include "gui/state/commands.h"
#include "gui/timeline/elide.h"
#include "tests/gui/window_fixture.h"

namespace plumb::test {
namespace {

using namespace plumb::gui;

class Keys : public WindowTest {
 protected:
  TimeSpan span() { return m_window.state().span(); }
  double middle() { return (span().startNs + span().endNs) / 2; }
  // The first slice of a kind that is wide enough to click.
  std::optional<timeline::SliceRef> visible(timeline::SliceKind kind) {
    const TimelineScene scene = view().scene();
    for (uint32_t t = 0; t < timelineShown().processes[0].tracks.size(); ++t) {
      const auto& lanes = timelineShown().processes[0].tracks[t].lanes;
      for (uint32_t l = 0; l < lanes.size(); ++l) {
        for (uint32_t i = 0; i < lanes[l].slices.size(); ++i) {
          const QRectF rect = scene.sliceRect({0, t, l, i});
          if (lanes[l].slices[i].kind == kind && rect.width() > 6 && scene.plot().contains(rect.center()))
            return timeline::SliceRef{0, t, l, i};
        }
      }
    }
    return std::nullopt;
  }
};

TEST_F(Keys, ZoomAndMove) {
  openSample();
  const TimeSpan before = span();
  press(Qt::Key_W);
  EXPECT_LT(span().length(), before.length());
  const TimeSpan zoomed = span();
  press(Qt::Key_D);
  EXPECT_GT(span().startNs, zoomed.startNs);
  press(Qt::Key_A);
  EXPECT_NEAR(span().startNs, zoomed.startNs, 1);
  press(Qt::Key_Right, Qt::ShiftModifier);
  EXPECT_GT(span().startNs, zoomed.startNs);
  press(Qt::Key_S);
  EXPECT_NEAR(span().length(), before.length(), before.length() * 0.01);
  press(Qt::Key_Plus, Qt::ShiftModifier);  // as it is typed on many keyboards
  EXPECT_LT(span().length(), before.length() * 0.9);
  press(Qt::Key_Home);
  EXPECT_EQ(span(), m_window.state().limits());
}

TEST_F(Keys, WalkFromStepToStep) {
  openSample();
  const auto& steps = page().steps();
  ASSERT_EQ(steps.size(), 3u);
  ASSERT_TRUE(page().goToStep(0));
  EXPECT_NEAR(middle(), (steps[0].span.startNs + steps[0].span.endNs) / 2, span().length() * 0.05);
  press(Qt::Key_BracketRight);
  press(Qt::Key_PageDown);
  EXPECT_EQ(stepAt(steps, middle()), 2u);
  press(Qt::Key_PageDown);  // there is none
  EXPECT_EQ(stepAt(steps, middle()), 2u);
  press(Qt::Key_BracketLeft);
  EXPECT_EQ(stepAt(steps, middle()), 1u);
  EXPECT_FALSE(page().goToStep(99));
}

TEST_F(Keys, MeasureASpanAnywhere) {
  openSample();
  const TimeSpan before = span();
  drag({400, 300}, {600, 320}, Qt::ShiftModifier);
  ASSERT_TRUE(m_window.state().measured());
  EXPECT_NEAR(m_window.state().measured()->length(), 200 * view().scene().scale().nsPerPixel(), 1);
  EXPECT_EQ(span(), before);  // not moved
  press(Qt::Key_Escape);
  EXPECT_FALSE(m_window.state().measured());
  const auto kernel = visible(timeline::SliceKind::kKernel);
  ASSERT_TRUE(kernel);
  m_window.state().select(kernel);
  press(Qt::Key_M);
  ASSERT_TRUE(m_window.state().measured());
  EXPECT_EQ(m_window.state().measured()->length(), static_cast<double>(timelineShown().slice(*kernel).durationNs));
}

TEST_F(Keys, DoubleClickFitsAnEvent) {
  openSample();
  const auto kernel = visible(timeline::SliceKind::kKernel);
  ASSERT_TRUE(kernel);
  QTest::mouseDClick(view().viewport(), Qt::LeftButton, Qt::NoModifier,
                     view().scene().sliceRect(*kernel).center().toPoint());
  EXPECT_EQ(m_window.state().selection(), kernel);
  EXPECT_NEAR(span().length(), static_cast<double>(timelineShown().slice(*kernel).durationNs) * 1.2, 2);
}

TEST_F(Keys, SlashSearchesAndNWalksOn) {
  openSample();
  press(Qt::Key_Slash);
  page().searchBox().setText("allgather");
  view().setFocus();
  press(Qt::Key_N);
  const auto first = m_window.state().selection();
  ASSERT_TRUE(first);
  EXPECT_TRUE(page().searchText().startsWith("1 of ")) << page().searchText().toStdString();
  press(Qt::Key_N);
  EXPECT_NE(m_window.state().selection(), first);
  press(Qt::Key_N, Qt::ShiftModifier);
  EXPECT_EQ(m_window.state().selection(), first);
}

TEST_F(Keys, TheNamesCanBeMadeWider) {
  openSample();
  const double before = view().scene().gutterWidth;
  drag({static_cast<int>(before), 200}, {static_cast<int>(before) + 120, 210});
  EXPECT_NEAR(view().scene().gutterWidth, before + 120, 1);
  EXPECT_FALSE(m_window.state().measured());
  QTest::mouseDClick(view().viewport(), Qt::LeftButton, Qt::NoModifier, {static_cast<int>(before) + 120, 200});
  EXPECT_EQ(view().scene().gutterWidth, before);
  view().setGutterWidth(1e6);
  EXPECT_LT(view().scene().gutterWidth, view().viewport()->width() * 0.7);
}

TEST_F(Keys, ARanksNameStaysWhileItsRowsAreScrolled) {
  openSample();
  Folding unfolded;
  view().setFolding(unfolded);
  m_window.resize(1200, 300);
  QCoreApplication::processEvents();
  EXPECT_EQ(view().scene().pinnedHeader(), nullptr);
  QWheelEvent wheel(QPointF(20, 150), view().viewport()->mapToGlobal(QPointF(20, 150)), {}, {0, -120}, Qt::NoButton,
                    Qt::NoModifier, Qt::NoScrollPhase, false);
  QCoreApplication::sendEvent(view().viewport(), &wheel);
  const TimelineScene scene = view().scene();
  ASSERT_NE(scene.pinnedHeader(), nullptr);
  EXPECT_EQ(scene.rowAt({20, scene.axisHeight + 4}), scene.pinnedHeader());
  EXPECT_TRUE(view().tipAt({20, scene.axisHeight + 4}).startsWith("rank 0"));
}

TEST_F(Keys, EveryCommandIsInTheHelpAndInAMenu) {
  const QString help = helpHtml();
  std::set<QString> entries;
  for (const QAction* menu : m_window.menuBar()->actions()) {
    for (const QAction* action : menu->menu()->actions()) entries.insert(action->text().section('\t', 0, 0));
  }
  for (const CommandInfo& command : commands()) {
    EXPECT_TRUE(help.contains(QString(command.text).remove('&').remove(QChar(0x2026)).toHtmlEscaped()));
    if (command.id == Command::kNone) continue;
    EXPECT_TRUE(entries.contains(QString::fromUtf8(command.text))) << command.text;
  }
}

TEST_F(Keys, AQuestionMarkOpensTheHelp) {
  openSample();
  press(Qt::Key_Question, Qt::ShiftModifier);
  const auto* dialog = m_window.findChild<QDialog*>();
  ASSERT_NE(dialog, nullptr);
  const auto* text = dialog->findChild<QTextBrowser*>();
  ASSERT_NE(text, nullptr);
  EXPECT_TRUE(text->toPlainText().contains("wheel up, at the cursor"));
  const QString folder = qEnvironmentVariable("PLUMB_TEST_PICTURES");
  if (!folder.isEmpty()) text->window()->grab().save(folder + "/help.png");
}

TEST(Commands, NoKeyMeansTwoThings) {
  std::set<QString> seen;
  for (const CommandInfo& command : commands()) {
    for (const char* keys : {command.keys, command.viewKeys}) {
      for (const QString& key : QString::fromUtf8(keys).split(' ', Qt::SkipEmptyParts)) {
        EXPECT_TRUE(seen.insert(key).second) << key.toStdString();
        EXPECT_FALSE(QKeySequence(key).isEmpty()) << key.toStdString();
        if (keys != command.viewKeys) continue;
        EXPECT_EQ(timelineCommand(QKeySequence(key)), command.id) << key.toStdString();
      }
    }
  }
  EXPECT_EQ(timelineCommand(QKeySequence(Qt::Key_X)), std::nullopt);
}

TEST(Elide, KeepsTheNumbersThatTellTracksApart) {
  const QFontMetricsF metrics{QFont()};
  const QString long1 = "collectives · 41 TENSOR_MODEL_PARALLEL_GROUP",
                long2 = "collectives · 42 TENSOR_MODEL_PARALLEL_GROUP";
  EXPECT_EQ(elidedLabel(long1, metrics, 1000), long1);
  const double width = metrics.horizontalAdvance("collectives · 41 TEN…ROUP x");
  EXPECT_TRUE(elidedLabel(long1, metrics, width).contains("41")) << elidedLabel(long1, metrics, width).toStdString();
  EXPECT_NE(elidedLabel(long1, metrics, width), elidedLabel(long2, metrics, width));
  EXPECT_LE(metrics.horizontalAdvance(elidedLabel(long1, metrics, width)), width);
  const QString stream = "device 1 · stream 17 · a stream with a very long name that the program gave it";
  EXPECT_TRUE(elidedLabel(stream, metrics, 240).startsWith("device 1 · stream 17 · "));
  EXPECT_LE(metrics.horizontalAdvance(elidedLabel(stream, metrics, 30)), 30);
}

}  // namespace
}  // namespace plumb::test
