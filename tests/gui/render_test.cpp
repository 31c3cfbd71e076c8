// SPDX-License-Identifier: Apache-2.0
// plumb-gui --render as a user runs it.
#include <gtest/gtest.h>

#include <QFileInfo>
#include <QImage>
#include <QProcess>
#include <QSet>

#include "gui/app/command_line.h"
#include "tests/gui/fixtures.h"
#include "tests/support/trace_builder.h"

namespace plumb::test {
namespace {

struct Outcome {
  int exitCode = -1;
  QString output;
  QString error;
};

Outcome plumbGui(const QStringList& arguments) {
  QProcess process;
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"}) environment.remove(name);
  process.setProcessEnvironment(environment);
  process.start(PLUMB_BUILD_DIR "/bin/plumb-gui", arguments);
  process.waitForFinished(60'000);
  return {process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1,
          QString::fromUtf8(process.readAllStandardOutput()), QString::fromUtf8(process.readAllStandardError())};
}

int distinctColors(const QImage& image) {
  QSet<QRgb> colors;
  for (int y = 0; y < image.height(); ++y) {
    for (int x = 0; x < image.width(); ++x) colors.insert(image.pixel(x, y));
  }
  return static_cast<int>(colors.size());
}

// Bad input: exit 2, one sentence, no file.
void expectRefusal(const Outcome& run, const QString& output = {}) {
  EXPECT_EQ(run.exitCode, 2) << run.error.toStdString();
  EXPECT_TRUE(run.error.startsWith("plumb-gui: ")) << run.error.toStdString();
  EXPECT_EQ(run.error.trimmed().count('\n'), 0) << run.error.toStdString();
  EXPECT_TRUE(output.isEmpty() || !QFileInfo::exists(output));
}

class Render : public testing::Test {
 protected:
  QString file(const char* name) { return QString::fromStdString(m_folder.path(name)); }
  Folder m_folder;
};

TEST_F(Render, DrawsEveryPictureWithoutADisplay) {
  const QString trace = QString::fromStdString(sampleTrace(m_folder));
  for (const char* picture : {"timeline", "memory", "roofline"}) {
    const QString output = file(picture) + ".png";
    const Outcome run = plumbGui({"--render", picture, "-o", output, trace});
    EXPECT_EQ(run.exitCode, 0) << run.error.toStdString();
    EXPECT_EQ(run.error, "");
    const QImage image(output);
    ASSERT_FALSE(image.isNull()) << picture;
    EXPECT_GT(image.width(), 1000);
    EXPECT_GT(distinctColors(image), 30) << picture;
  }
}

TEST_F(Render, KeepsToTheSizeAndRankAskedFor) {
  const QString trace = QString::fromStdString(sampleTrace(m_folder));
  for (const char* picture : {"timeline", "memory", "roofline"}) {
    const QString output = file(picture) + ".png";
    const Outcome run = plumbGui({"--render", picture, "-o", output, "--size", "900x500", "--rank", "1", trace});
    EXPECT_EQ(run.exitCode, 0) << run.error.toStdString();
    EXPECT_EQ(QImage(output).size(), QSize(900, 500)) << picture;
    expectRefusal(plumbGui({"--render", picture, "-o", file("none.png"), "--rank", "9", trace}), file("none.png"));
  }
}

TEST_F(Render, RefusesBadInputInOneSentence) {
  const QString output = file("out.png");
  expectRefusal(plumbGui({"--render", "timeline", "-o", output, file("missing.sqlite")}), output);
  expectRefusal(
      plumbGui({"--render", "timeline", "-o", output, QString::fromStdString(m_folder.write("empty.sqlite", ""))}),
      output);
  expectRefusal(plumbGui({"--render", "memory", "-o", output,
                          QString::fromStdString(m_folder.write("text.sqlite", "no trace at all"))}),
                output);
  const std::string newer = m_folder.path("newer.sqlite");
  {
    TraceBuilder builder(newer);
    builder.execute("PRAGMA user_version = 999");
  }
  expectRefusal(plumbGui({"--render", "roofline", "-o", output, QString::fromStdString(newer)}), output);
  const std::string bare = m_folder.path("bare.sqlite");
  { TraceBuilder builder(bare); }
  for (const char* picture : {"timeline", "memory", "roofline"})
    expectRefusal(plumbGui({"--render", picture, "-o", output, QString::fromStdString(bare)}), output);
}

TEST_F(Render, RefusesAnOutputThatCannotBeWritten) {
  const QString trace = QString::fromStdString(sampleTrace(m_folder));
  expectRefusal(plumbGui({"--render", "timeline", "-o", "/nonexistent/folder/out.png", trace}));
  expectRefusal(plumbGui({"--render", "timeline", "-o", QFileInfo(trace).path(), trace}));
}

TEST_F(Render, NeedsADisplayForAWindow) { expectRefusal(plumbGui({file("any.sqlite")})); }

TEST(CommandLine, ExplainsItsMistakes) {
  using gui::parseCommandLine;
  EXPECT_FALSE(parseCommandLine({"--render", "poem", "-o", "x.png", "t"}).ok());
  EXPECT_FALSE(parseCommandLine({"--render", "timeline", "t"}).ok());
  EXPECT_FALSE(parseCommandLine({"--render", "timeline", "-o", "x.png"}).ok());
  EXPECT_FALSE(parseCommandLine({"--render", "timeline", "-o", "x.png", "--size", "3x3", "t"}).ok());
  EXPECT_FALSE(parseCommandLine({"--render", "timeline", "-o", "x.png", "--size", "99999999x1000", "t"}).ok());
  EXPECT_FALSE(parseCommandLine({"--render", "timeline", "-o", "x.png", "--rank", "-1", "t"}).ok());
  EXPECT_FALSE(parseCommandLine({"-o", "x.png", "t"}).ok());
  EXPECT_FALSE(parseCommandLine({"--nonsense"}).ok());
  EXPECT_FALSE(parseCommandLine({"a", "b"}).ok());
  EXPECT_TRUE(parseCommandLine({}).ok());
  EXPECT_TRUE(parseCommandLine({"--help"}).value().help);
  EXPECT_EQ(parseCommandLine({"t"}).value().trace, "t");
}

}  // namespace
}  // namespace plumb::test
