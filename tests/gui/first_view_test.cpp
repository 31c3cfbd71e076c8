// SPDX-License-Identifier: Apache-2.0
// What a trace shows before the user has done anything.
#include "gui/timeline/folding.h"
#include "tests/gui/window_fixture.h"

namespace plumb::test {
namespace {

using namespace plumb::gui;
using timeline::MainPart;
using timeline::SliceKind;
using timeline::TrackKind;
using timeline::Window;

// Pieces of work of 900 ns, one a microsecond.
std::vector<timeline::Slice> workFrom(int64_t start, int64_t count) {
  std::vector<timeline::Slice> slices;
  for (int64_t i = 0; i < count; ++i) slices.push_back(slice(start + i * 1000, 900));
  return slices;
}

timeline::Track rangesOf(std::vector<timeline::Slice> slices) {
  timeline::Track track;
  track.kind = TrackKind::kRanges;
  track.label = "main thread · ranges";
  track.lanes = timeline::assignLanes(std::move(slices));
  return track;
}

TEST(MainPart, LeavesOutALoneMarkFarAway) {
  timeline::Timeline all = timelineOf({workFrom(0, 100)});
  // A range around everything, up to the mark, does not fill the time between.
  all.processes[0].tracks.push_back(rangesOf({slice(0, 10'000'000, SliceKind::kRange), slice(10, 50, SliceKind::kRange),
                                              slice(10'000'000, 0, SliceKind::kRange)}));
  timeline::indexTimeline(all);
  const MainPart part = timeline::mainPart(all);
  EXPECT_LE(part.window.startNs, 0);
  EXPECT_GE(part.window.endNs, 99'900);
  EXPECT_LT(part.window.endNs, 110'000);
  EXPECT_EQ(part.before, 0u);
  EXPECT_EQ(part.after, 1u);
  EXPECT_TRUE(part.isOfDeviceWork);
}

TEST(MainPart, IsWhereTheDevicesWorkedAndNotWhereMostEventsAre) {
  timeline::Timeline all = timelineOf({workFrom(5'000'000'000, 20)});
  std::vector<timeline::Slice> capture;
  for (int64_t i = 0; i < 500; ++i) capture.push_back(slice(i * 1000, 500, SliceKind::kRange));
  all.processes[0].tracks.push_back(rangesOf(capture));
  timeline::indexTimeline(all);
  const MainPart part = timeline::mainPart(all);
  EXPECT_GT(part.window.startNs, 4'999'000'000);
  EXPECT_EQ(part.before, 500u);
}

TEST(MainPart, IsEverythingWhereNothingStandsOut) {
  using Streams = std::vector<std::vector<timeline::Slice>>;
  for (const Streams& streams : {Streams{workFrom(0, 3), workFrom(1'000'000, 3)},  // as much here as there
                                 Streams{{slice(0, 10), slice(5000, 10), slice(10'000, 10)}},
                                 Streams{{slice(0, 5'000'000), slice(5'000'000, 10)}}}) {
    const timeline::Timeline all = timelineOf(streams);
    EXPECT_EQ(timeline::mainPart(all).window, all.extent);
    EXPECT_EQ(timeline::mainPart(all).after, 0u);
  }
  EXPECT_EQ(timeline::mainPart(timeline::Timeline()).window, Window());
}

// A process whose ranges are nested that deeply, above a stream.
timeline::Timeline deep(int64_t levels) {
  timeline::Timeline all = timelineOf({workFrom(0, 100)});
  std::vector<timeline::Slice> nested;
  for (int64_t i = 0; i < levels; ++i) nested.push_back(slice(i, 100'000 - 2 * i, SliceKind::kRange));
  all.processes[0].tracks.insert(all.processes[0].tracks.begin(), rangesOf(nested));
  timeline::indexTimeline(all);
  return all;
}

double bottomOfFirstStream(const timeline::Timeline& all, const Folding& folding) {
  const TrackLayout layout(all, {}, folding);
  for (const Row& row : layout.rows()) {
    const bool isStream =
        row.kind == RowKind::kTrack && all.processes[row.process].tracks[row.track].kind == TrackKind::kStream;
    if (isStream) return row.y + row.height;
  }
  return 0;
}

TEST(FirstFolding, ShowsTheStreamsOfDeepStacks) {
  const timeline::Timeline all = deep(60);
  EXPECT_GT(bottomOfFirstStream(all, {}), 600);
  EXPECT_LE(bottomOfFirstStream(all, foldedAboveStreams(all, {}, 600)), 600);
}

TEST(FirstFolding, FoldsNothingThatHasRoom) {
  EXPECT_EQ(foldedAboveStreams(deep(5), {}, 600), Folding());
  EXPECT_EQ(foldedAboveStreams(timeline::Timeline(), {}, 600), Folding());
}

TEST(FirstFolding, FoldsProcessesWithoutWorkThatComeFirst) {
  timeline::Timeline all = deep(5);
  timeline::Process launcher;
  for (int i = 0; i < 40; ++i) launcher.tracks.push_back(rangesOf({slice(0, 10, SliceKind::kRange)}));
  all.processes.insert(all.processes.begin(), launcher);
  EXPECT_LE(bottomOfFirstStream(all, foldedAboveStreams(all, {}, 600)), 600);
}

class FirstView : public WindowTest {
 protected:
  // Kernels below a deep stack of ranges, and a mark ten seconds later.
  void openDeepTrace() {
    openTrace([](TraceBuilder& builder) {
      const int64_t process = builder.addProcess({.rank = 0, .pid = 100});
      const int64_t thread = builder.addThread(process, 100), device = builder.addDevice(process);
      const int64_t stream = builder.addStream(process, device, 7);
      for (int64_t i = 0; i < 60; ++i)
        builder.addRange(process, thread, 1000 + i, 500'000 - 2 * i, "frame " + std::to_string(i), i);
      for (int64_t i = 0; i < 100; ++i) builder.addKernel({process, device, stream, 2000 + i * 4000, 3500}, "gemm");
      builder.addRange(process, thread, 10'000'000'000, 0, "Record Window End");
    });
  }
  double bottomOfStream() { return bottomOfFirstStream(timelineShown(), view().folding()) + view().scene().axisHeight; }
};

TEST_F(FirstView, ShowsDeviceWorkWhereEventsAre) {
  openDeepTrace();
  EXPECT_LE(bottomOfStream(), view().viewport()->height());
  EXPECT_LT(m_window.state().span().endNs, 1e6);
  EXPECT_TRUE(page().note().contains("far away: 1 event up to 10 s after it (Home shows all)"))
      << page().note().toStdString();
  press(Qt::Key_Home);
  EXPECT_GT(m_window.state().span().endNs, 9e9);
}

TEST_F(FirstView, FoldsForTheHeightThatThereIsUntilTheUserDoesSomething) {
  openDeepTrace();
  m_window.resize(1200, 1700);
  EXPECT_TRUE(QTest::qWaitFor([this] { return view().folding() == Folding(); }));
  m_window.resize(1200, 700);
  EXPECT_TRUE(QTest::qWaitFor([this] { return !view().folding().tracks.empty(); }));
  const Row row = view().scene().layout->rows()[1];
  QTest::mouseClick(view().viewport(), Qt::LeftButton, Qt::NoModifier,
                    QPointF(60, view().scene().axisHeight + row.y + 4).toPoint());
  EXPECT_EQ(view().folding(), Folding());
  m_window.resize(1200, 600);
  QTest::qWait(50);
  EXPECT_EQ(view().folding(), Folding()) << "the user has opened it";
}

TEST_F(FirstView, OfSearchUnfoldsWhatItFinds) {
  openDeepTrace();
  ASSERT_FALSE(view().folding().tracks.empty());
  m_window.state().setSearch("frame 59");
  page().findNext(1);
  EXPECT_TRUE(view().folding().tracks.empty());
}

}  // namespace
}  // namespace plumb::test
