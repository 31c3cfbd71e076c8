// SPDX-License-Identifier: Apache-2.0
// What the window shows of a program that ran out of memory.
#include <QPushButton>

#include "gui/pages/scenes.h"
#include "tests/gui/window_fixture.h"

namespace plumb::test {
namespace {

using namespace plumb::gui;

constexpr int64_t kMs = 1'000'000;

class OutOfMemoryWindow : public WindowTest {
 protected:
  // The peak is at 3 ms; until the program runs out of memory at 8 ms one of three is freed and one is new.
  static void record(TraceBuilder& builder) {
    const int64_t process = builder.addProcess({.program = "PyTorch memory snapshot"});
    const int64_t device = builder.addDevice(process);
    const auto allocate = [&](const char* place, int64_t startMs, int64_t mib, std::optional<int64_t> freedNs) {
      const int64_t id = builder.addAllocation({.process = process,
                                                .device = device,
                                                .startNs = startMs * kMs,
                                                .address = startMs << 40,
                                                .bytes = mib << 20,
                                                .freedNs = freedNs});
      const std::string name = std::to_string(builder.text(place));
      builder.execute("INSERT OR IGNORE INTO stack(id, name_id) VALUES(" + name + ", " + name + ")");
      builder.execute("INSERT INTO allocation_detail(allocation_id, stack_id) VALUES(" + std::to_string(id) + ", " +
                      name + ")");
    };
    allocate("a.py:1 f", 1, 40, std::nullopt);
    allocate("b.py:2 g", 2, 30, 5 * kMs);
    allocate("a.py:1 f", 3, 20, std::nullopt);
    allocate("b.py:2 g", 6, 10, std::nullopt);
    builder.addRange(process, builder.addThread(process), 8 * kMs, 0,
                     "out of memory: 3.00 GiB were asked for, 1.00 MiB were free on device 0, at c.py:3 h");
    builder.execute("UPDATE range SET kind = 'mark', domain_id = " + std::to_string(builder.text("PyTorch memory")));
  }
};

TEST_F(OutOfMemoryWindow, StandsOnTopWithWhatWasLive) {
  openTrace(record);
  EXPECT_EQ(m_window.note().toStdString(),
            "Out of memory at 8 ms: 3.00 GiB were asked for, 1.00 MiB were free on device 0, at c.py:3 h; 70.00 MiB "
            "were live. What was live: page Memory.");
  openSample();
  EXPECT_EQ(m_window.note(), "");
}

TEST_F(OutOfMemoryWindow, IsMarkedInTheChartOfItsDevice) {
  openTrace(record);
  const auto& data = *m_window.data();
  ASSERT_EQ(data.memory.devices.size(), 1u);
  MemoryScene scene = memoryScene(data, data.memory.devices[0]);
  EXPECT_EQ(scene.outOfMemoryNs, (std::vector<double>{8.0 * kMs}));
  QImage picture(1000, 400, QImage::Format_RGB32);
  picture.fill(Qt::white);
  scene.area = picture.rect();
  QPainter painter(&picture);
  paintMemory(painter, scene);
  const auto x = static_cast<int>(scene.plot().left() + scene.scale().toPixel(8.0 * kMs)) - 1;
  EXPECT_EQ(picture.pixelColor(x, static_cast<int>(scene.plot().top()) + 5), scene.theme.marker);
}

TEST_F(OutOfMemoryWindow, HasWhoHeldMemoryUntilTheEnd) {
  openTrace(record);
  const auto& places = m_window.data()->memory.devices.at(0).places;
  ASSERT_EQ(places.size(), 2u);
  EXPECT_EQ(places[0].name, "a.py:1 f") << "the largest at the peak first";
  const auto mibAt = [&](size_t place, int64_t ms) { return places[place].bytesAt(TimePoint(ms * kMs)) >> 20; };
  EXPECT_EQ(mibAt(0, 0), 0);
  EXPECT_EQ(mibAt(0, 2), 40);
  EXPECT_EQ(mibAt(0, 3), 60);
  EXPECT_EQ(mibAt(1, 4), 30);
  EXPECT_EQ(mibAt(1, 5), 0) << "freed";
  EXPECT_EQ(mibAt(0, 8), 60) << "at the moment of interest";
  EXPECT_EQ(mibAt(1, 8), 10) << "allocated after the peak by a place of the peak";
}

}  // namespace
}  // namespace plumb::test
