// SPDX-License-Identifier: Apache-2.0
// One application for all tests, without a display. A warning of Qt's in a running test fails that test.
#include <gtest/gtest.h>

#include <QApplication>
#include <QByteArray>

namespace {

void failOnWarning(QtMsgType type, const QMessageLogContext&, const QString& message) {
  if (type == QtDebugMsg || type == QtInfoMsg) return;
  // The offscreen platform says so whenever a window has a least size.
  if (message.contains(QLatin1String("propagateSizeHints"))) return;
  if (testing::UnitTest::GetInstance()->current_test_info()) ADD_FAILURE() << "Qt: " << message.toStdString();
}

}  // namespace

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  qInstallMessageHandler(failOnWarning);
  QApplication application(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
