// SPDX-License-Identifier: Apache-2.0
// The real window, without a display.
#include <QLineEdit>
#include <QWheelEvent>

#include "tests/gui/window_fixture.h"

namespace plumb::test {
namespace {

using namespace plumb::gui;

class Window : public WindowTest {
 protected:
  // The first slice of a kind that is wide enough to click.
  std::optional<timeline::SliceRef> visible(timeline::SliceKind kind) {
    const timeline::Timeline& all = *m_window.data()->timeline;
    const TimelineScene scene = view().scene();
    for (uint32_t t = 0; t < all.processes[0].tracks.size(); ++t) {
      const auto& lanes = all.processes[0].tracks[t].lanes;
      for (uint32_t l = 0; l < lanes.size(); ++l) {
        for (uint32_t i = 0; i < lanes[l].slices.size(); ++i) {
          const timeline::SliceRef ref{0, t, l, i};
          const QRectF rect = scene.sliceRect(ref);
          if (lanes[l].slices[i].kind == kind && rect.width() > 6 && scene.plot().contains(rect.center())) return ref;
        }
      }
    }
    return std::nullopt;
  }
  std::string detail(const char* name) {
    const FieldModel& fields = m_window.timelinePage().details().fields();
    for (int row = 0; row < fields.rowCount(); ++row) {
      if (fields.data(fields.index(row, FieldModel::kName)) == QLatin1String(name))
        return fields.data(fields.index(row, FieldModel::kValue)).toString().toStdString();
    }
    return "";
  }
};

TEST_F(Window, ShowsARecordingAtItsSecondStep) {
  openSample();
  EXPECT_EQ(m_window.message(), "");
  EXPECT_TRUE(m_window.windowTitle().contains("sample.sqlite"));
  const timeline::Window steady = timeline::steadyWindow(*m_window.data()->timeline);
  EXPECT_DOUBLE_EQ(m_window.state().span().startNs, static_cast<double>(steady.startNs));
  for (int tab = 0; tab < m_window.tabs().count(); ++tab) {
    m_window.tabs().setCurrentIndex(tab);
    EXPECT_FALSE(m_window.grab().isNull());
  }
}

TEST_F(Window, ZoomsAroundTheCursorAndBack) {
  openSample();
  const TimeSpan before = m_window.state().span();
  const QPointF at(700, 300);
  const double under = view().scene().scale().toNs(at.x() - view().scene().gutterWidth);
  QWheelEvent wheel(at, view().viewport()->mapToGlobal(at), {}, {0, 240}, Qt::NoButton, Qt::NoModifier,
                    Qt::NoScrollPhase, false);
  QCoreApplication::sendEvent(view().viewport(), &wheel);
  EXPECT_LT(m_window.state().span().length(), before.length());
  EXPECT_NEAR(view().scene().scale().toNs(at.x() - view().scene().gutterWidth), under, before.length() * 1e-9);
  QTest::keyClick(&view(), Qt::Key_Backspace);
  EXPECT_EQ(m_window.state().span(), before);
  QTest::keyClick(&view(), Qt::Key_Home);
  EXPECT_EQ(m_window.state().span(), m_window.state().limits());
}

TEST_F(Window, ClickingAKernelShowsEverythingAboutIt) {
  openSample();
  const auto kernel = visible(timeline::SliceKind::kKernel);
  ASSERT_TRUE(kernel);
  QTest::mouseClick(view().viewport(), Qt::LeftButton, Qt::NoModifier,
                    view().scene().sliceRect(*kernel).center().toPoint());
  ASSERT_EQ(m_window.state().selection(), kernel);
  EXPECT_EQ(detail("kind"), "kernel");
  EXPECT_TRUE(QTest::qWaitFor([this] { return !detail("grid_x").empty(); }, 10'000));
  EXPECT_FALSE(detail("correlation").empty());
  EXPECT_EQ(timeline::linkedSlices(*m_window.data()->timeline, *kernel).size(), 1u);
  EXPECT_FALSE(view().grab().isNull());  // with the arrow
  QTest::keyClick(&view(), Qt::Key_F);
  EXPECT_NEAR(m_window.state().span().length(),
              static_cast<double>(m_window.data()->timeline->slice(*kernel).durationNs) * 1.2, 2);
  QTest::keyClick(&view(), Qt::Key_Escape);
  EXPECT_EQ(m_window.state().selection(), std::nullopt);
}

TEST_F(Window, KeysReachEveryEvent) {
  openSample();
  QTest::keyClick(&view(), Qt::Key_Down);
  ASSERT_TRUE(m_window.state().selection());
  const auto first = *m_window.state().selection();
  QTest::keyClick(&view(), Qt::Key_Right);
  EXPECT_EQ(m_window.state().selection()->index, first.index + 1);
  QTest::keyClick(&view(), Qt::Key_Down);
  EXPECT_NE(m_window.state().selection()->track, first.track);
}

TEST_F(Window, MeasuresOnTheRuler) {
  openSample();
  QWidget* viewport = view().viewport();
  QTest::mousePress(viewport, Qt::LeftButton, Qt::NoModifier, {400, 10});
  QTest::mouseMove(viewport, {500, 12});
  QMouseEvent move(QEvent::MouseMove, QPointF(600, 12), viewport->mapToGlobal(QPointF(600, 12)), Qt::NoButton,
                   Qt::LeftButton, Qt::NoModifier);
  QCoreApplication::sendEvent(viewport, &move);
  QTest::mouseRelease(viewport, Qt::LeftButton, Qt::NoModifier, {600, 12});
  ASSERT_TRUE(m_window.state().measured());
  EXPECT_NEAR(m_window.state().measured()->length(), 200 * view().scene().scale().nsPerPixel(), 1);
}

TEST_F(Window, SearchWalksThroughMatches) {
  openSample();
  m_window.timelinePage().searchBox().setText("allgather");
  m_window.timelinePage().findNext(1);
  ASSERT_TRUE(m_window.state().selection());
  const auto first = *m_window.state().selection();
  m_window.timelinePage().findNext(1);
  EXPECT_NE(*m_window.state().selection(), first);
  const timeline::Timeline& all = *m_window.data()->timeline;
  EXPECT_NE(QString::fromStdString(all.names[all.slice(first).name]).toLower().indexOf("allgather"), -1);
}

TEST_F(Window, FoldsARankByItsName) {
  openSample();
  const Row row = view().scene().layout->rows().front();
  QTest::mouseClick(view().viewport(), Qt::LeftButton, Qt::NoModifier,
                    QPointF(60, view().scene().axisHeight + row.y + 5).toPoint());
  EXPECT_TRUE(view().folding().processes.contains(0));
}

TEST_F(Window, SaysWhatIsWrongWithABrokenFile) {
  EXPECT_NE(failureOf(m_folder.path("missing.sqlite")), "no failure was reported");
  EXPECT_EQ(m_window.data(), nullptr);
  EXPECT_NE(m_window.message(), "");
  EXPECT_NE(failureOf(m_folder.write("empty.sqlite", "")), "no failure was reported");
  EXPECT_NE(failureOf(m_folder.write("text.sqlite", QByteArray(5000, 'x'))), "no failure was reported");
}

TEST_F(Window, SaysWhatKindOfFileItCannotShow) {
  EXPECT_NE(failureOf(m_folder.write("random.sqlite", "\x8f\x02\x91" + QByteArray(3000, '\xe7'))).find("random.sqlite"),
            std::string::npos);
  const std::string path = sampleTrace(m_folder);
  {
    TraceBuilder builder(m_folder.path("newer.sqlite"));
    builder.execute("PRAGMA user_version = 999");
  }
  EXPECT_NE(failureOf(m_folder.path("newer.sqlite")).find("newer Plumbline"), std::string::npos);
  {
    TraceBuilder builder(m_folder.path("foreign.sqlite"));
    builder.execute("PRAGMA application_id = 7");
  }
  const std::string foreign = failureOf(m_folder.path("foreign.sqlite"));
  EXPECT_NE(foreign.find("an SQLite database of another program"), std::string::npos) << foreign;
  EXPECT_NE(foreign.find("plumb import"), std::string::npos) << foreign;
  // The window goes on.
  openWhole(path);
  EXPECT_EQ(m_window.message(), "");
}

TEST_F(Window, ShowsTheTimelineBeforeTheRestIsComputed) {
  QSignalSpy shown(&m_window, &MainWindow::timelineShown);
  openSample();
  EXPECT_EQ(shown.count(), 1);
  EXPECT_TRUE(m_window.data()->isWhole);
}

TEST_F(Window, SurvivesATruncatedRecording) {
  QFile file(QString::fromStdString(sampleTrace(m_folder)));
  ASSERT_TRUE(file.open(QIODevice::ReadOnly));
  const QByteArray whole = file.readAll();
  for (const int parts : {2, 3, 5}) {
    QSignalSpy loaded(&m_window, &MainWindow::loaded);
    QSignalSpy failed(&m_window, &MainWindow::failed);
    open(m_folder.write("cut.sqlite", whole.left(whole.size() / parts)));
    EXPECT_TRUE(QTest::qWaitFor([&] { return loaded.count() + failed.count() > 0; }, 20'000));
    EXPECT_FALSE(m_window.grab().isNull());
  }
}

TEST_F(Window, ShowsARecordingWithoutEvents) {
  const std::string path = m_folder.path("bare.sqlite");
  { TraceBuilder builder(path); }
  QSignalSpy loaded(&m_window, &MainWindow::loaded);
  open(path);
  ASSERT_TRUE(loaded.wait(20'000)) << m_window.message().toStdString();
  for (int tab = 0; tab < m_window.tabs().count(); ++tab) {
    m_window.tabs().setCurrentIndex(tab);
    EXPECT_FALSE(m_window.grab().isNull());
  }
  for (const Qt::Key key : {Qt::Key_W, Qt::Key_D, Qt::Key_F, Qt::Key_Home, Qt::Key_Down, Qt::Key_Right})
    QTest::keyClick(&view(), key);
  m_window.timelinePage().searchBox().setText("gemm");
  m_window.timelinePage().findNext(1);
  EXPECT_EQ(m_window.state().selection(), std::nullopt);
}

TEST_F(Window, FollowsADarkPalette) {
  openSample();
  QPalette dark = m_window.palette();
  dark.setColor(QPalette::Window, QColor(40, 40, 44));
  dark.setColor(QPalette::Base, QColor(30, 30, 34));
  dark.setColor(QPalette::Text, Qt::white);
  dark.setColor(QPalette::WindowText, Qt::white);
  m_window.setPalette(dark);
  const QImage picture = view().viewport()->grab().toImage();
  EXPECT_LT(picture.pixelColor(picture.width() - 3, picture.height() - 3).lightness(), 60);
  // For a person to look at: where the pictures go is named by the environment.
  const QString folder = qEnvironmentVariable("PLUMB_TEST_PICTURES");
  for (int tab = 0; tab < m_window.tabs().count() && !folder.isEmpty(); ++tab) {
    m_window.tabs().setCurrentIndex(tab);
    m_window.grab().save(QStringLiteral("%1/dark%2.png").arg(folder).arg(tab));
  }
}

TEST_F(Window, AnotherFileReplacesTheOneBeingLoaded) {
  const std::string path = sampleTrace(m_folder);
  QSignalSpy loaded(&m_window, &MainWindow::loaded);
  open(m_folder.path("missing.sqlite"));
  open(path);
  ASSERT_TRUE(loaded.wait(20'000));
  EXPECT_EQ(m_window.data()->path, path);
}

}  // namespace
}  // namespace plumb::test
