// SPDX-License-Identifier: Apache-2.0
// plumb-gui --render as a user runs it.
#include <gtest/gtest.h>

#include <QFileInfo>
#include <QImage>
#include <QProcess>
#include <QSet>

#include "gui/app/command_line.h"
#include "gui/timeline/theme.h"
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

TEST_F(Render, LimitsEveryPictureAsTheReportsAre) {
  const QString trace = QString::fromStdString(sampleTrace(m_folder));
  QStringList limits[] = {{}, {"--step", "1"}, {"--range", "forward"}, {"--from", "10ms", "--to", "20ms"}};
  for (const char* picture : {"timeline", "memory", "roofline"}) {
    QSet<QByteArray> different;
    for (const QStringList& limit : limits) {
      const QString output = file("limited.png");
      const Outcome run =
          plumbGui(QStringList{"--render", picture, "-o", output, "--size", "900x500"} + limit + QStringList{trace});
      EXPECT_EQ(run.exitCode, 0) << picture << limit.join(' ').toStdString() << run.error.toStdString();
      different << QByteArray(reinterpret_cast<const char*>(QImage(output).constBits()), QImage(output).sizeInBytes());
    }
    EXPECT_EQ(different.size(), std::ssize(limits)) << picture;
  }
}

TEST_F(Render, SaysWhatLimitsThereCanBe) {
  const QString trace = QString::fromStdString(sampleTrace(m_folder));
  const std::pair<QStringList, const char*> refused[] = {
      {{"--step", "9"}, "it has the steps 0 to 2"},
      {{"--range", "nap"}, "has no range called 'nap'"},
      {{"--from", "50s"}, "choose --from and --to within that"},
      {{"--from", "2ms", "--to", "1ms"}, "give the earlier time with --from"},
      {{"--from", "soon"}, "give nanoseconds, or a number with ns, us, ms or s"},
      {{"--step", "x"}, "give a number from 0"},
      {{"--step", "0", "--from", "50s"}, "leave one of them out"}};
  for (const auto& [limit, sentence] : refused) {
    const Outcome run =
        plumbGui(QStringList{"--render", "timeline", "-o", file("none.png")} + limit + QStringList{trace});
    expectRefusal(run, file("none.png"));
    EXPECT_TRUE(run.error.contains(sentence)) << run.error.toStdString();
  }
  const Outcome memory = plumbGui({"--render", "memory", "-o", file("none.png"), "--from", "50s", trace});
  expectRefusal(memory, file("none.png"));
  EXPECT_TRUE(memory.error.contains("choose --from and --to within that")) << memory.error.toStdString();
  const Outcome window = plumbGui({"--step", "1", trace});
  expectRefusal(window);
  EXPECT_TRUE(window.error.contains("--step belongs to --render")) << window.error.toStdString();
}

// The share of a picture's pixels that are of that colour.
double shareOf(const QImage& image, QRgb color) {
  int count = 0;
  for (int y = 0; y < image.height(); ++y) {
    for (int x = 0; x < image.width(); ++x) count += image.pixel(x, y) == color ? 1 : 0;
  }
  return count / static_cast<double>(image.width() * image.height());
}

TEST_F(Render, ShowsWhereEventsAreAndNotALoneMarkFarAway) {
  const std::string path = m_folder.path("mark.sqlite");
  {
    TraceBuilder builder(path);
    const int64_t process = builder.addRank(0), thread = builder.addThread(process);
    const int64_t device = builder.addDevice(process), stream = builder.addStream(process, device, 7);
    for (int64_t i = 0; i < 100; ++i) builder.addKernel({process, device, stream, i * 1000, 900}, "gemm");
    builder.addRange(process, thread, 10'000'000'000, 0, "Record Window End");
  }
  const QString output = file("mark.png");
  const Outcome run = plumbGui({"--render", "timeline", "-o", output, QString::fromStdString(path)});
  ASSERT_EQ(run.exitCode, 0) << run.error.toStdString();
  const QRgb kernel = gui::Theme::light().kind(timeline::SliceKind::kKernel).rgb();
  EXPECT_GT(shareOf(QImage(output), kernel), 0.02);
}

TEST_F(Render, SaysWhyThereIsNoMemoryToDraw) {
  const std::string path = m_folder.path("sums.sqlite");
  {
    TraceBuilder builder(path);
    builder.addDiagnostic(builder.addRank(0), "info", "import", "no_address", 7, "7 events have no address");
  }
  const Outcome run = plumbGui({"--render", "memory", "-o", file("none.png"), QString::fromStdString(path)});
  expectRefusal(run, file("none.png"));
  EXPECT_TRUE(run.error.contains("because the trace's allocation events have no addresses")) << run.error.toStdString();
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
