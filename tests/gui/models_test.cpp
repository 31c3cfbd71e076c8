// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <QAbstractItemModelTester>

#include "gui/models/diagnostic_model.h"
#include "gui/models/field_model.h"
#include "gui/models/point_model.h"
#include "gui/models/table_model.h"

namespace plumb::test {
namespace {

using namespace plumb::gui;
constexpr auto kMode = QAbstractItemModelTester::FailureReportingMode::Warning;  // a warning fails the test

TEST(FieldModel, ShowsNamesAndValuesAndNoMarkup) {
  FieldModel model;
  const QAbstractItemModelTester tester(&model, kMode);
  model.setFields({{"name", "gemm<float>"}, {"bytes", "1 KiB"}});
  ASSERT_EQ(model.rowCount(), 2);
  EXPECT_EQ(model.data(model.index(0, FieldModel::kValue)), "gemm<float>");
  EXPECT_EQ(model.data(model.index(0, FieldModel::kValue), Qt::ToolTipRole), "<p>gemm&lt;float&gt;</p>");
  EXPECT_EQ(model.rowCount(model.index(0, 0)), 0);
  model.setFields({});
  EXPECT_EQ(model.rowCount(), 0);
}

TEST(TableModel, ReadsAsTextAndSortsByNumber) {
  TableModel model({"name", "time"});
  const QAbstractItemModelTester tester(&model, kMode);
  model.setRows({{{"gemm", {}}, {"2 ms", 2e6}}, {{"cast", {}}, {"30 µs", 3e4}}});
  EXPECT_EQ(model.data(model.index(1, 1)), "30 µs");
  EXPECT_EQ(model.data(model.index(1, 1), Qt::UserRole).toDouble(), 3e4);
  EXPECT_EQ(model.data(model.index(0, 0), Qt::UserRole), "gemm");
  EXPECT_EQ(model.headerData(1, Qt::Horizontal), "time");
}

TEST(DiagnosticModel, PutsErrorsFirst) {
  DiagnosticModel model;
  const QAbstractItemModelTester tester(&model, kMode);
  Diagnostic info;
  info.severity = "info";
  Diagnostic error;
  error.severity = "error";
  error.process = ProcessId(3);
  error.message = "events were dropped";
  Process process;
  process.id = ProcessId(3);
  process.rank = 1;
  Diagnostic import = info;
  import.lane = "import";
  model.setDiagnostics({info, error, import}, {process});
  ASSERT_EQ(model.rowCount(), 3);
  EXPECT_EQ(model.data(model.index(0, DiagnosticModel::kMessage)), "events were dropped");
  EXPECT_EQ(model.data(model.index(0, DiagnosticModel::kProcess)), "rank 1");
  EXPECT_EQ(model.data(model.index(1, DiagnosticModel::kProcess)), "recorder");
  EXPECT_EQ(model.data(model.index(2, DiagnosticModel::kProcess)), "whole file") << "it was never recorded by us";
}

TEST(PointModel, GivesTextToReadAndNumbersToSortBy) {
  PointModel model;
  const QAbstractItemModelTester tester(&model, kMode);
  DeviceRoofline roofline;
  RooflinePoint known;
  known.name = "gemm";
  known.duration = Duration(3000);
  known.intensity = 12.5;
  known.flopsPerSecond = 5e12;
  RooflinePoint unknown;
  unknown.name = "mystery";
  unknown.duration = Duration(1000);
  roofline.points = {known, unknown};
  roofline.knownDuration = Duration(4000);
  model.setRoofline(roofline);
  ASSERT_EQ(model.rowCount(), 2);
  EXPECT_EQ(model.data(model.index(0, PointModel::kRate)), "5 TFLOP/s");
  EXPECT_EQ(model.data(model.index(0, PointModel::kShare)), "75.0 %");
  EXPECT_DOUBLE_EQ(model.data(model.index(0, PointModel::kTime), Qt::UserRole).toDouble(), 3000);
  EXPECT_EQ(model.data(model.index(1, PointModel::kIntensity)), "bytes unknown");
  EXPECT_EQ(model.data(model.index(1, PointModel::kRoofShare)), "");
  model.clear();
  EXPECT_EQ(model.rowCount(), 0);
}

}  // namespace
}  // namespace plumb::test
