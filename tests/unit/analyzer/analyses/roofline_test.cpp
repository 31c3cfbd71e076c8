// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/roofline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "analyzer/analyses/peaks.h"
#include "analyzer/analyses/roofline_work.h"

#include "tests/unit/analyzer/testing.h"

namespace plumb::test {
namespace {

TEST(Verdict, FollowsTheRule) {
  EXPECT_EQ(verdictOf(0.10, 0.80), Verdict::MemoryBound);
  EXPECT_EQ(verdictOf(0.80, 0.10), Verdict::ComputeBound);
  EXPECT_EQ(verdictOf(0.80, 0.70), Verdict::ComputeBound);  // the larger, above 60 %
  EXPECT_EQ(verdictOf(0.40, 0.70), Verdict::MemoryBound);
  EXPECT_EQ(verdictOf(0.50, 0.55), Verdict::LatencyBound);
  EXPECT_EQ(verdictOf(0.60, 0.10), Verdict::LatencyBound);
  EXPECT_EQ(verdictOf(1.01, 0.10), Verdict::AboveRoof);
  EXPECT_EQ(verdictOf(0.10, 1.01), Verdict::AboveRoof);
}

TEST(DatasheetRoofs, AreTheKnownNumbersOfKnownGpus) {
  const auto roof = [](int64_t major, int64_t minor, int64_t multiprocessors, int64_t mhz, std::string_view resource) {
    Device device;
    device.computeMajor = major;
    device.computeMinor = minor;
    device.multiprocessorCount = multiprocessors;
    device.coreClockHz = mhz * 1'000'000;
    device.memoryBandwidthBytesPerSecond = 1'000'000;
    for (const Roof& r : datasheetRoofs(device)) {
      if (r.resource == resource) return r.perSecond / 1e12;
    }
    return 0.0;
  };
  EXPECT_NEAR(roof(7, 0, 80, 1530, "fp16"), 125, 1);   // V100
  EXPECT_NEAR(roof(8, 0, 108, 1410, "bf16"), 312, 1);  // A100
  EXPECT_NEAR(roof(8, 0, 108, 1410, "tf32"), 156, 1);
  EXPECT_NEAR(roof(8, 0, 108, 1410, "fp64"), 19.5, 0.1);
  EXPECT_NEAR(roof(8, 0, 108, 1410, "fp32"), 19.5, 0.1);
  EXPECT_NEAR(roof(9, 0, 132, 1830, "bf16"), 989, 2);  // H100 SXM
  EXPECT_NEAR(roof(9, 0, 132, 1830, "fp8"), 1979, 2);
  EXPECT_EQ(roof(7, 0, 80, 1530, "bf16"), 0);   // has no such unit
  EXPECT_EQ(roof(12, 7, 80, 1530, "fp32"), 0);  // not known
  EXPECT_NEAR(roof(12, 7, 80, 1530, "memory"), 1e-6, 1e-9);
}

TEST(DatasheetRoofs, OfADeviceThatTellsItsNameOnlyAreThoseOfItsName) {
  const auto roof = [](const char* name, std::string_view resource) {
    Device device;
    device.name = name;
    const Roof* found = bestRoof(datasheetRoofs(device), resource);
    return found ? found->perSecond : 0.0;
  };
  EXPECT_EQ(roof("NVIDIA H100 80GB HBM3", "bf16"), 989.4e12);
  EXPECT_EQ(roof("NVIDIA H100 80GB HBM3", "nvlink"), 450e9);
  EXPECT_EQ(roof("NVIDIA H100 PCIe", "bf16"), 756e12);
  EXPECT_EQ(roof("NVIDIA H200", "memory"), 4.8e12);
  EXPECT_EQ(roof("NVIDIA B200", "memory"), 7.7e12);
  EXPECT_EQ(roof("NVIDIA A100-SXM4-80GB", "memory"), 2039e9);
  EXPECT_EQ(roof("NVIDIA A100-PCIE-40GB", "memory"), 1555e9);
  EXPECT_EQ(roof("Tesla V100-SXM2-32GB", "fp16"), 125e12);
  EXPECT_EQ(roof("Tesla V100-SXM2-32GB", "bf16"), 0);  // has no such unit
  EXPECT_EQ(roof("Tesla T4", "pcie"), 16e9);
  EXPECT_EQ(roof("NVIDIA L4", "fp8"), 242.5e12);
  EXPECT_EQ(roof("NVIDIA L40S", "memory"), 864e9);
  EXPECT_EQ(roof("NVIDIA GeForce RTX 4090", "memory"), 1008e9);
  EXPECT_EQ(roof("AMD Instinct MI300X VF", "bf16"), 1307.4e12);
  for (const char* other : {"", "AMD Radeon Graphics", "NVIDIA A1000", "NVIDIA H100 80GB HBM3 MIG 1g.10gb",
                            "NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA GeForce RTX 4090 D"}) {
    EXPECT_EQ(roof(other, "memory"), 0) << other;
  }
}

TEST(DatasheetRoofs, PropertiesGoBeforeTheName) {
  Device device;
  device.name = "NVIDIA A100-SXM4-80GB";
  device.memoryBandwidthBytesPerSecond = 123;
  EXPECT_EQ(bestRoof(datasheetRoofs(device), "memory")->perSecond, 123);
  EXPECT_EQ(bestRoof(datasheetRoofs(device), "bf16")->perSecond, 312e12);
}

TEST(DatasheetRoofs, OfADeviceWithoutANameAreThoseOfItsProcessWhenAllAreAlike) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const int64_t process = trace.addRank(0);
    trace.addDevice(process, {.ordinal = 0, .name = "NVIDIA L4", .kind = "gpu"});
    trace.addDevice(process, {.ordinal = 5, .name = "", .kind = "gpu"});
    const int64_t other = trace.addRank(1);
    trace.addDevice(other, {.ordinal = 0, .name = "NVIDIA L4", .kind = "gpu"});
    trace.addDevice(other, {.ordinal = 1, .name = "Tesla T4", .kind = "gpu"});
    trace.addDevice(other, {.ordinal = 5, .name = "", .kind = "gpu"});
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const DeviceRoofs roofs = valueOf(DeviceRoofs::load(trace));
  for (const Device& device : trace.devices()) {
    if (!device.name.empty()) continue;
    const auto found = roofs.of(trace, device.process, device.id);
    EXPECT_EQ(bestRoof(found, "nvlink"), nullptr);
    EXPECT_EQ(bestRoof(found, "pcie") != nullptr, trace.process(device.process)->rank == 0);
  }
}

TEST(NetworkRoof, InsideOneHostIsTheLinkBetweenItsGpus) {
  const std::vector<Roof> links = {{"nvlink", 450e9, RoofSource::Datasheet, false}};
  EXPECT_EQ(DeviceRoofs::network(links, 16, 1)->resource, "nvlink");
  EXPECT_EQ(DeviceRoofs::network(links, 8, 0)->perSecond, 450e9);  // hosts not told: a host has 8 GPUs
  EXPECT_FALSE(DeviceRoofs::network(links, 16, 0));
  EXPECT_FALSE(DeviceRoofs::network(links, 8, 2));
  EXPECT_EQ(DeviceRoofs::network({links[0], {"network", 50e9, RoofSource::Given, false}}, 8, 2)->perSecond, 50e9);
}

TEST(Rates, AreReadWithTheirUnits) {
  EXPECT_DOUBLE_EQ(valueOf(parseRate("450GB/s")), 450e9);
  EXPECT_DOUBLE_EQ(valueOf(parseRate(" 3.35 TB/s ")), 3.35e12);
  EXPECT_DOUBLE_EQ(valueOf(parseRate("989TFLOPS")), 989e12);
  EXPECT_DOUBLE_EQ(valueOf(parseRate("4.5e11")), 4.5e11);
  for (const char* wrong : {"", "fast", "450GB", "450Gb/s", "1 2"}) EXPECT_NE(errorOf(parseRate(wrong)), "") << wrong;
}

TEST(DatasheetRoofs, ASoftwareDeviceHasNone) {
  Device device;
  device.isSoftware = true;
  device.computeMajor = 9;
  device.multiprocessorCount = device.coreClockHz = device.memoryBandwidthBytesPerSecond = 1;
  EXPECT_TRUE(datasheetRoofs(device).empty());
}

class Roofline : public testing::Test {
 protected:
  std::vector<DeviceRoofline> analyze() {
    m_builder.finish();
    m_trace.emplace(valueOf(Trace::open(m_file.path())));
    return valueOf(analyzeRoofline(*m_trace));
  }
  // A launch at `hostNs` of a kernel that runs at `hostNs` + 1000.
  int64_t launch(int64_t hostNs, int64_t durationNs, std::string_view name, int64_t flags = 0) {
    const int64_t correlation = m_builder.newCorrelation();
    m_builder.addApiCall(m_rank.process, m_rank.thread, hostNs, 5, "cudaLaunchKernel", correlation);
    m_builder.addKernel(m_rank.work(hostNs + 1000, durationNs, correlation, flags), name);
    return correlation;
  }
  int64_t declare(int64_t startNs, int64_t durationNs, std::string_view name, int64_t flops, int64_t bytes) {
    const int64_t range = m_builder.addRange(m_rank.process, m_rank.thread, startNs, durationNs, name);
    m_builder.addPayload(range, "flops", flops);
    if (bytes) m_builder.addPayload(range, "bytes", bytes);
    return range;
  }
  TraceFile m_file;
  TraceBuilder m_builder{m_file.path()};
  OneRank m_rank{m_builder};
  std::optional<Trace> m_trace;
};

TEST_F(Roofline, FlopsOfALibraryCallBelongToItsKernels) {
  m_builder.addRoof(m_rank.process, 0, "bf16", 1e12);
  m_builder.addRoof(m_rank.process, 0, "memory", 1e12);
  m_builder.addLibraryCall({.process = m_rank.process,
                            .thread = m_rank.thread,
                            .startNs = 0,
                            .m = 100,
                            .n = 100,
                            .k = 100,
                            .externalId = 5});
  m_builder.addLink(m_rank.process, 5, launch(10, 2000, "gemm"));
  m_builder.addLink(m_rank.process, 5, launch(20, 500, "split_k_reduce"));
  const auto devices = analyze();
  ASSERT_EQ(devices.size(), 1u);
  ASSERT_EQ(devices[0].points.size(), 1u);
  const RooflinePoint& point = devices[0].points[0];
  EXPECT_EQ(point.name, "gemm");
  EXPECT_EQ(point.source, WorkSource::Shape);
  EXPECT_EQ(point.precision, "bf16");
  EXPECT_EQ(point.kernelCount, 2);
  EXPECT_EQ(point.duration, Duration(2500));
  EXPECT_DOUBLE_EQ(point.flops, 2e6);
  EXPECT_DOUBLE_EQ(*point.flopsPerSecond, 8e11);
  EXPECT_DOUBLE_EQ(*point.computeShare, 0.8);
  EXPECT_DOUBLE_EQ(*point.intensity, 2e6 / 60000);
  EXPECT_EQ(point.verdict, Verdict::ComputeBound);
}

TEST_F(Roofline, TheInnermostDeclaringRangeCounts) {
  declare(0, 100, "outer", 7777, 1);
  declare(10, 20, "softmax", 4000, 8000);
  m_builder.addRange(m_rank.process, m_rank.thread, 12, 10, "library's own range", 1);  // declares nothing
  launch(15, 100, "softmax_kernel");
  launch(40, 100, "outer_kernel");
  launch(200, 300, "lonely");
  const auto devices = analyze();
  ASSERT_EQ(devices.at(0).points.size(), 2u);
  for (const RooflinePoint& point : devices[0].points) {
    EXPECT_EQ(point.source, WorkSource::Declared);
    EXPECT_TRUE(point.precisionAssumed);
    EXPECT_EQ(point.flops, point.name == "softmax_kernel" ? 4000 : 7777);
  }
  ASSERT_EQ(devices[0].withoutFlops.size(), 1u);
  EXPECT_EQ(devices[0].withoutFlops[0].name, "lonely");
  EXPECT_EQ(devices[0].unknownDuration, Duration(300));
}

TEST_F(Roofline, ARangeOfAnotherThreadDeclaresNothing) {
  const int64_t other = m_builder.addThread(m_rank.process);
  const int64_t range = m_builder.addRange(m_rank.process, other, 0, 100, "softmax");
  m_builder.addPayload(range, "flops", int64_t{4000});
  launch(15, 100, "kernel");
  EXPECT_TRUE(analyze().at(0).points.empty());
}

TEST_F(Roofline, AboveARoofIsAnErrorOfTheInputs) {
  m_builder.addRoof(m_rank.process, 0, "fp32", 1e9);
  m_builder.addRoof(m_rank.process, 0, "memory", 1e12);
  declare(10, 20, "op", 4000, 8000);
  launch(15, 100, "kernel");
  const RooflinePoint point = analyze().at(0).points.at(0);
  EXPECT_EQ(point.verdict, Verdict::AboveRoof);
  EXPECT_THAT(point.reason, testing::HasSubstr("4000 % of the measured fp32 roof"));
}

TEST_F(Roofline, WithoutRoofOrBytesOrTimeNothingIsClaimed) {
  m_builder.addRoof(m_rank.process, 0, "fp32", 1e12);
  declare(10, 20, "op", 4000, 8000);
  launch(15, 100, "no memory roof");
  declare(110, 20, "op2", 4000, 8000);
  launch(115, 0, "no time");
  declare(210, 20, "op3", 4000, 8000);
  launch(215, 100, "untimed", 1);
  const DeviceRoofline device = analyze().at(0);
  ASSERT_EQ(device.points.size(), 2u);
  for (const RooflinePoint& point : device.points) {
    EXPECT_EQ(point.verdict, Verdict::CannotSay);
    EXPECT_THAT(point.reason, testing::HasSubstr(point.name == "no time" ? "no duration" : "no memory roof"));
  }
  EXPECT_EQ(device.withoutFlops.at(0).name, "untimed");
}

TEST_F(Roofline, OfAKernelThatComputesNothingOnlyAMemoryRoofIsMissing) {
  m_builder.addRoof(m_rank.process, 0, "bf16", 1e12);
  declare(10, 20, "fill", 0, 8000);
  launch(15, 100, "fill_kernel");
  const RooflinePoint point = analyze().at(0).points.at(0);
  EXPECT_EQ(point.verdict, Verdict::CannotSay);
  EXPECT_THAT(point.reason, testing::StartsWith("no memory roof of the device is known"));
}

TEST_F(Roofline, AKernelThatComputesNothingCanBeMemoryBound) {
  m_builder.addRoof(m_rank.process, 0, "fp32", 1e12);
  m_builder.addRoof(m_rank.process, 0, "memory", 1e11);
  declare(10, 20, "cast", 0, 8000);
  launch(15, 100, "cast_kernel");
  const RooflinePoint point = analyze().at(0).points.at(0);
  EXPECT_EQ(*point.intensity, 0);
  EXPECT_DOUBLE_EQ(*point.memoryShare, 0.8);
  EXPECT_EQ(point.verdict, Verdict::MemoryBound);
}

TEST_F(Roofline, ALatencyBoundVerdictSaysWhatShowsTheLatency) {
  m_builder.addRoof(m_rank.process, 0, "fp32", 1e12);
  m_builder.addRoof(m_rank.process, 0, "memory", 1e12);
  m_builder.execute("UPDATE device SET multiprocessor_count = 100");
  declare(10, 20, "short op", 100'000, 1000);
  launch(15, 2000, "short");
  declare(110, 20, "long op", 30'000'000, 1000);
  launch(115, 100'000, "long");
  declare(210, 20, "narrow op", 30'000'000, 1000);
  launch(215, 100'000, "narrow");
  m_builder.execute("UPDATE kernel SET grid_x = 400");
  m_builder.execute("UPDATE kernel SET grid_x = 4 WHERE short_name_id = (SELECT id FROM string WHERE text = 'narrow')");
  const std::vector<DeviceRoofline> devices = analyze();
  std::map<std::string, RooflinePoint> points;
  for (const RooflinePoint& point : devices.at(0).points) points[point.name] = point;
  for (const auto& [name, point] : points) EXPECT_EQ(point.verdict, Verdict::LatencyBound) << name;
  EXPECT_EQ(points["short"].reason, "short kernels: 2.0 us");
  EXPECT_EQ(points["narrow"].reason, "small grids: 4/100 SMs");
  EXPECT_EQ(points["long"].reason, "neither short nor small");
  constexpr const char* kLaunchLess = "enlarge the batch, use CUDA graphs, launch fewer kernels";
  EXPECT_EQ(remedyFor(points["short"]), kLaunchLess);
  EXPECT_EQ(remedyFor(points["narrow"]), kLaunchLess);
  EXPECT_EQ(remedyFor(points["long"]), "see with ncu (of AMD's GPUs rocprof) what holds it back");
}

TEST_F(Roofline, CommunicationIsNotListed) {
  launch(10, 100, "ncclDevKernel_AllReduce");
  EXPECT_TRUE(analyze().empty());
}

TEST_F(Roofline, MeasuredRoofsComeBeforeTheDatasheets) {
  m_builder.addRoof(m_rank.process, 0, "fp32", 1e12, "datasheet");
  m_builder.addRoof(m_rank.process, 0, "fp32", 5e11, "measured");
  launch(10, 100, "kernel");
  const auto devices = analyze();
  EXPECT_EQ(devices.at(0).roof("fp32")->source, RoofSource::Measured);
  EXPECT_EQ(devices.at(0).roof("fp8"), nullptr);
}

// What to do about unknown FLOPs and roofs follows from where the file comes from.
TEST(RooflineHints, FollowFromWhereTheFileComesFrom) {
  const auto hints = [](bool isImported, bool hasOperator) {
    const TraceFile file;
    {
      TraceBuilder trace(file.path());
      const OneRank rank(trace);
      trace.addKernel(rank.work(0, 10), "relu");
      if (isImported) trace.setMeta("imported_from", "x.json");
      if (hasOperator) {
        trace.execute("INSERT INTO operator(process_id, thread_id, start_ns, duration_ns, name_id) VALUES(" +
                      std::to_string(rank.process) + ", " + std::to_string(rank.thread) + ", 0, 5, " +
                      std::to_string(trace.text("aten::relu")) + ")");
      }
    }
    Trace trace = valueOf(Trace::open(file.path()));
    return valueOf(analyzeRoofline(trace)).at(0);
  };
  EXPECT_THAT(hints(true, true).howToKnowFlops, testing::HasSubstr("record_shapes=True"));
  EXPECT_THAT(hints(true, false).howToKnowFlops, testing::HasSubstr("plumb record"));
  EXPECT_THAT(hints(false, false).howToKnowFlops, testing::HasSubstr("NVTX payload"));
  EXPECT_EQ(hints(true, false).howToKnowRoofs, "give it") << "this machine is not the one that was recorded";
  EXPECT_THAT(hints(false, false).howToKnowRoofs, testing::HasSubstr("plumb calibrate"));
}

}  // namespace
}  // namespace plumb::test
