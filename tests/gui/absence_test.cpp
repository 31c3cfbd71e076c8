// SPDX-License-Identifier: Apache-2.0
// No page is blank without a sentence why.
#include "gui/pages/collectives_page.h"
#include "gui/pages/memory_page.h"
#include "gui/pages/roofline_page.h"
#include "gui/pages/summary_page.h"
#include "tests/gui/window_fixture.h"

namespace plumb::test {
namespace {

using namespace plumb::gui;

class Absence : public WindowTest {
 protected:
  std::string timelineText() {
    EXPECT_EQ(timelineShown().sliceCount, 0u);
    return view().scene().emptyText.toStdString();
  }
  static bool says(const QString& text, const char* part) {
    EXPECT_TRUE(text.contains(QLatin1String(part))) << text.toStdString();
    return text.contains(QLatin1String(part));
  }
};

TEST_F(Absence, OfEverythingIsExplainedOnEachPage) {
  openTrace([](TraceBuilder&) {});
  EXPECT_NE(timelineText().find("Cannot show a timeline, because the recording holds no events"), std::string::npos);
  says(m_window.memoryPage().note(), "because the recording holds no device allocations");
  says(m_window.rooflinePage().note(), "because the recording holds no kernels");
  says(m_window.summaryPage().ranks().emptyText(), "because the recording holds no kernels, copies or sets");
  says(m_window.summaryPage().steps().emptyText(), "because no range is named 'step'");
  says(m_window.collectivesPage().collectives().emptyText(), "because none was recorded");
  says(m_window.collectivesPage().stuck().emptyText(), "Cannot say whether the run hangs, because");
}

TEST_F(Absence, OfEventsBesideCountersNamesTheReportThatShowsThem) {
  openTrace([](TraceBuilder& builder) { builder.addCounter(builder.addRank(0), 1000, "power", 250); });
  EXPECT_NE(timelineText().find("The file holds counters. Its counters: plumb report counters"), std::string::npos);
}

TEST_F(Absence, IsExplainedByTheLaneThatFailed) {
  openTrace([](TraceBuilder& builder) {
    builder.addDiagnostic(builder.addRank(0), "error", "cupti", "no_permission", 1, "CUPTI may not be used: ask root.");
  });
  says(m_window.summaryPage().ranks().emptyText(), "CUPTI may not be used: ask root.");
}

TEST_F(Absence, OfEventsBesideMemoryShowsMemoryOverItsOwnTime) {
  openTrace([](TraceBuilder& builder) {
    const int64_t process = builder.addRank(0), device = builder.addDevice(process);
    for (int64_t i = 0; i < 10; ++i)
      builder.addAllocation({.process = process,
                             .device = device,
                             .startNs = 1000 + i * 500'000,
                             .address = 4096 * (i + 1),
                             .bytes = 1 << 20,
                             .freedNs = 1000 + i * 500'000 + 400'000});
  });
  EXPECT_EQ(m_window.tabs().currentWidget(), &m_window.memoryPage());
  EXPECT_LE(m_window.state().span().startNs, 1000);
  EXPECT_GE(m_window.state().span().endNs, 4'900'000);
}

TEST_F(Absence, OfMemoryIsExplainedAsOnTheCommandLine) {
  openTrace([](TraceBuilder& builder) {
    builder.addDiagnostic(builder.addRank(0), "info", "import", "no_address", 7, "7 events have no address");
  });
  says(m_window.memoryPage().note(), "because the trace's allocation events have no addresses");
  says(m_window.memoryPage().note(), "plumb report memory_timeline");
}

TEST_F(Absence, OfADevicesNameIsNoHole) {
  openTrace([](TraceBuilder& builder) {
    const int64_t process = builder.addProcess({.rank = {}, .program = "train"});
    const int64_t device = builder.addDevice(process, {.name = "", .kind = "gpu"});
    const int64_t stream = builder.addStream(process, device, 7);
    builder.addKernel({process, device, stream, 1000, 5000}, "gemm");
  });
  const TableModel& ranks = m_window.summaryPage().ranks().model();
  ASSERT_EQ(ranks.rowCount(), 1);
  EXPECT_EQ(ranks.data(ranks.index(0, 1)), "not named");
  says(m_window.summaryPage().steps().emptyText(), "and its kernels do not repeat");
  EXPECT_EQ(view().scene().emptyText.isEmpty(), false);  // said only where there are no slices
  EXPECT_EQ(timelineShown().sliceCount, 1u);
}

TEST_F(Absence, OfKernelTimesIsNotZero) {
  openTrace([](TraceBuilder& builder) {
    for (int64_t rank = 0; rank < 2; ++rank) {
      const int64_t process = builder.addRank(rank, 2), thread = builder.addThread(process);
      builder.addCollective({.process = process,
                             .thread = thread,
                             .communicator = builder.addCommunicator(process, 3, 2, rank),
                             .startNs = 1000,
                             .bytes = 4096});
    }
  });
  const TableModel& collectives = m_window.collectivesPage().collectives().model();
  ASSERT_EQ(collectives.rowCount(), 1);
  for (int column = 0; column < collectives.columnCount(); ++column) {
    const QString title = collectives.headerData(column, Qt::Horizontal).toString();
    if (title == "kernel time" || title == "median" || title == "waited") {
      EXPECT_EQ(collectives.data(collectives.index(0, column)), "–") << title.toStdString();
    }
  }
}

}  // namespace
}  // namespace plumb::test
