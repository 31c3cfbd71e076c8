// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "gui/charts/memory_chart.h"
#include "gui/charts/roofline_chart.h"

namespace plumb::test {
namespace {

using namespace plumb::gui;

MemoryPoint point(int64_t ns, int64_t parameters, int64_t activations) {
  MemoryPoint result;
  result.time = TimePoint(ns);
  result.bytes[static_cast<size_t>(MemoryCategory::Parameter)] = parameters;
  result.bytes[static_cast<size_t>(MemoryCategory::Activation)] = activations;
  result.totalBytes = parameters + activations;
  return result;
}

TEST(MemoryChart, KeepsAPeakThatIsShorterThanAPixel) {
  DeviceMemory memory;
  for (int64_t i = 0; i < 10'000; ++i) memory.points.push_back(point(i * 100, 1000, i == 4321 ? 77'000 : i % 3));
  const auto columns = memoryColumns(memory, TimeScale({0, 1e6}, 50), 50);
  ASSERT_EQ(columns.size(), 50u);
  int64_t most = 0;
  for (const MemoryPoint* column : columns) most = std::max(most, column ? column->totalBytes : 0);
  EXPECT_EQ(most, 78'000);
}

TEST(MemoryChart, HoldsAValueUntilTheNext) {
  DeviceMemory memory;
  memory.points = {point(100, 5, 0), point(200, 9, 0), point(400, 2, 0)};
  EXPECT_EQ(memoryAt(memory, 99), nullptr);
  EXPECT_EQ(memoryAt(memory, 150)->totalBytes, 5);
  EXPECT_EQ(memoryAt(memory, 1e9)->totalBytes, 2);
  const auto columns = memoryColumns(memory, TimeScale({0, 500}, 50), 50);
  EXPECT_EQ(columns[5], nullptr);  // nothing was known yet
  EXPECT_EQ(columns[30]->totalBytes, 9);
  EXPECT_EQ(columns[49], nullptr);  // after the recording
}

TEST(MemoryChart, FindsTheChangesOfThePeaksStep) {
  DeviceMemory memory;
  memory.points = {point(100, 5, 0), point(1010, 9, 0), point(1050, 2, 0), point(5000, 1, 0)};
  static_cast<MemoryPoint&>(memory.peak) = memory.points[1];
  const auto span = peakSpan(memory, {{0, 0, {0, 1000}}, {0, 1, {1000, 2000}}});
  ASSERT_TRUE(span);
  EXPECT_LT(span->startNs, 1010);
  EXPECT_GT(span->startNs, 980);
  EXPECT_GT(span->endNs, 1050);
  EXPECT_EQ(peakSpan(memory, {}), std::nullopt);
}

TEST(MemoryChart, ShowsOnlyCategoriesInUseInTheirOrder) {
  DeviceMemory memory;
  memory.points = {point(0, 0, 3), point(5, 2, 0)};
  EXPECT_EQ(usedCategories(memory),
            (std::vector<MemoryCategory>{MemoryCategory::Parameter, MemoryCategory::Activation}));
}

TEST(MemoryChart, HasRoundByteMarks) {
  const double mib = 1024 * 1024;
  EXPECT_EQ(byteTicks(180 * mib, 5), (std::vector<double>{0, 50 * mib, 100 * mib, 150 * mib}));
  EXPECT_EQ(byteTicks(3, 5), (std::vector<double>{0, 1, 2, 3}));
  EXPECT_EQ(byteTicks(2.1 * mib, 5), (std::vector<double>{0, 0.5 * mib, mib, 1.5 * mib, 2 * mib}));
  for (const double top : {1.0, 5e3, 7e7, 9e10, 3e12}) EXPECT_LE(byteTicks(top, 6).size(), 7u) << top;
}

TEST(LogAxis, IsItsOwnInverse) {
  const LogAxis axis(0.1, 1000, 800);
  EXPECT_NEAR(axis.toPixel(1), 200, 1e-9);
  for (const double value : {0.1, 3.7, 999.0}) EXPECT_NEAR(axis.toValue(axis.toPixel(value)), value, value * 1e-9);
  EXPECT_EQ(axis.decades().size(), 5u);
}

DeviceRoofline roofline() {
  DeviceRoofline result;
  RooflinePoint large;
  large.duration = Duration(10'000);
  large.intensity = 50;
  large.flopsPerSecond = 1e12;
  RooflinePoint small = large;
  small.duration = Duration(10);
  RooflinePoint nowhere;
  nowhere.duration = Duration(5);
  result.points = {large, small, nowhere};
  result.roofs = {{"bf16", 2e12, RoofSource::Measured, false}, {"memory", 1e11, RoofSource::Measured, false}};
  return result;
}

TEST(Roofline, HitsTheSmallPointOnTopOfALargeOne) {
  const DeviceRoofline data = roofline();
  RooflineScene scene;
  scene.roofline = &data;
  scene.area = QRectF(0, 0, 900, 600);
  const QPointF at = *scene.position(data.points[0]);
  EXPECT_EQ(scene.pointAt(at), 1);
  EXPECT_EQ(scene.pointAt(at + QPointF(15, 0)), 0);
  EXPECT_EQ(scene.pointAt(QPointF(5, 5)), std::nullopt);
  EXPECT_EQ(scene.position(data.points[2]), std::nullopt);
}

TEST(Roofline, HasRoomForEveryPointAndRoof) {
  const DeviceRoofline data = roofline();
  RooflineScene scene;
  scene.roofline = &data;
  scene.area = QRectF(0, 0, 900, 600);
  EXPECT_GT(scene.yAxis().high(), 2e12);
  EXPECT_GT(scene.xAxis().high(), 20);  // the ridge
  EXPECT_TRUE(scene.plot().contains(*scene.position(data.points[0])));
}

}  // namespace
}  // namespace plumb::test
