// SPDX-License-Identifier: Apache-2.0
// plumb-gui: the window, or with --render a picture without one. Exit codes: 0, 2 bad input.
#include <QApplication>
#include <QFontDatabase>
#include <cstdio>
#include <cstring>
#include <memory>

#include "gui/app/command_line.h"
#include "gui/app/main_window.h"

namespace {

constexpr int kBadInput = 2;

int fail(const std::string& message) {
  std::fprintf(stderr, "plumb-gui: %s\n", message.c_str());
  return kBadInput;
}

bool hasDisplay() {
  return qEnvironmentVariableIsSet("DISPLAY") || qEnvironmentVariableIsSet("WAYLAND_DISPLAY") ||
         qEnvironmentVariableIsSet("QT_QPA_PLATFORM");
}

// Qt's hints to developers (no XDG_RUNTIME_DIR, no GPU) mean nothing to someone who draws a picture in a script.
void onlyErrors(QtMsgType type, const QMessageLogContext&, const QString& message) {
  if (type == QtCriticalMsg || type == QtFatalMsg) std::fprintf(stderr, "plumb-gui: %s\n", qPrintable(message));
}

int renderPicture(int argc, char** argv, const plumb::gui::CommandLine& commandLine) {
  // Never a window, so never a display: a broken DISPLAY must not matter.
  qputenv("QT_QPA_PLATFORM", "offscreen");
  qInstallMessageHandler(onlyErrors);
  const QApplication application(argc, argv);
  if (QFontDatabase::families().isEmpty())
    return fail(
        "No fonts are installed, so the picture would have no text: install a font package such as fonts-dejavu-core.");
  const plumb::Status status = plumb::gui::renderToFile(commandLine);
  return status.ok() ? 0 : fail(status.error().message);
}

}  // namespace

int main(int argc, char** argv) {
  QStringList arguments;
  for (int i = 1; i < argc; ++i) {
    // Qt's own options (-platform, -style) are Qt's business.
    if (std::strcmp(argv[i], "-platform") == 0 || std::strcmp(argv[i], "-style") == 0) {
      ++i;
      continue;
    }
    arguments << QString::fromLocal8Bit(argv[i]);
  }
  const auto parsed = plumb::gui::parseCommandLine(arguments);
  if (!parsed.ok()) return fail(parsed.error().message);
  const plumb::gui::CommandLine& commandLine = parsed.value();
  if (commandLine.help) {
    std::fputs(qPrintable(plumb::gui::helpText()), stdout);
    return 0;
  }
  if (commandLine.version) {
    std::puts("plumb-gui " PLUMB_VERSION);
    return 0;
  }
  if (commandLine.render) return renderPicture(argc, argv, commandLine);
  if (!hasDisplay()) {
    return fail(
        "There is no display to open a window on: draw a picture with --render timeline -o FILE.png, or print numbers "
        "with plumb summary.");
  }
  QApplication application(argc, argv);
  QApplication::setApplicationName(QStringLiteral("plumb-gui"));
  plumb::gui::MainWindow window;
  window.show();
  if (!commandLine.trace.isEmpty()) {
    // A file that was named and cannot be shown ends the program; one that is opened later only fills the window.
    const auto refused = std::make_shared<QMetaObject::Connection>();
    *refused = QObject::connect(&window, &plumb::gui::MainWindow::failed,
                                [](const QString& message) { QCoreApplication::exit(fail(message.toStdString())); });
    QObject::connect(&window, &plumb::gui::MainWindow::loaded, [refused] { QObject::disconnect(*refused); });
    window.open(commandLine.trace);
  }
  return QApplication::exec();
}
