// SPDX-License-Identifier: Apache-2.0
// Ranks whose clocks are apart, and files without times.
#include "gui/pages/clock_text.h"
#include "gui/pages/collectives_page.h"
#include "gui/pages/health_page.h"
#include "gui/pages/memory_page.h"
#include "gui/pages/scenes.h"
#include "tests/gui/window_fixture.h"

namespace plumb::test {
namespace {

using namespace plumb::gui;

constexpr int64_t kMs = 1'000'000;

class Clocks : public WindowTest {
 protected:
  // An all-reduce of two ranks; the second one's clock is ahead.
  static void record(TraceBuilder& builder, const char* otherHost, int64_t aheadNs) {
    for (int64_t rank = 0; rank < 2; ++rank) {
      const int64_t process = builder.addProcess({.rank = rank, .worldSize = 2, .host = rank == 0 ? "a" : otherHost});
      const int64_t thread = builder.addThread(process), device = builder.addDevice(process);
      const int64_t stream = builder.addStream(process, device, 7);
      const int64_t communicator = builder.addCommunicator(process, 3, 2, rank);
      for (int64_t i = 0; i < 5; ++i) {
        const int64_t start = (1 + i) * kMs + rank * aheadNs, correlation = builder.newCorrelation();
        builder.addCollective({.process = process,
                               .thread = thread,
                               .communicator = communicator,
                               .startNs = start,
                               .sequence = i,
                               .externalId = i + 1});
        builder.addLink(process, i + 1, correlation);
        builder.addKernel({process, device, stream, start, 4000, correlation}, "ncclDevKernel_AllReduce");
      }
    }
  }
  std::string clock(int row, int column) {
    const TableModel& model = m_window.healthPage().clocks().model();
    return model.data(model.index(row, column)).toString().toStdString();
  }
};

TEST_F(Clocks, ThatAreApartStandAboveTheTimelineAndTheCollectives) {
  openTrace([](TraceBuilder& builder) { record(builder, "b", 50 * kMs); });
  const QString note = page().note();
  EXPECT_TRUE(note.contains("do not share a clock. Against rank 0: rank 1: 50 ms ahead")) << note.toStdString();
  EXPECT_EQ(m_window.collectivesPage().clockNote(), note);
  ASSERT_EQ(m_window.healthPage().clocks().model().rowCount(), 2);
  EXPECT_EQ(clock(1, 0), "b");
  EXPECT_EQ(clock(1, 3), "50 ms");
  EXPECT_EQ(clock(1, 4), "4 µs");  // no kernel is longer
  EXPECT_EQ(clock(1, 6), "bound by collectives' ends");
}

TEST_F(Clocks, OfOneHostAreNotMentioned) {
  openTrace([](TraceBuilder& builder) { record(builder, "a", 0); });
  EXPECT_EQ(page().note(), "");
  EXPECT_EQ(m_window.healthPage().clocks().model().rowCount(), 1);
  EXPECT_EQ(m_window.healthPage().emptyText(),
            "Nothing was lost, nothing failed and nothing is doubtful, as far as was recorded.");
}

TEST_F(Clocks, OfHostsWithoutACommonCollectiveCannotBeCompared) {
  openTrace([](TraceBuilder& builder) {
    for (int64_t rank = 0; rank < 2; ++rank) {
      const int64_t process = builder.addProcess({.rank = rank, .worldSize = 2, .host = rank == 0 ? "a" : "b"});
      const int64_t device = builder.addDevice(process);
      builder.addKernel({process, device, builder.addStream(process, device, 7), kMs, kMs}, "gemm");
    }
  });
  EXPECT_TRUE(page().note().contains("rank 1: cannot say, because no collective joins them"))
      << page().note().toStdString();
  EXPECT_EQ(clock(1, 3), "–");
}

// What an importer writes of a memory snapshot whose events have no times: a microsecond each, and a diagnostic.
void addUntimedMemory(TraceBuilder& builder, int64_t events) {
  const int64_t process = builder.addRank(0), device = builder.addDevice(process);
  for (int64_t i = 0; i < events; ++i)
    builder.addAllocation(
        {.process = process, .device = device, .startNs = i * 1000, .address = (i + 1) << 21, .bytes = 1 << 20});
  builder.addDiagnostic(process, "warning", "import", "no_time", events, "the events have no time.");
}

TEST_F(Clocks, OfAFileWithoutTimesAreEventNumbers) {
  openTrace([](TraceBuilder& builder) { addUntimedMemory(builder, 30); });
  const auto& memory = m_window.data()->memory.devices.at(0);
  const MemoryScene scene = memoryScene(*m_window.data(), memory);
  EXPECT_EQ(scene.axis, MemoryAxis::kEvents);
  EXPECT_EQ(scene.placeOf(17'300, 1), "event 17");
  EXPECT_TRUE(page().note().contains("holds no times of rank 0")) << page().note().toStdString();
  std::vector<QString> labels;
  for (const Tick& tick : eventTicks(TimeScale({0, 30'000}, 700), 110)) labels.push_back(tick.label);
  EXPECT_EQ(labels, (std::vector<QString>{"0", "5", "10", "15", "20", "25", "30"}));
}

TEST_F(Clocks, OfOneStateHaveNoAxis) {
  openTrace([](TraceBuilder& builder) { addUntimedMemory(builder, 1); });
  EXPECT_EQ(memoryScene(*m_window.data(), m_window.data()->memory.devices.at(0)).axis, MemoryAxis::kOneState);
  EXPECT_FALSE(m_window.memoryPage().grab().isNull());
  openSample();
  EXPECT_EQ(memoryScene(*m_window.data(), m_window.data()->memory.devices.at(0)).axis, MemoryAxis::kTime);
}

}  // namespace
}  // namespace plumb::test
