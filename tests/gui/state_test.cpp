// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <QSignalSpy>

#include "gui/state/search.h"
#include "gui/state/view_state.h"
#include "tests/gui/fixtures.h"

namespace plumb::test {
namespace {

using namespace plumb::gui;

TEST(ViewState, RemembersWhereItWas) {
  ViewState state;
  state.reset({0, 1000}, {0, 500});
  state.setSpan({100, 200});
  state.setSpan({120, 140});
  state.undo();
  EXPECT_EQ(state.span(), (TimeSpan{100, 200}));
  state.undo();
  EXPECT_EQ(state.span(), (TimeSpan{0, 500}));
  EXPECT_FALSE(state.canUndo());
  state.redo();
  EXPECT_EQ(state.span(), (TimeSpan{100, 200}));
  state.setSpan({300, 400});  // a new way: what was undone is gone
  EXPECT_FALSE(state.canRedo());
}

TEST(ViewState, TakesAGestureAsOneEntry) {
  ViewState state;
  state.reset({0, 1000}, {0, 1000});
  state.setSpan({0, 900});
  for (int end = 800; end > 200; end -= 100)
    state.setSpan({0, static_cast<double>(end)}, ViewState::History::kContinue);
  state.undo();
  EXPECT_EQ(state.span(), (TimeSpan{0, 1000}));
}

TEST(ViewState, TellsOnlyChanges) {
  ViewState state;
  state.reset({0, 1000}, {0, 1000});
  QSignalSpy spans(&state, &ViewState::spanChanged);
  QSignalSpy selections(&state, &ViewState::selectionChanged);
  state.setSpan({0, 1000});
  state.select(std::nullopt);
  EXPECT_EQ(spans.count() + selections.count(), 0);
  state.select(timeline::SliceRef{});
  state.setSpan({-500, 100});  // moved into the recording
  EXPECT_EQ(selections.count(), 1);
  EXPECT_EQ(state.span(), (TimeSpan{0, 600}));
}

timeline::Timeline named() {
  auto timeline = timelineOf({{slice(0, 10), slice(20, 10)}, {slice(5, 10)}});
  timeline.names = {"", "Gemm_bf16", "softmax"};
  auto& tracks = timeline.processes[0].tracks;
  tracks[0].lanes[0].slices[0].name = 1;
  tracks[0].lanes[0].slices[1].name = 2;
  tracks[1].lanes[0].slices[0].name = 1;
  return timeline;
}

TEST(Search, FindsPartsOfNames) {
  const auto timeline = named();
  const SearchResult found = search(timeline, "gemm");
  EXPECT_EQ(found.count, 2u);
  EXPECT_EQ(found.matches, (std::vector<char>{0, 1, 0}));
  EXPECT_TRUE(search(timeline, "").matches.empty());
  EXPECT_EQ(search(timeline, "nothing").count, 0u);
}

TEST(Search, WalksInOrderOfTimeAndAroundTheEnds) {
  const auto timeline = named();
  const SearchResult found = search(timeline, "gemm");
  const Match first{{0, 0, 0, 0}, 0}, second{{0, 1, 0, 0}, 1};
  EXPECT_EQ(neighbour(timeline, found, std::nullopt, 1), first);
  EXPECT_EQ(neighbour(timeline, found, std::nullopt, -1), second);
  EXPECT_EQ(neighbour(timeline, found, first.slice, 1), second);
  EXPECT_EQ(neighbour(timeline, found, second.slice, 1), first);
  EXPECT_EQ(neighbour(timeline, found, first.slice, -1), second);
  EXPECT_EQ(neighbour(timeline, found, second.slice, -1), first);
  // From something that is no match: the nearest in time.
  EXPECT_EQ(neighbour(timeline, found, timeline::SliceRef{0, 0, 0, 1}, -1), second);
  EXPECT_EQ(neighbour(timeline, search(timeline, "nothing"), std::nullopt, 1), std::nullopt);
}

}  // namespace
}  // namespace plumb::test
