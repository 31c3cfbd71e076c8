// SPDX-License-Identifier: Apache-2.0
// The page with the advice: the numbers of plumb advise, and ways from a finding to its events.
#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QSpinBox>
#include <QTableView>
#include <QTextBrowser>
#include <QToolButton>

#include "gui/async/advice_data.h"
#include "gui/pages/advice_page.h"
#include "gui/state/evidence.h"
#include "tests/gui/window_fixture.h"

namespace plumb::test {
namespace {

using namespace plumb::gui;

constexpr int64_t kMs = 1'000'000;

class AdviceOfARun : public WindowTest {
 protected:
  AdvicePage& advicePage() { return m_window.advicePage(); }
  void waitForAdvice() {
    QSignalSpy ready(&advicePage(), &AdvicePage::ready);
    if (!advicePage().advice()) ASSERT_TRUE(ready.wait(20'000));
  }
  void openAdvice() {
    QSignalSpy ready(&advicePage(), &AdvicePage::ready);
    m_window.run(Command::kAdvicePage);
    if (!advicePage().advice()) ASSERT_TRUE(ready.wait(20'000));
  }
  // The rows of the table, without a rule's sentence.
  std::vector<QString> titles() {
    const TableModel& model = advicePage().findings().model();
    std::vector<QString> result;
    for (int row = 0; row < model.rowCount(); ++row) result.push_back(model.data(model.index(row, 2)).toString());
    return result;
  }
  // Half of the time the device waits for the host in cudaDeviceSynchronize after each kernel.
  static void recordLaunchBound(TraceBuilder& builder, int ranks = 1) {
    for (int rank = 0; rank < ranks; ++rank) {
      const int64_t process = builder.addRank(rank, ranks), thread = builder.addThread(process);
      const int64_t device = builder.addDevice(process), stream = builder.addStream(process, device, 7);
      for (int64_t i = 0; i < 20; ++i) {
        const int64_t correlation = builder.newCorrelation();
        builder.addApiCall(process, thread, i * 2 * kMs + kMs, 10'000, "cudaLaunchKernel", correlation);
        builder.addKernel({process, device, stream, i * 2 * kMs + kMs + 10'000, kMs, correlation}, "gemm");
      }
    }
  }
  const Finding* find(const char* rule) {
    for (size_t row = 0; row < titles().size(); ++row) {
      advicePage().choose(row);
      if (advicePage().chosen()->rule == rule) return advicePage().chosen();
    }
    return nullptr;
  }
};

TEST_F(AdviceOfARun, HasTheNumbersOfTheCommandLine) {
  openTrace([](TraceBuilder& builder) { recordLaunchBound(builder); });
  openAdvice();
  const auto expected = loadAdvice(m_folder.path("made.sqlite"), {}, {});
  ASSERT_TRUE(expected.ok());
  const Advice& shown = *advicePage().advice();
  ASSERT_EQ(shown.findings.size(), expected.value().findings.size());
  ASSERT_FALSE(shown.findings.empty());
  for (size_t i = 0; i < shown.findings.size(); ++i) {
    EXPECT_EQ(shown.findings[i].finding, expected.value().findings[i].finding);
    EXPECT_EQ(shown.findings[i].gain, expected.value().findings[i].gain);
    EXPECT_EQ(titles()[i].toStdString(), expected.value().findings[i].title);
  }
  const Finding* bound = find("launch_bound");
  ASSERT_NE(bound, nullptr);
  ASSERT_TRUE(bound->share());
  EXPECT_NEAR(*bound->share(), 0.5, 0.03);  // of the span, in which the device waits half of the time
  const QString details = advicePage().details().toPlainText();
  for (const char* part : {"found", "gain", "arithmetic", "do", "where", "events", "rule", "of the device's span"})
    EXPECT_TRUE(details.contains(part)) << part << " in " << details.toStdString();
  EXPECT_TRUE(m_window.tabs().tabText(m_window.tabs().indexOf(&advicePage())).contains('('));
}

TEST_F(AdviceOfARun, LeadsToTheTimelineByEnter) {
  openTrace([](TraceBuilder& builder) { recordLaunchBound(builder); });
  openAdvice();
  const Finding* bound = find("launch_bound");
  ASSERT_NE(bound, nullptr);
  ASSERT_TRUE(bound->where);
  ASSERT_EQ(bound->evidence.front().substr(0, 7), "kernel ");
  QTest::keyClick(&advicePage().findings().view(), Qt::Key_Return);
  EXPECT_EQ(m_window.tabs().currentWidget(), &page());
  ASSERT_TRUE(m_window.state().selection());
  const timeline::Slice& selected = timelineShown().slice(*m_window.state().selection());
  EXPECT_EQ("kernel " + std::to_string(selected.id), bound->evidence.front());
  const TimeSpan& span = m_window.state().span();
  EXPECT_LE(span.startNs, static_cast<double>(bound->where->start.ns()));
  EXPECT_GE(span.endNs, static_cast<double>(bound->where->end.ns()));
  EXPECT_LT(span.length(), 5e6);  // not the whole run
  ASSERT_TRUE(m_window.state().measured());
  press(Qt::Key_Backspace);  // one step of the history, back to where the user was
  EXPECT_EQ(m_window.state().span(), m_window.state().limits());
  press(Qt::Key_Escape);
  EXPECT_TRUE(m_window.state().marked().empty());
}

TEST_F(AdviceOfARun, FollowsRankAndStep) {
  openSample();
  openAdvice();
  QComboBox& ranks = advicePage().rankBox();
  ASSERT_EQ(ranks.count(), 3);  // all, 0, 1
  ranks.setCurrentIndex(2);
  EXPECT_EQ(m_window.state().filter().rank, 1);
  EXPECT_FALSE(advicePage().advice());  // what was said of all ranks no longer stands there
  waitForAdvice();
  for (const Finding& finding : advicePage().advice()->findings) EXPECT_NE(finding.rank, 0);
  advicePage().stepBox().setValue(1);
  EXPECT_EQ(m_window.state().filter().step, 1);
  waitForAdvice();
  m_window.state().setFilter({});
  EXPECT_EQ(ranks.currentIndex(), 0);
  EXPECT_EQ(advicePage().stepBox().text(), "all steps");
  waitForAdvice();
}

TEST_F(AdviceOfARun, CanBeOfTheVisibleTimeAlone) {
  openTrace([](TraceBuilder& builder) { recordLaunchBound(builder); });
  m_window.state().setSpan({3.0 * kMs, 9.0 * kMs});
  openAdvice();
  advicePage().onlyVisible().setChecked(true);
  waitForAdvice();
  EXPECT_TRUE(advicePage().onlyVisible().text().contains("3"));
  Filter visible;
  visible.from = TimePoint(3 * kMs);
  visible.to = TimePoint(9 * kMs + 1);
  const auto expected = loadAdvice(m_folder.path("made.sqlite"), visible, {});
  ASSERT_TRUE(expected.ok());
  EXPECT_EQ(advicePage().advice()->findings.size(), expected.value().findings.size());
  for (const Finding& finding : advicePage().advice()->findings)
    EXPECT_LE(finding.gain.value_or(Duration()), Duration(6 * kMs));
  advicePage().onlyVisible().setChecked(false);
  waitForAdvice();
  EXPECT_GT(*find("launch_bound")->gain, Duration(10 * kMs));
}

TEST_F(AdviceOfARun, IsWalkedByKeysAsSoonAsItIsThere) {
  openTrace([](TraceBuilder& builder) { recordLaunchBound(builder); });
  m_window.activateWindow();
  openAdvice();
  ASSERT_FALSE(titles().empty());
  QTableView& table = advicePage().findings().view();
  EXPECT_TRUE(QTest::qWaitFor([&] { return m_window.focusWidget() == &table; }));
  m_window.run(Command::kTimelinePage);
  m_window.run(Command::kAdvicePage);
  EXPECT_EQ(m_window.focusWidget(), &table) << "and when the user comes back";
}

TEST_F(AdviceOfARun, OfAPartSaysWhatCannotLookAtAPart) {
  openTrace([](TraceBuilder& builder) { recordLaunchBound(builder); });
  openAdvice();
  advicePage().onlyVisible().setChecked(true);
  waitForAdvice();
  const QString others = advicePage().otherRules().toPlainText();
  EXPECT_TRUE(others.contains("because it cannot look at a part of the run alone (it takes no --from"))
      << others.toStdString();
  EXPECT_FALSE(others.contains("because The"));
}

TEST_F(AdviceOfARun, IsCopiedAsTextAndAsMarkdown) {
  openTrace([](TraceBuilder& builder) { recordLaunchBound(builder); });
  openAdvice();
  const Finding* bound = find("launch_bound");
  ASSERT_NE(bound, nullptr);
  m_window.run(Command::kCopyFinding);
  const QString text = QGuiApplication::clipboard()->text();
  EXPECT_TRUE(text.startsWith(QString::fromStdString(bound->title))) << text.toStdString();
  EXPECT_TRUE(text.contains(QString::fromStdString(bound->evidence.front())));
  m_window.run(Command::kCopyFindingAsMarkdown);
  EXPECT_TRUE(QGuiApplication::clipboard()->text().startsWith("### "));
  EXPECT_TRUE(QGuiApplication::clipboard()->text().contains("- **rule:** launch\\_bound"));
}

TEST_F(AdviceOfARun, OfAForeignTraceWithoutWorkSaysWhy) {
  openTrace([](TraceBuilder& builder) {
    const int64_t process = builder.addProcess({.rank = {}, .program = "<b>python</b>"});
    builder.addRange(process, builder.addThread(process), 0, kMs, "load <i>data</i>");
  });
  openAdvice();
  EXPECT_EQ(advicePage().chosen(), nullptr);
  const QString why = advicePage().findings().emptyText();
  EXPECT_TRUE(why.contains("cannot say") || why.contains("Cannot say")) << why.toStdString();
  EXPECT_FALSE(advicePage().otherRules().isVisible());
  EXPECT_TRUE(advicePage().otherRulesButton().text().contains("cannot say"));
  advicePage().otherRulesButton().click();
  EXPECT_TRUE(advicePage().otherRules().isVisible());
  EXPECT_TRUE(advicePage().otherRules().toPlainText().contains("because no work of a device was recorded"));
  m_window.run(Command::kShowFinding);  // without a finding nothing happens
  EXPECT_EQ(m_window.tabs().currentWidget(), &advicePage());
}

TEST_F(AdviceOfARun, OfARunThatHangsNamesTheRank) {
  openTrace(recordHang);
  openAdvice();
  const Finding* missing = find("missing_rank");
  ASSERT_NE(missing, nullptr);
  EXPECT_TRUE(advicePage().details().toPlainText().contains("rank 2 never came")) << missing->finding;
}

TEST_F(AdviceOfARun, IsDroppedWhenTheWindowCloses) {
  const std::string path = sampleTrace(m_folder);
  for (int i = 0; i < 3; ++i) {
    MainWindow window;
    QSignalSpy loaded(&window, &MainWindow::loaded);
    window.show();
    window.run(Command::kAdvicePage);
    window.open(QString::fromStdString(path));
    ASSERT_TRUE(loaded.wait(20'000));
  }  // while the rules are being applied
  int asked = 0;
  const auto stopped = loadAdvice(path, {}, [&] { return ++asked < 3; });
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().message, "Looking for advice was stopped.");
}

TEST(Evidence, IsFoundByTableAndId) {
  timeline::Timeline all = timelineOf({{slice(0, 10), slice(20, 10)}});
  auto& slices = all.processes[0].tracks[0].lanes[0].slices;
  slices[0].id = 7;
  slices[1].id = 8;
  const auto found =
      findEvidence(all, {"kernel 8", "memory_copy 8", "allocation 8", "kernel", "kernel x", "kernel 9", "kernel 7"});
  ASSERT_EQ(found.size(), 7u);
  EXPECT_EQ(found[0], (timeline::SliceRef{0, 0, 0, 1}));
  for (const size_t none : {1, 2, 3, 4, 5}) EXPECT_EQ(found[none], std::nullopt) << none;
  EXPECT_EQ(found[6], (timeline::SliceRef{0, 0, 0, 0}));
}

}  // namespace
}  // namespace plumb::test
