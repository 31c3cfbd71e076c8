// SPDX-License-Identifier: Apache-2.0
#include "gui/charts/roofline_labels.h"

#include <gtest/gtest.h>

#include <random>

namespace plumb::test {
namespace {

using namespace plumb::gui;

// Points around one place, the spread in decades.
DeviceRoofline crowd(size_t count, double spread) {
  DeviceRoofline result;
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> within(-spread, spread);
  for (size_t i = 0; i < count; ++i) {
    RooflinePoint point;
    point.duration = Duration(10'000 / static_cast<int64_t>(i + 1));
    point.intensity = std::pow(10, within(random));
    point.flopsPerSecond = 1e12 * std::pow(10, within(random));
    result.points.push_back(point);
  }
  result.roofs = {{"bf16", 9e14, RoofSource::Datasheet, true},
                  {"memory", 1e12, RoofSource::Measured, false},
                  {"memory", 1.1e12, RoofSource::Datasheet, false}};
  return result;
}

RooflineScene sceneOf(const DeviceRoofline& data, const QSizeF& size = {1100, 700}) {
  RooflineScene scene;
  scene.roofline = &data;
  scene.area = QRectF(QPointF(0, 0), size);
  return scene;
}

// Every text's outline, and each point's.
std::vector<QPolygonF> outlinesOf(const RooflineScene& scene, const RooflineLabels& labels) {
  std::vector<QPolygonF> outlines;
  for (const SlopeLabel& slope : labels.slopes) outlines.push_back(slope.outline());
  for (const NumberLabel& number : labels.numbers) outlines.emplace_back(number.box);
  EXPECT_TRUE(std::ranges::all_of(
      outlines, [&](const QPolygonF& outline) { return scene.plot().contains(outline.boundingRect()); }));
  return outlines;
}

void expectApart(const RooflineScene& scene, const RooflineLabels& labels) {
  const auto outlines = outlinesOf(scene, labels);
  for (size_t i = 0; i < outlines.size(); ++i) {
    for (size_t j = 0; j < i; ++j) EXPECT_FALSE(outlines[i].intersects(outlines[j])) << i << " " << j;
    for (const RooflinePoint& point : scene.roofline->points) {
      const double radius = scene.radius(point);
      QRectF box(0, 0, 2 * radius, 2 * radius);
      box.moveCenter(*scene.position(point));
      EXPECT_FALSE(outlines[i].intersects(QPolygonF(box))) << i;
    }
  }
}

TEST(RooflineLabels, CoverNeitherEachOtherNorAPoint) {
  for (const double spread : {0.02, 0.1, 0.4, 1.5}) {
    const DeviceRoofline data = crowd(40, spread);
    const RooflineScene scene = sceneOf(data);
    const RooflineLabels labels = placeLabels(scene, QFontMetricsF(QFont()));
    expectApart(scene, labels);
    EXPECT_EQ(labels.slopes.size() + labels.roofsBeside.size(), 2u);
    EXPECT_EQ(std::ssize(labels.numbers) + labels.numbersLeftOut, 10);
  }
}

TEST(RooflineLabels, AreAllThereWhereThereIsRoom) {
  const DeviceRoofline data = crowd(8, 1.5);
  const RooflineLabels labels = placeLabels(sceneOf(data), QFontMetricsF(QFont()));
  EXPECT_EQ(labels.numbers.size(), 8u);
  EXPECT_EQ(labels.numbersLeftOut, 0);
  EXPECT_EQ(labels.slopes.size(), 2u);
}

TEST(RooflineLabels, OfTheLongestPointsStayWhereThereIsLittleRoom) {
  const DeviceRoofline data = crowd(60, 0.01);
  const RooflineScene scene = sceneOf(data, {480, 220});
  const RooflineLabels labels = placeLabels(scene, QFontMetricsF(QFont()));
  expectApart(scene, labels);
  ASSERT_GT(labels.numbersLeftOut, 0);
  ASSERT_FALSE(labels.numbers.empty());
  EXPECT_EQ(labels.numbers.front().point, 0);
}

}  // namespace
}  // namespace plumb::test
