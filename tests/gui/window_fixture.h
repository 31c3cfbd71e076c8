// SPDX-License-Identifier: Apache-2.0
// The real window, without a display, for tests of what a user sees and does.
#pragma once
#include <gtest/gtest.h>

#include <QApplication>
#include <QMouseEvent>
#include <QSignalSpy>
#include <QTabWidget>
#include <QTest>
#include <functional>
#include <string>

#include "gui/app/main_window.h"
#include "gui/pages/timeline_page.h"
#include "tests/gui/fixtures.h"
#include "tests/support/trace_builder.h"

namespace plumb::test {

class WindowTest : public testing::Test {
 protected:
  void open(const std::string& path) {
    m_window.resize(1200, 800);
    m_window.show();
    m_window.open(QString::fromStdString(path));
  }
  void openWhole(const std::string& path) {
    QSignalSpy loaded(&m_window, &gui::MainWindow::loaded);
    open(path);
    ASSERT_TRUE(loaded.wait(20'000)) << m_window.message().toStdString();
  }
  void openSample() { openWhole(sampleTrace(m_folder)); }
  // Opens a trace that a test fills.
  void openTrace(const std::function<void(TraceBuilder&)>& fill) {
    const std::string path = m_folder.path("made.sqlite");
    {
      TraceBuilder builder(path);
      fill(builder);
    }
    openWhole(path);
  }
  std::string failureOf(const std::string& path) {
    QSignalSpy failed(&m_window, &gui::MainWindow::failed);
    open(path);
    return failed.wait(20'000) ? failed.front().front().toString().toStdString() : "no failure was reported";
  }
  gui::TimelinePage& page() { return m_window.timelinePage(); }
  gui::TimelineView& view() { return page().view(); }
  const timeline::Timeline& timelineShown() { return *m_window.data()->timeline; }
  void press(Qt::Key key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    QTest::keyClick(&view(), key, modifiers);
  }
  void drag(QPoint from, QPoint to, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    QWidget* viewport = view().viewport();
    QTest::mousePress(viewport, Qt::LeftButton, modifiers, from);
    for (const QPoint at : {(from + to) / 2, to}) {
      QMouseEvent move(QEvent::MouseMove, QPointF(at), viewport->mapToGlobal(QPointF(at)), Qt::NoButton, Qt::LeftButton,
                       modifiers);
      QCoreApplication::sendEvent(viewport, &move);
    }
    QTest::mouseRelease(viewport, Qt::LeftButton, modifiers, to);
  }

  Folder m_folder;
  gui::MainWindow m_window;
};

}  // namespace plumb::test
