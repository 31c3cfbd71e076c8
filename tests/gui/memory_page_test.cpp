// SPDX-License-Identifier: Apache-2.0
#include "gui/pages/scenes.h"
#include "tests/gui/window_fixture.h"

namespace plumb::test {
namespace {

using namespace plumb::gui;

class DeviceMemoryShown : public WindowTest {};

TEST(LimitedMemory, HoldsWhatWasLiveUntilTheEndOfWhatWasAskedFor) {
  const Folder folder;
  const std::string path = folder.path("memory.sqlite");
  {
    TraceBuilder builder(path);
    const int64_t process = builder.addRank(0), device = builder.addDevice(process);
    const int64_t stream = builder.addStream(process, device, 7);
    builder.addKernel({process, device, stream, 0, 1'000'000}, "gemm");
    builder.addAllocation({.process = process, .device = device, .startNs = 1000, .address = 4096, .bytes = 1 << 20});
    builder.addAllocation({.process = process,
                           .device = device,
                           .startNs = 200'000,
                           .address = 1 << 22,
                           .bytes = 1 << 20,
                           .freedNs = 300'000});
  }
  Filter filter;
  filter.from = TimePoint(100'000);
  filter.to = TimePoint(900'000);
  const auto data = loadTraceData(path, {}, {.memory = true, .roofline = false, .summary = false, .filter = filter});
  ASSERT_TRUE(data.ok()) << data.error().message;
  const DeviceMemory& memory = data.value()->memory.devices.at(0);
  EXPECT_EQ(memory.points.front().time.ns(), 100'000);
  EXPECT_EQ(memory.points.front().totalBytes, 1 << 20);
  EXPECT_EQ(memory.points.back().time.ns(), 900'000);
  EXPECT_EQ(memory.points.back().totalBytes, 1 << 20);
  EXPECT_EQ(memory.peak.totalBytes, 2 << 20);
}

TEST_F(DeviceMemoryShown, SaysThatTheSoftwareDevicesMemoryIsTheHosts) {
  openTrace([](TraceBuilder& builder) {
    for (int64_t rank = 0; rank < 2; ++rank) {
      const int64_t process = builder.addRank(rank, 2);
      const int64_t device =
          rank == 0 ? builder.addDevice(process, {.memoryBytes = int64_t{6} << 30})
                    : builder.addDevice(process, {.name = "GPU", .kind = "gpu", .memoryBytes = int64_t{80} << 30});
      builder.addAllocation({.process = process, .device = device, .startNs = 1000, .address = 4096, .bytes = 1 << 20});
    }
  });
  const TraceData& data = *m_window.data();
  ASSERT_EQ(data.memory.devices.size(), 2u);
  const QString software = memoryScene(data, data.memory.devices[0]).title;
  EXPECT_TRUE(software.contains("host memory, at most 6 GiB of it")) << software.toStdString();
  EXPECT_FALSE(software.contains("capacity"));
  EXPECT_TRUE(memoryScene(data, data.memory.devices[1]).title.contains("capacity 80 GiB"));
}

}  // namespace
}  // namespace plumb::test
